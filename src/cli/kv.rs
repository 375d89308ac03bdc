//! The arguments of `elect get`, `put` and `fence`.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::addresses::BACKEND_HELP;
use super::values::whole;
use super::{BackendUrl, FileArgs};

/// Of which election: inside a command that `elect run` started, of that one.
#[derive(Args, Clone, Debug)]
pub struct KeptArgs {
    /// Store [default: the command's, else file:]
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", hide_default_value = true, long_help = BACKEND_HELP)]
    pub backend: BackendUrl,

    /// Name of the election [default: the command's]
    ///
    /// A command that `elect run` started finds its own election without this.
    #[arg(short, long, env = "ELECT_ELECTION", value_name = "ELECTION", value_hint = ValueHint::Other)]
    pub election: Option<String>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

const GET_EXAMPLES: &str = "\
Examples:
  elect get cursor                   inside the command of an elect run
  elect get -e job state >state      elsewhere, for any election";

const GET_MORE: &str = "\
Exit codes:
  0    the value is on stdout, unchanged
  1    there is no value under this key
  125  elect itself failed: usage, configuration, the store";

/// The arguments of `elect get`.
#[derive(Args, Debug)]
#[command(after_help = GET_EXAMPLES, after_long_help = GET_MORE)]
pub struct GetArgs {
    /// Of which election.
    #[command(flatten)]
    pub kept: KeptArgs,

    /// Key of the value
    #[arg(value_name = "KEY", required = true, value_hint = ValueHint::Other)]
    pub key: Option<String>,
}

const PUT_EXAMPLES: &str = "\
Examples:
  elect put cursor 4711              inside the command of an elect run
  elect put state -                  any bytes, from standard input";

const PUT_MORE: &str = "\
The store checks in one step that this token still leads, and writes the value. A
leader that was replaced writes nothing, even if it does not know that yet.

Exit codes:
  0    the value is written
  124  the value is not written: this token no longer leads. An earlier request
       without an answer may have been written
  125  elect itself failed: usage, configuration, the store; the value may be
       written or not, and you may put it again";

/// The arguments of `elect put`.
#[derive(Args, Debug)]
#[command(after_help = PUT_EXAMPLES, after_long_help = PUT_MORE)]
pub struct PutArgs {
    /// Of which election.
    #[command(flatten)]
    pub kept: KeptArgs,

    /// Fencing token [default: the command's own]
    #[arg(long, env = "ELECT_TOKEN", value_name = "N", value_parser = whole::<u64>(0..=u64::MAX))]
    pub token: Option<u64>,

    /// Key to store the value under
    ///
    /// 1 to 128 letters, digits and . _ - @ : + =. It begins with a letter, a digit or _.
    #[arg(value_name = "KEY", required = true, value_hint = ValueHint::Other)]
    pub key: Option<String>,

    /// Value to store; - reads standard input [default: -]
    ///
    /// At most 64 KiB, of any bytes. elect stores them unchanged.
    #[arg(value_name = "VALUE", allow_negative_numbers = true, value_hint = ValueHint::Other)]
    pub value: Option<OsString>,
}

const FENCE_EXAMPLES: &str = "\
Examples:
  elect fence report -- mv new /srv/report   inside the command of an elect run
  elect fence -e job --token 7 disk sync     elsewhere, with the leader's token";

const FENCE_MORE: &str = "\
The store keeps the greatest token that it has seen for each resource of an election. A
smaller token belongs to a leader that was replaced, and elect does not run its command.
elect records an equal or greater token in the same step, and then becomes the command.

elect checks the token before the command starts, and never again. A command that passes the
check and then stands still may write late. Keep it short; pass ELECT_TOKEN on to what can
compare it itself; or, if all writers are on one machine, put flock around elect fence.
elect run ends the whole tree of its command before another candidate leads.

Exit codes:
  0-255  the command's own
  124    the store has seen a greater token; the command was not run
  125    elect itself failed: usage, configuration, the store
  126    the command cannot be executed
  127    the command was not found

Environment:
  elect run gives its command all that is needed: ELECT_TOKEN, ELECT_LEADER_ELECTION
  and ELECT_LEADER_BACKEND. elect fence passes ELECT_TOKEN on to its command.";

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

    /// Fencing token [default: the command's own]
    #[arg(long, env = "ELECT_TOKEN", value_name = "N", value_parser = whole::<u64>(0..=u64::MAX))]
    pub token: Option<u64>,

    /// Name of the resource that the command changes
    ///
    /// 1 to 128 letters, digits and . _ - @ : + =. It begins with a letter, a digit or _.
    #[arg(value_name = "RESOURCE", required = true, value_hint = ValueHint::Other)]
    pub resource: Option<String>,

    /// Command to run, with its arguments
    ///
    /// A name without a slash is looked for in PATH. What comes after it is the command's own.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
