//! The arguments of the subcommands that only read: `check`, `done`, `history`, `observe`, `status` and `wait`.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};

use super::addresses::BACKEND_HELP;
use super::settings::{Layers, Overruled, Rivals};
use super::values::{OutputFormat, parse_duration, parse_once, whole};
use super::{BackendUrl, FileArgs, TargetArgs};

/// The arguments of `elect check`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/check.txt"))]
pub struct CheckArgs {
    /// Time that the lease must still have [default: 0]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds.
    #[arg(long, env = "ELECT_REMAINING", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub remaining: Option<Duration>,

    /// Lease file to read [default: the command's own]
    ///
    /// The file that another elect of this machine writes with its --lease-file.
    #[arg(long, env = "ELECT_LEASE_FILE", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lease_file: Option<PathBuf>,

    /// Trust lease files of this user, too
    ///
    /// A number, such as the runAsUser of another container. It is needed where others can write to the folder, and the
    /// file is neither ours nor root's.
    #[arg(long, env = "ELECT_LEASE_OWNER", value_name = "UID", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub lease_owner: Option<u32>,
}

/// The state that `elect wait` waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The election has a leader.
    Led,
    /// The election has no leader.
    Vacant,
    /// The candidate with this id or label leads.
    LedBy(String),
}

impl FromStr for Goal {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "" => return Err("it is empty: leader, vacant, or an ID"),
            "leader" => Self::Led,
            "vacant" => Self::Vacant,
            id => Self::LedBy(id.to_owned()),
        })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Led => f.write_str("leader"),
            Self::Vacant => f.write_str("vacant"),
            Self::LedBy(id) => f.write_str(id),
        }
    }
}

/// The arguments of `elect done`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/done.txt"))]
pub struct DoneArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Key of --once [default: all]
    #[arg(value_name = "KEY", value_parser = parse_once, value_hint = ValueHint::Other)]
    pub key: Option<String>,

    /// Remove KEY and its attempts
    #[arg(long, env = "ELECT_UNDO", value_parser = BoolishValueParser::new())]
    pub undo: bool,

    /// Record that KEY is done
    #[arg(long, env = "ELECT_RECORD", value_parser = BoolishValueParser::new())]
    pub record: bool,

    /// Wait at most so long [default: without end]
    ///
    /// For --undo and --record, while another candidate leads. 500ms, 15s, 2m; a bare number is seconds.
    #[arg(long, env = "ELECT_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// With --record: also in an unknown election
    ///
    /// An election with neither candidates nor a past is most likely a typo. A key that is recorded stays for good.
    #[arg(long, env = "ELECT_CREATE", value_parser = BoolishValueParser::new())]
    pub create: bool,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

/// The arguments of `elect history`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/history.txt"))]
pub struct HistoryArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Show only the N newest [default: all 50]
    #[arg(long, env = "ELECT_LAST", value_name = "N", value_parser = whole::<NonZeroUsize>(1..=u32::MAX.into()))]
    pub last: Option<NonZeroUsize>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

/// The arguments of `elect observe`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/observe.txt"))]
pub struct ObserveArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

/// The arguments of `elect status`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/status.txt"))]
pub struct StatusArgs {
    /// Store that keeps the elections
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = BACKEND_HELP)]
    pub backend: BackendUrl,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Keep the table up to date until Ctrl-C
    ///
    /// It needs a terminal, and exits with 0. While the store does not answer, it tells how old the table is, and
    /// shows a leader as "unknown" once its lease could have ended. SUSPICION rises when a leader does not
    /// renew its lease as before: at about 8 it is most likely gone. For programs there is `elect observe`. In `elect
    /// run`, -w is short for --wait.
    #[arg(short, long, env = "ELECT_WATCH", value_parser = BoolishValueParser::new())]
    pub watch: bool,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// Elections to show [default: all]
    #[arg(value_name = "ELECTION", value_hint = ValueHint::Other)]
    pub elections: Vec<String>,
}

impl StatusArgs {
    /// Drops the flag whose rival comes from a nearer layer, and returns which one lost. `--watch` shows a table only.
    pub(super) fn overrule(&mut self, layers: Layers<'_>) -> Result<Vec<Overruled>, Box<Rivals>> {
        if !self.watch || self.output == OutputFormat::Table {
            return Ok(Vec::new());
        }
        let output = ("output", || self.output = OutputFormat::Table);
        Ok(vec![layers.overrule(output, ("watch", || self.watch = false))?])
    }
}

/// The arguments of `elect wait`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/wait.txt"))]
pub struct WaitArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// State to wait for
    ///
    /// leader: somebody leads. vacant: nobody leads. ID: this candidate leads. An ID is a whole one, as `elect status`
    /// shows it, or a label: what --id said, or else the name of the host.
    #[arg(id = "for", long, env = "ELECT_FOR", value_name = "leader|vacant|ID", value_hint = ValueHint::Other, default_value = "leader")]
    pub goal: Goal,

    /// Longest time to wait [default: without end]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. With 0 elect asks the store once.
    #[arg(long, env = "ELECT_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}
