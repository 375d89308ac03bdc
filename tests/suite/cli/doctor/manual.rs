//! The manual's commands, as they stand there.

use crate::cli::manual;

#[test]
fn the_manual_shows_how_to_examine_it() {
    let block = manual::block("doctor", "Check this machine", "console");
    let said = manual::typed(&block);
    // The output has the lines of the manual, but for numbers and the machine's own means.
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
