//! `elect completions`, `elect man` and `elect help`: what is made from the grammar.

use std::path::Path;

use anyhow::{Context, bail};

use crate::cli::{self, CompletionsArgs, HelpArgs, ManArgs};
use crate::report;

/// Prints the script of one shell, or writes those of all to a folder. The exit code is 0.
///
/// # Errors
/// The folder, or stdout, cannot be written.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    if let Some(shell) = args.shell {
        say(&report::completions(shell, cli::manual()))?;
    }
    if let Some(dir) = &args.dir {
        let scripts = report::SHELLS.map(|shell| {
            let name = report::completion_file(shell).to_owned();
            (name, report::completions(shell, cli::manual()))
        });
        write_all(dir, &scripts)?;
    }
    Ok(0)
}

/// Prints one page of the manual, or writes all to a folder. The exit code is 0.
///
/// # Errors
/// There is no such subcommand; the folder, or stdout, cannot be written.
pub(super) fn man(args: &ManArgs) -> anyhow::Result<u8> {
    if let Some(dir) = &args.dir {
        write_all(dir, &report::manual_pages(cli::manual())?)?;
        return Ok(0);
    }
    match report::manual_page(cli::manual(), &args.words)? {
        Some(page) => say(&page),
        None => no_such(&args.words),
    }
}

/// Explains a subcommand in full. The exit code is 0.
///
/// # Errors
/// There is no such subcommand, or stdout cannot be written.
pub(super) fn help(args: &HelpArgs) -> anyhow::Result<u8> {
    match report::explanation(cli::manual(), &args.words) {
        Some(text) => say(&text),
        None => no_such(&args.words),
    }
}

fn say(text: &str) -> anyhow::Result<u8> {
    report::print(text).context("cannot write to stdout")?;
    Ok(0)
}

fn no_such(words: &[String]) -> anyhow::Result<u8> {
    bail!("there is no subcommand {:?}: `elect help` lists them", words.join(" "))
}

fn write_all(dir: &Path, files: &[(String, String)]) -> anyhow::Result<()> {
    for (name, text) in files {
        let path = dir.join(name);
        elect_api::path::write(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
