use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Which configuration file counts, and what of it. A subcommand that has these flags takes its other
/// flags from the file as well.
#[derive(Args, Clone, Debug, Default)]
pub struct FileArgs {
    /// Configuration file, in place of the usual ones
    ///
    /// Without it, the first that exists of the places that `elect help run` lists counts, alone; with /dev/null,
    /// none does.
    #[arg(long, env = "ELECT_CONFIG", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// The profile in it to use
    #[arg(long, env = "ELECT_PROFILE", value_name = "PROFILE", value_hint = ValueHint::Other)]
    pub profile: Option<String>,
}
