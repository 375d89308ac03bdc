//! The arguments of `elect selftest`, and those of its candidates' command.

use std::os::fd::RawFd;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use crate::cli::addresses::BACKEND_HELP;
use crate::cli::values::{ContainmentChoice, OutputFormat, parse_ttl};
use crate::cli::{BackendUrl, FileArgs};

/// The arguments of `elect selftest`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help.txt"))]
pub struct SelftestArgs {
    /// Store to test
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = BACKEND_HELP)]
    pub backend: BackendUrl,

    /// Length of the leases [default: 5s]
    ///
    /// The test takes about six of them. At least 3.6 s, at most 24 h. The local disk refuses it: its leases have no
    /// time limit.
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    /// Containment to test
    ///
    /// It is what `elect run --containment` takes. Those better than `auto` change what a command sees.
    #[arg(long, env = "ELECT_CONTAINMENT", value_enum, value_name = "TIER", default_value_t = ContainmentChoice::Auto)]
    pub containment: ContainmentChoice,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
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
