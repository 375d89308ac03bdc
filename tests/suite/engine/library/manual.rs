//! The manual's words about the library are those of the crate's documentation, which are run.

use crate::cli::manual::block;

const DOCUMENTATION: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs"));

#[test]
fn the_manual_shows_the_example_of_the_crate_documentation() {
    let lines = DOCUMENTATION.lines().map(|line| line.trim_start_matches("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let code = lines.skip_while(|line| *line != "```").skip(1).take_while(|line| *line != "```");
    let shown: String =
        code.filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(block("library", "From Rust", "rust"), shown);
}
