//! `elect config show`: what a subcommand would use, and where each value comes from.

use std::ffi::OsString;

use anyhow::Context;

use super::explain;
use crate::cli::{self, FileChoice, OutputFormat, ShowArgs};
use crate::config;
use crate::report::{self, ConfigReport, FAILED};

/// Reports on stdout. The exit code is 0, or 125 for words that the subcommand does not understand.
///
/// # Errors
/// The configuration file cannot be used, or stdout cannot be written.
pub(super) fn show(args: &ShowArgs, choice: FileChoice) -> anyhow::Result<u8> {
    let words = match args.words.as_slice() {
        [] => vec![OsString::from("run")],
        words => words.to_vec(),
    };
    let asked = match cli::parse_part([OsString::from("elect")].into_iter().chain(words)) {
        Ok(asked) => asked,
        Err(said) => {
            explain(&said);
            return Ok(if said.use_stderr() { FAILED } else { 0 });
        }
    };
    let choice = asked.origins.file().map(|nearer| nearer.or(choice));
    let places = choice.as_ref().map(|choice| config::places(choice.named()));
    let over = choice.map_or(Ok(None), |choice| config::over_chosen(&asked, &choice))?;
    let (given, file) = match over {
        Some((given, file)) => (given, Some(file)),
        None => (asked, None),
    };
    let report = ConfigReport::new(&given.origins, file, places);
    let text = match args.output {
        OutputFormat::Table => report.table(),
        OutputFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
        OutputFormat::Yaml => serde_yaml::to_string(&report)?,
    };
    report::print(&text).context("cannot write to stdout")?;
    Ok(0)
}
