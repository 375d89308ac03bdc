//! The manual's words about slots, as they are written.

use crate::cli::manual::{block, typed};

#[test]
fn its_three_builds_run_in_two_slots_as_they_are_written() {
    let printed = typed(&block("divisions", "Slots", "console"));
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["builds in slot 0", "builds in slot 1", "then in slot 0"]);
}
