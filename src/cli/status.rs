use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::origin::{Layers, Overruled, Rivals};
use super::values::OutputFormat;
use super::{BackendUrl, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect status                          all elections on this machine's disk
  elect status -b etcd://a,b nightly    one election of another store
  elect status --watch                  kept up to date, until Ctrl-C
  elect status nightly && echo led      its exit code is 1 if nobody leads";

const MORE: &str = "\
Exit codes:
  0    every named election has a leader (of slots one, of shards each); or
       none was named
  1    a named election has no leader
  125  failure: usage, configuration, the store

Output:
  JSON and YAML have one object for each election:
  elections: [{election, backend, leader, waiting, paused}]
  leader:    null or {id, host, pid, command, containment, priority, token,
             since, joined, remaining_ms, stopped}
  waiting:   [{place, id, host, pid, command, containment, priority, joined,
             stopped}], those who came first before the others
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
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct StatusArgs {
    /// Where the elections are kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Stay, and keep the table up to date
    ///
    /// On a terminal, until Ctrl-C, with exit code 0. While the store does not answer, it says how old what it
    /// shows is; a leader is "unknown" once its lease could have ended. SUSPICION rises when a leader does not
    /// renew its lease as it did before: about 8 says that it hardly will. For programs there is `elect observe`.
    #[arg(long, env = "ELECT_WATCH", value_parser = BoolishValueParser::new())]
    pub watch: bool,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The elections to look at [default: all]
    #[arg(value_name = "ELECTION", value_hint = ValueHint::Other)]
    pub elections: Vec<String>,
}

impl StatusArgs {
    /// Drops the flag whose rival comes from a nearer layer, and says which: what is kept up to date is a
    /// table.
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
