//! README, and its blocks that are to be run as they are written.

use std::fs;
use std::process::Command;

use elect_testkit::program::Elect;

use crate::support::Ground;

/// The whole text.
pub(crate) const README: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));

/// The texts of all blocks of this language in the section with this heading.
pub(crate) fn blocks(heading: &str, language: &str) -> Vec<String> {
    let (mut is_in_section, mut blocks) = (false, Vec::new());
    // The language of the block that we are in, and what it has so far.
    let mut open: Option<(&str, String)> = None;
    for line in README.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language, String::new())),
            (Some((found, text)), Some(_)) => {
                if is_in_section && *found == language {
                    blocks.push(std::mem::take(text));
                }
                open = None;
            }
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) if line.starts_with('#') => {
                is_in_section = line.trim_start_matches('#').trim() == heading;
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The text of the first of them.
///
/// # Panics
/// When there is none.
#[track_caller]
pub(crate) fn block(heading: &str, language: &str) -> String {
    let mut blocks = blocks(heading, language).into_iter();
    blocks.next().unwrap_or_else(|| panic!("README has no block of {language} under {heading:?}"))
}

/// What is typed in a block of a terminal's words: what stands behind `$ `.
pub(crate) fn commands(block: &str) -> String {
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.flat_map(|line| [line, "\n"]).collect()
}

/// What is printed by what a block has people type, as it stands there: with this `elect`, on a state directory
/// of its own.
///
/// # Panics
/// When it fails.
#[track_caller]
pub(crate) fn typed(block: &str) -> String {
    let ground = Ground::new();
    let bin = ground.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_elect"), bin.join("elect")).expect("a link");
    let path = std::env::var("PATH").expect("a path");
    let mut bash: Command = Elect::new("bash").args(["-euc", &commands(block)]).command();
    bash.env("PATH", format!("{}:{path}", bin.display()));
    bash.env("STATE_DIRECTORY", ground.state());
    let output = bash.output().expect("bash");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.into_owned()
}
