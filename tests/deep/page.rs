//! Pages that a run writes: they say which commit they are about, and when.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Writes `tests/NAME`, with a last line about this run, which may have written some of its rows only.
pub(crate) fn write(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let (day, commit) =
        (said("date", &["-u", "+%F"]), said("git", &["rev-parse", "--short", "HEAD"]));
    let changes = said("git", &["status", "--porcelain", "--", "src", "backends", "Cargo.lock"]);
    let besides = if changes.is_empty() { "" } else { ", with changes" };
    let page =
        format!("{}\n\nLast written to on {day}, at commit {commit}{besides}.\n", text.trim_end());
    fs::write(path, page).expect("a page");
}

fn said(program: &str, words: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command.args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
