use clap::{Args, ValueHint};

use super::AskArgs;

const EXAMPLES: &str = "\
Examples:
  elect resign web                             the next candidate leads
  elect resign web --reason upgrade            so that the log says why
  elect resign web --to db2                    db2 leads next
  elect resign web --timeout 1m                75 if that takes longer";

const MORE: &str = "\
The leader's command gets the signal that its elect run has for --signal, and all
the time that it takes (or its --stop-timeout); then whoever is next leads, and the elect run that led ends with 124, or waits again if it has
--after-loss campaign. A leader that is no elect cannot be asked.

With --to whoever is named leads next, if it is still there then and nobody else has led meanwhile.

Exit codes:
  0    it has handed over, or nobody led; stdout says who leads now
  75   the time of --timeout was over before; the leader has been asked; or
       another leads than --to named
  125  failure: usage, configuration, the store; a leader that is no elect";

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
}
