//! The arguments of `elect get`, `put` and `fence`.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::values::whole;
use super::{BackendUrl, FileArgs};

/// Of which election: inside a command that `elect run` started, of that one.
#[derive(Args, Clone, Debug)]
pub struct KeptArgs {
    /// Where it is kept [default: as told, else file:]
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", hide_default_value = true, long_help = STORES)]
    pub backend: BackendUrl,

    /// The election [default: that which leads here]
    ///
    /// In a command that `elect run` started it is the one that this leads.
    #[arg(short, long, env = "ELECT_ELECTION", value_name = "ELECTION", value_hint = ValueHint::Other)]
    pub election: Option<String>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

const GET_EXAMPLES: &str = "\
Examples:
  elect get cursor                   in the command of an elect run
  elect get -e job state >state      outside, of any election";

const GET_MORE: &str = "\
Exit codes:
  0    the value is on stdout, byte by byte
  1    nothing was ever put there
  125  elect itself failed: usage, configuration, the store";

/// The arguments of `elect get`.
#[derive(Args, Debug)]
#[command(after_help = GET_EXAMPLES, after_long_help = GET_MORE)]
pub struct GetArgs {
    /// Of which election.
    #[command(flatten)]
    pub kept: KeptArgs,

    /// What it was put under
    #[arg(value_name = "KEY", required = true, value_hint = ValueHint::Other)]
    pub key: Option<String>,
}

const PUT_EXAMPLES: &str = "\
Examples:
  elect put cursor 4711              in the command of an elect run
  elect put state -                  of any bytes, from standard input";

const PUT_MORE: &str = "\
The store writes the value in one step with the proof that the entry with this token still
leads. A leader that was replaced writes nothing, even if it does not know that yet.

Exit codes:
  0    it is written
  124  it is not written: the holder of this token leads no more. A request that it
       sent as the leader, and that nobody answered, may have been written
  125  elect itself failed: usage, configuration, the store; after this it may
       be written or not, and may be put again";

/// The arguments of `elect put`.
#[derive(Args, Debug)]
#[command(after_help = PUT_EXAMPLES, after_long_help = PUT_MORE)]
pub struct PutArgs {
    /// Of which election.
    #[command(flatten)]
    pub kept: KeptArgs,

    /// The fencing token [default: this command's own]
    #[arg(long, env = "ELECT_TOKEN", value_name = "N", value_parser = whole::<u64>(0..=u64::MAX))]
    pub token: Option<u64>,

    /// What it is to be found under
    ///
    /// 1 to 128 letters, digits and . _ - @ : + =, first a letter, a digit or _.
    #[arg(value_name = "KEY", required = true, value_hint = ValueHint::Other)]
    pub key: Option<String>,

    /// What to keep; - for standard input [default: -]
    ///
    /// At most 64 KiB, of any bytes; nothing is added to it, and nothing taken away.
    #[arg(value_name = "VALUE", allow_negative_numbers = true, value_hint = ValueHint::Other)]
    pub value: Option<OsString>,
}

const FENCE_EXAMPLES: &str = "\
Examples:
  elect fence report -- mv new /srv/report   in the command of an elect run
  elect fence -e job --token 7 disk sync     for another program";

const FENCE_MORE: &str = "\
The store keeps the greatest token that has come for each resource of an election. A
smaller one is that of a leader that was replaced: its command is not run. An equal or a
greater one is recorded in the same step, and elect becomes the command.

Only the way to the command is barred. One that passed, and stands still before it does what
it is there for, is not seen any more: keep it short, hand ELECT_TOKEN on to what can compare
it itself, or, where all who write are on one machine, put flock around elect fence. What
holds the tree of an elect run ends it before another leads.

Exit codes:
  0-255  the command's own
  124    the token is stale, as a greater one has come; the command was not run
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
    after_help = FENCE_EXAMPLES,
    after_long_help = FENCE_MORE
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
