use clap::{Args, ValueHint};

use super::KeptArgs;

const EXAMPLES: &str = "\
Examples:
  elect get cursor                   in the command of an elect run
  elect get -e job state >state      outside, of any election";

const MORE: &str = "\
Exit codes:
  0    the value is on stdout, byte by byte
  1    nothing was ever put there
  125  elect itself failed: usage, configuration, the store";

/// The arguments of `elect get`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct GetArgs {
    /// Of which election.
    #[command(flatten)]
    pub kept: KeptArgs,

    /// What it was put under
    #[arg(value_name = "KEY", required = true, value_hint = ValueHint::Other)]
    pub key: Option<String>,
}
