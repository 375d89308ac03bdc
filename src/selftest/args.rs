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
    /// Descriptor of the memory for the stamps
    #[arg(value_name = "NUMBER")]
    pub stamps: RawFd,

    /// Name of the candidate in that memory
    #[arg(value_name = "TAG")]
    pub tag: String,

    /// Role of this process in the command tree
    #[arg(value_name = "WHAT")]
    pub what: Stamping,
}

/// The role of a process in the command tree of a candidate. All but an `Escapee` stamp as long as they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stamping {
    /// The process ends by itself soon, and has no children.
    Brief,
    /// The process has a child, and leaves the child behind when it ends.
    Tree,
    /// The process has a child as well, and starts an `Escapee`.
    EscapingTree,
    /// The process starts a leaf in a new session, and ends. So the leaf has lost its parent.
    Escapee,
    /// The process has no children, and runs until the self-test tells it to end.
    Leaf,
}
