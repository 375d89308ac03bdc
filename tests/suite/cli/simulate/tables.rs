//! The examples of `elect simulate` in `src/manual/simulate.md`: tests write them, and check that they still hold.
//!
//! Below a typed line in a block stands its output. A table of the page that follows shows the comparison that the line
//! makes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use elect_testkit::program::Elect;
use serde_json::Value;

/// The beginning of a typed line.
const TYPED: &str = "$ elect simulate ";
/// The heads of the tables.
const HEAD: &str = "\
| election | median | 99 % | no leader at the end | messages | to elect | theory | two at once | longest |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

/// The page as its file has it.
pub(crate) fn page() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/manual/simulate.md");
    fs::read_to_string(file).expect("a page")
}

/// The page with what all lines print now that are wanted; what others printed stays.
pub(crate) fn refreshed(page: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let (mut fresh, mut lines) = (String::new(), page.lines().peekable());
    while let Some(line) = lines.next() {
        let _ = writeln!(fresh, "{line}");
        let Some(typed) = line.strip_prefix(TYPED).filter(|typed| is_wanted(typed)) else {
            continue;
        };
        while lines.next_if(|line| !line.starts_with("```")).is_some() {}
        // The end of the block, and the line behind it.
        let between: Vec<&str> = lines.by_ref().take(2).collect();
        let is_compared = lines.next_if(|line| line.starts_with('|')).is_some();
        if !is_compared {
            fresh.push_str(&printed(typed));
        }
        for line in &between {
            let _ = writeln!(fresh, "{line}");
        }
        if is_compared {
            while lines.next_if(|line| line.starts_with('|')).is_some() {}
            fresh.push_str(&compared(typed));
        }
    }
    fresh
}

/// Returns the output of a shell for a line.
fn printed(typed: &str) -> String {
    let line = format!("\"$E\" simulate {typed}");
    let mut bash: Command = Elect::new("bash").args(["-c", &line]).command();
    bash.env("E", env!("CARGO_BIN_EXE_elect")).env("LC_ALL", "C.UTF-8");
    let output = bash.output().expect("bash");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{typed}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The table of a comparison.
fn compared(typed: &str) -> String {
    let report: Value = serde_json::from_str(&printed(&format!("{typed} -o json"))).expect("JSON");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let seconds = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        ms => format!("{:.1} s", number(ms) / 1000.0),
    };
    let percent = |count: &Value| match number(count) {
        0.0 => "never".to_owned(),
        count => format!("{:.0} %", 100.0 * count / number(&report["runs"])),
    };
    let mut table = HEAD.to_owned();
    for row in report["elections"].as_array().expect("elections") {
        let (failover, overlaps) = (&row["failover_ms"], &row["overlaps"]);
        let longest =
            if number(&overlaps["runs"]) > 0.0 { &overlaps["longest_ms"] } else { &Value::Null };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {:.0} | {} | {} | {} | {} |",
            row["election"].as_str().expect("a name"),
            seconds(&failover["median"]),
            seconds(&failover["p99"]),
            percent(&row["unreplaced"]),
            number(&row["messages"]),
            row["to_elect"].as_f64().map_or_else(|| "-".to_owned(), |mean| format!("{mean:.1}")),
            bounds(&row["theory"]),
            percent(&overlaps["runs"]),
            seconds(longest),
        );
    }
    table
}

/// Returns the bounds of theory, in words.
fn bounds(theory: &Value) -> String {
    match (theory["least"].as_u64(), theory["most"].as_u64()) {
        (None, _) => "-".to_owned(),
        (Some(least), None) => format!("{least} or more"),
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
    }
}

/// The lines of `ttl` take too long for each change: `tests/deep/run the_page_of_simulate_is_written` writes all.
#[test]
fn the_page_shows_the_current_output() {
    let page = page();
    assert!(page.matches(TYPED).count() >= 5, "the page shows less");
    let fresh = refreshed(&page, |typed| !typed.starts_with("ttl"));
    let changed: Vec<(&str, &str)> =
        page.lines().zip(fresh.lines()).filter(|(old, new)| old != new).take(5).collect();
    assert!(
        page == fresh,
        "src/manual/simulate.md is not up to date: run tests/deep/run the_page_of_simulate_is_written, and commit what \
         it writes. What has changed first: {changed:#?}"
    );
}
