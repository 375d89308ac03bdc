use std::os::fd::RawFd;

use clap::{Args, ValueEnum};

/// The arguments of `elect stamp`, which is the command of the candidates of `elect selftest`, and not for
/// people.
#[derive(Args, Debug)]
pub struct StampArgs {
    /// The number by which the memory for the stamps is inherited
    #[arg(value_name = "NUMBER")]
    pub stamps: RawFd,

    /// What the candidate is called there
    #[arg(value_name = "TAG")]
    pub tag: String,

    /// Which process of a tree this is
    #[arg(value_name = "WHAT")]
    pub what: Stamping,
}

/// A process of a tree that stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stamping {
    /// Ends by itself soon.
    Brief,
    /// Has a child, and leaves it behind when it ends.
    Tree,
    /// Has another one besides, in a session of its own and nobody's child any more.
    EscapingTree,
    /// Starts a leaf in a new session, and ends.
    Escapee,
    /// Has no children.
    Leaf,
}
