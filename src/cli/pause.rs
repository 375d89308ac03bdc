use clap::Args;

use super::{AskArgs, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect pause nightly                          nobody leads until elect resume
  elect pause web --reason upgrade             so that the others know why
  elect pause web --timeout 0                  ask, and do not wait";

const MORE: &str = "\
A command that runs gets the signal that its elect run has for --signal, and all
the time that it takes (or its --stop-timeout). Whoever is next keeps its place
and starts nothing. Programs other than elect know of no pause:
they wait behind it, and one that leads goes on.

Exit codes:
  0    nobody leads
  75   the time of --timeout was over before; the pause stays
  125  failure: usage, configuration, the store";

/// The arguments of `elect pause`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct PauseArgs {
    /// What is asked for.
    #[command(flatten)]
    pub ask: AskArgs,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}
