use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};

use super::help::GENERAL;
use super::{AskArgs, FileArgs};

/// The heading of what goes further than asking.
const SILENT: &str = "If it does not answer";

const EXAMPLES: &str = "\
Examples:
  elect resign web                             the next candidate leads
  elect resign web --reason upgrade            so that the log says why
  elect resign web --to db2                    db2 leads next
  elect resign web --timeout 1m                75 if that takes longer
  elect resign web --force                     take it from who does not answer";

const MORE: &str = "\
The leader's command gets the signal that its elect run has for --signal, and
all the time that it takes (or its --stop-timeout); then whoever is next leads,
and the elect run that led ends with 124, or waits again if it has --after-loss
campaign. A leader that is no elect cannot be asked.

With --to whoever is named leads next, if it is still there then and nobody else
has led meanwhile.

With --force the leader is asked too, and has as long as its lease would last
without a renewal. In etcd and ZooKeeper the entry of a dead leader is gone then;
one that has no lease, and so no end, is removed. What is still there is renewed:
its holder lives, and only --even-if-alive takes its entry. An elect run that finds
its entry gone kills its command at once; until then, and as long as another program
goes on, two may run. On the local disk nothing but the end of its process frees a
leader's lock: --force says which one, 15 s after it has asked.

Exit codes:
  0    it has handed over, or nobody led; stdout says who leads now
  75   the time of --timeout was over before; the leader has been asked; or
       another leads than --to named
  125  failure: usage, configuration, the store; a leader that is no elect; one
       that lives in spite of --force";

/// The arguments of `elect resign`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct ResignArgs {
    /// What is asked for.
    #[command(flatten)]
    pub ask: AskArgs,

    /// Who is to lead next: its id or label
    #[arg(long, env = "ELECT_TO", value_name = "ID", value_hint = ValueHint::Other)]
    pub to: Option<String>,

    /// Remove its entry if nobody holds it any more
    ///
    /// It is asked first, and has as long as its lease lasts without a renewal. The entry of one that lives stays.
    #[arg(long, env = "ELECT_FORCE", value_parser = BoolishValueParser::new(), help_heading = SILENT)]
    pub force: bool,

    /// With --force: though it lives, so that two may run
    ///
    /// The promise that at most one command runs is off until the one that loses its entry finds out.
    #[arg(long, env = "ELECT_EVEN_IF_ALIVE", value_parser = BoolishValueParser::new(), help_heading = SILENT)]
    pub even_if_alive: bool,

    /// Which configuration file counts.
    #[command(flatten, next_help_heading = GENERAL)]
    pub file: FileArgs,
}
