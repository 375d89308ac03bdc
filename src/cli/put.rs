use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::KeptArgs;
use super::number::whole;

const EXAMPLES: &str = "\
Examples:
  elect put cursor 4711              in the command of an elect run
  elect put state -                  of any bytes, from standard input";

const MORE: &str = "\
The store writes the value in one step with the proof that the entry with this token still
leads. Whoever was replaced meanwhile, and does not know it yet, writes nothing.

Exit codes:
  0    it is written
  124  it is not written: whoever has this token does not lead any more; only
       what was sent while it led, and never answered, may be there
  125  elect itself failed: usage, configuration, the store; after this it may
       be written or not, and may be put again";

/// The arguments of `elect put`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
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
