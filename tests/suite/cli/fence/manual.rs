//! The manual's words about stale leaders, as they are written.

use tempfile::TempDir;

use super::example::Example;

#[test]
fn its_script_and_its_commands_keep_a_stale_leader_out_as_they_are_written() {
    let folder = TempDir::new().expect("a folder");
    let example = Example::new("Keep a stale leader out", "sh", folder.path().join("report"));
    example.does_as_shown();
    let report = std::fs::read_to_string(folder.path().join("report.txt")).expect("a report");
    assert_eq!(report, "4\n5\n6\n");
}
