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

const CHECK_EXAMPLES: &str = "\
Examples:
  elect check && echo \"still leading\"
  elect check --remaining 5s || exit    stop before the lease does
  elect check --lease-file /run/lease   outside: in another container, say";

const CHECK_MORE: &str = "\
Exit codes:
  0    the command leads, and its lease lasts for at least --remaining; a lease
       without time limit always does
  1    the lease is shorter, or leadership has ended
  125  there is no lease to read: none is named, or its file cannot be read

Use:
  Run it inside a command that `elect run` started, which finds ELECT_LEASE, or
  name the file of another elect's --lease-file. The store is not asked.";

/// The arguments of `elect check`.
#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLES, after_long_help = CHECK_MORE)]
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

const DONE_EXAMPLES: &str = "\
Examples:
  elect done nightly 2026-03-01 --undo        the next run does it again";

const DONE_MORE: &str = "\
Exit codes:
  0    the keys were shown, or KEY is changed; a KEY that was only named is done
  1    KEY is not done, or there is nothing to undo
  75   another candidate led until --timeout was over: nothing is changed
  125  failure: usage, configuration, the store; --record of an unknown election

Output:
  JSON and YAML have one object, with the newest key at the end:
  election:  its name
  backend:   where it is kept
  keys:      [{key, done, by_hand, id, host, start, end, took_ms, exit_code,
             attempts}]
  id, host, start, end, took_ms and exit_code are those of the last run, or null if
  they are not known: an older elect recorded the key, or the run has not ended.
  exit_code is 128+n if signal n ended the run. attempts is the number of runs
  that count for --once-attempts. Times are RFC 3339 in UTC, by the host's clock.

Changes:
  --undo removes KEY and its attempts, --record adds KEY. Only a leader may write:
  elect joins the election, waits until it leads, writes, and leaves. It waits as
  long as another candidate leads. A pause of the election does not stop it.

Kept:
  The newest 512 keys, or fewer if they are very long, but at least 64. An older
  elect keeps 64, and removes the others when it records a key.";

/// The arguments of `elect done`.
#[derive(Args, Debug)]
#[command(after_help = DONE_EXAMPLES, after_long_help = DONE_MORE)]
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
    /// For --undo and --record, while somebody else leads. 500ms, 15s, 2m; a bare number is seconds.
    #[arg(long, env = "ELECT_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// With --record: also in an unknown election
    ///
    /// An election that has neither candidates nor a past is most likely a typo, and what is recorded stays for good.
    #[arg(long, env = "ELECT_CREATE", value_parser = BoolishValueParser::new())]
    pub create: bool,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

const HISTORY_EXAMPLES: &str = "\
Examples:
  elect history nightly                 the last 50, the newest at the end
  elect history -b etcd://a,b --last 1 nightly
  elect history -o json nightly | jq -r '.leaderships[-1].reason'";

const HISTORY_MORE: &str = "\
Exit codes:
  0    it was shown; also if nobody has led yet
  125  failure: usage, configuration, the store

Output:
  JSON and YAML have one object, with the newest leadership at the end:
  election:    its name
  backend:     where it is kept
  leaderships: [{token, id, start, end, key, exit_code, took_ms, reason}]
  Times are RFC 3339 in UTC, by the clock of the leader. end and reason are null
  until somebody has recorded the end: `elect status` tells whether the leader is
  still there. If a leader dies without a record, its successor writes it, with
  the time at which it began itself. key is that of --once. exit_code and took_ms
  are those of the command's last run: 128+n after signal n, null if not known.
  Programs other than elect do not appear. A leader that was killed in its first
  tenth of a second, or whose command ended at once, may be missing.";

/// The arguments of `elect history`.
#[derive(Args, Debug)]
#[command(after_help = HISTORY_EXAMPLES, after_long_help = HISTORY_MORE)]
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

const OBSERVE_EXAMPLES: &str = "\
Examples:
  elect observe nightly                 until Ctrl-C
  elect observe -b etcd://a,b nightly
  elect observe -o json nightly | jq -r 'select(.event == \"leader\").id'";

const OBSERVE_MORE: &str = "\
Exit codes:
  0    ended by INT, TERM, HUP or QUIT, or nobody reads stdout any more
  125  failure: usage, configuration, a store that refuses us

Output:
  First how it stands, then a line for each change, at once. JSON is one object a
  line, YAML one document a change, with the same keys:
  time:      when it was seen, RFC 3339 in UTC, by the clock of this machine
  election:  its name
  event:     leader     somebody else leads, or anew: with id and token
             vacant     nobody leads
             joined     a candidate waits: with id
             left       a candidate is gone: with id
             outage     the store has not answered for some seconds: with reason
             recovered  it answers again
  id, host, pid, command: the candidate, as `elect status` has it, or null
  token:     the fencing token of a leader, else null
  reason:    why the store does not answer, else null
  Changes during an outage, or between two answers of the store, appear later,
  merged. Tokens always rise.";

/// The arguments of `elect observe`.
#[derive(Args, Debug)]
#[command(after_help = OBSERVE_EXAMPLES, after_long_help = OBSERVE_MORE)]
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

const STATUS_EXAMPLES: &str = "\
Examples:
  elect status                          all elections on this machine's disk
  elect status -b etcd://a,b nightly    one election of another store
  elect status --watch                  kept up to date, until Ctrl-C
  elect status nightly && echo led      its exit code is 1 if nobody leads";

const STATUS_MORE: &str = "\
Exit codes:
  0    every named election has a leader (of slots one, of shards each); or
       none was named
  1    a named election has no leader
  125  failure: usage, configuration, the store

Output:
  JSON and YAML have one object for each election:
  elections: [{election, backend, leader, waiting, paused, last}]
  leader:    null or {id, host, pid, command, containment, priority, token,
             since, joined, remaining_ms, stopped}
  waiting:   [{place, id, host, pid, command, containment, priority, joined,
             stopped}], those who came first before the others
  paused:    null or {by, since, until, reason}
  last:      the last leadership, as `elect history` has it; not there where
             somebody leads, or nobody has led
  An election with slots or shards has no leader itself; its waiting have no
  slot, and it has one key more:
  division:  {kind, parts: [{election, ...}], members: [{place, id, ...,
             holds}]}
  kind is slots or shards, parts are elections, members those over whom shards
  are spread; holds is how many each of them leads.
  Times are RFC 3339 in UTC; remaining_ms is null where leases do not end by
  time.";

/// The arguments of `elect status`.
#[derive(Args, Debug)]
#[command(after_help = STATUS_EXAMPLES, after_long_help = STATUS_MORE)]
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
    /// renew its lease as before: at about 8 it is most likely gone. For programs there is `elect observe`.
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
    pub(super) fn settle(&mut self, layers: Layers<'_>) -> Result<Vec<Overruled>, Box<Rivals>> {
        if !self.watch || self.output == OutputFormat::Table {
            return Ok(Vec::new());
        }
        let overruled = layers.settle("output", "watch")?;
        match overruled.flag {
            "watch" => self.watch = false,
            _ => self.output = OutputFormat::Table,
        }
        Ok(vec![overruled])
    }
}

const WAIT_EXAMPLES: &str = "\
Examples:
  elect wait nightly                        until somebody leads
  elect wait nightly --for vacant           until nobody does
  elect wait web --for web2 --timeout 1m    until web2 leads";

const WAIT_MORE: &str = "\
Exit codes:
  0    the election is in the state that --for names
  75   --timeout ran out first
  125  failure: usage, configuration, the store; also if the store did not answer
       before --timeout ran out

Output:
  None on stdout. If the store falls silent, elect says so once on stderr, and
  goes on asking.";

/// The arguments of `elect wait`.
#[derive(Args, Debug)]
#[command(after_help = WAIT_EXAMPLES, after_long_help = WAIT_MORE)]
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
