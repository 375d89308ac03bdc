//! The arguments of what shells and elect itself call, and people do not: `names`, `redeem` and `stamp`.

use std::ffi::OsString;
use std::os::fd::RawFd;

use clap::{Args, ValueEnum};
use elect_api::Ticket;

use super::BackendUrl;

/// The arguments of `elect names`, which shells call to complete a word, and people do not.
#[derive(Args, Debug)]
pub struct NamesArgs {
    /// What has names
    #[arg(value_name = "WHAT")]
    pub what: Named,

    /// The words after `elect` that stand before the one to complete
    #[arg(value_name = "WORD", last = true)]
    pub words: Vec<OsString>,
}

/// What has names that a shell can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Named {
    /// The profiles of the configuration file.
    Profiles,
    /// The elections in the store.
    Elections,
}

/// The arguments of `elect redeem`, which a guardian calls and people do not. All of them come as
/// variables: a URL may carry a password, which a command line would show to everybody.
#[derive(Args, Debug)]
pub struct RedeemArgs {
    /// The store that keeps the election
    #[arg(long, env = "ELECT_BACKEND", value_name = "URL")]
    pub backend: BackendUrl,

    /// The election that the ticket is for
    #[arg(long, env = "ELECT_ELECTION", value_name = "NAME")]
    pub election: String,

    /// The ticket
    #[arg(long, env = "ELECT_TICKET", value_name = "TICKET")]
    pub ticket: Ticket,
}

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
