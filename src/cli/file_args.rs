use std::path::PathBuf;

use clap::Args;

/// Which configuration file counts, and what of it. A subcommand that has these flags takes its other
/// flags from the file as well.
#[derive(Args, Clone, Debug, Default)]
pub struct FileArgs {
    /// The configuration file [default: the first that exists]
    #[arg(long, env = "ELECT_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The profile of the configuration file to use
    #[arg(long, env = "ELECT_PROFILE", value_name = "NAME")]
    pub profile: Option<String>,
}
