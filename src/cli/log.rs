use clap::builder::BoolishValueParser;
use clap::{ArgMatches, Args};

use super::values::LogFormat;
use super::{Winner, settle};

/// How elect speaks.
#[derive(Args, Clone, Copy, Debug)]
pub struct LogArgs {
    /// Say nothing but errors
    #[arg(short, long, env = "ELECT_QUIET", value_parser = BoolishValueParser::new())]
    pub quiet: bool,

    /// Say more; without it, and off a terminal, only warnings
    #[arg(short, long, env = "ELECT_VERBOSE", value_parser = BoolishValueParser::new())]
    pub verbose: bool,

    /// The form of elect's own words on stderr
    #[arg(long, env = "ELECT_LOG_FORMAT", value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

impl LogArgs {
    /// Drops the variable of a flag whose rival is on the command line.
    pub(super) fn settle(&mut self, given: &ArgMatches) -> Result<(), String> {
        if self.quiet && self.verbose {
            let winner = settle(given, "quiet", "verbose")?;
            (self.quiet, self.verbose) = (winner == Winner::First, winner == Winner::Second);
        }
        Ok(())
    }
}
