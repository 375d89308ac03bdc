use clap::Args;
use clap::builder::BoolishValueParser;

use super::help::GENERAL;
use super::origin::{Layers, Overruled, Rivals};
use super::values::LogFormat;

/// How elect speaks.
#[derive(Args, Clone, Copy, Debug)]
pub struct LogArgs {
    /// Say nothing but errors
    #[arg(short, long, env = "ELECT_QUIET", value_parser = BoolishValueParser::new(), help_heading = GENERAL)]
    pub quiet: bool,

    /// Say everything
    ///
    /// Without it, and off a terminal, elect says only what somebody has to know.
    #[arg(short, long, env = "ELECT_VERBOSE", value_parser = BoolishValueParser::new(), help_heading = GENERAL)]
    pub verbose: bool,

    /// text or json, on stderr
    #[arg(long, env = "ELECT_LOG_FORMAT", value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text, help_heading = GENERAL)]
    pub log_format: LogFormat,
}

impl LogArgs {
    /// Drops the flag whose rival comes from a nearer layer, and says which.
    pub(super) fn settle(&mut self, layers: Layers<'_>) -> Result<Option<Overruled>, Box<Rivals>> {
        if !(self.quiet && self.verbose) {
            return Ok(None);
        }
        let overruled = layers.settle("quiet", "verbose")?;
        let dropped = if overruled.flag == "quiet" { &mut self.quiet } else { &mut self.verbose };
        *dropped = false;
        Ok(Some(overruled))
    }
}
