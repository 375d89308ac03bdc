use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::KeptArgs;
use super::number::whole;

const EXAMPLES: &str = "\
Examples:
  elect fence report -- mv new /srv/report   in the command of an elect run
  elect fence -e job --token 7 disk sync     for another program";

const MORE: &str = "\
The store keeps the greatest token that has come for each resource of an election. Whoever
comes with a smaller one has been replaced without knowing it: its command is not run. Who
passes records its token in the same step, and becomes the command.

Only the way to the command is barred. One that passed, and stands still before it does what
it is there for, is not seen any more: keep it short, hand ELECT_TOKEN on to what can compare
it itself, or, where all who write are on one machine, put flock around elect fence. What
holds the tree of an elect run ends it before another leads.

Exit codes:
  0-255  the command's own
  124    the token is stale: a greater one has come, and the command was not run
  125    elect itself failed: usage, configuration, the store
  126    the command cannot be executed
  127    the command was not found

Environment:
  In the command of an elect run everything needed is there: ELECT_TOKEN,
  ELECT_LEADER_ELECTION and ELECT_LEADER_BACKEND. The command finds ELECT_TOKEN as it
  came.";

/// The arguments of `elect fence`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect fence [FLAGS] RESOURCE [--] COMMAND [ARG...]",
    after_help = EXAMPLES,
    after_long_help = MORE
)]
pub struct FenceArgs {
    /// Of which election.
    #[command(flatten)]
    pub kept: KeptArgs,

    /// The fencing token [default: this command's own]
    #[arg(long, env = "ELECT_TOKEN", value_name = "N", value_parser = whole::<u64>(0..=u64::MAX))]
    pub token: Option<u64>,

    /// What the command is about to change
    ///
    /// 1 to 128 letters, digits and . _ - @ : + =, first a letter, a digit or _.
    #[arg(value_name = "RESOURCE", required = true, value_hint = ValueHint::Other)]
    pub resource: Option<String>,

    /// The command to run, and its arguments
    ///
    /// A name without a slash is looked for in PATH. What comes after it is the command's own.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
