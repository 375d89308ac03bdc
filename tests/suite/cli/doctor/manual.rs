//! What the manual has people type, as it stands there.

use crate::cli::manual;

#[test]
fn the_manual_shows_how_to_examine_it() {
    let block = manual::block("doctor", "Check this machine", "console");
    let said = manual::typed(&block);
    // It prints the lines that are shown there, but for numbers and what is to be had on this machine.
    let beginnings = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("$ "));
        let words = lines.filter_map(|line| line.split_whitespace().next());
        words.filter(|word| !word.contains('/')).map(str::to_owned).collect()
    };
    let said = beginnings(&said);
    for beginning in beginnings(&block) {
        assert!(said.contains(&beginning), "no line begins with {beginning:?}: {said:?}");
    }
}
