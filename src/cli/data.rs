//! The arguments of `elect get`, `put` and `fence`.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::addresses::BACKEND_HELP;
use super::values::whole;
use super::{BackendUrl, FileArgs};

/// Of which election: inside a command that `elect run` started, of that one.
#[derive(Args, Clone, Debug)]
pub struct DataArgs {
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

/// The arguments of `elect get`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/get.txt"))]
pub struct GetArgs {
    /// Of which election.
    #[command(flatten)]
    pub data: DataArgs,

    /// Key of the value
    #[arg(value_name = "KEY", required = true, value_hint = ValueHint::Other)]
    pub key: Option<String>,
}

/// The arguments of `elect put`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/put.txt"))]
pub struct PutArgs {
    /// Of which election.
    #[command(flatten)]
    pub data: DataArgs,

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

/// The arguments of `elect fence`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect fence [FLAGS] RESOURCE [--] COMMAND [ARG...]",
    after_long_help = include_str!("help/fence.txt")
)]
pub struct FenceArgs {
    /// Of which election.
    #[command(flatten)]
    pub data: DataArgs,

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
    /// A name without a slash is looked for in PATH. Words after it belong to the command.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
