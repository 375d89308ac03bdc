//! README's words about stale leaders, as they are written.

use std::os::unix::fs::PermissionsExt as _;

use elect_testkit::program::Elect;
use tempfile::TempDir;

use crate::readme;

const SECTION: &str = "Keep a stale leader out";

#[test]
fn its_script_and_its_commands_keep_a_stale_leader_out_as_they_are_written() {
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("report");
    std::fs::write(&script, readme::block(SECTION, "sh")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_elect"), bin.join("elect")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let written = readme::block(SECTION, "console");
    let commands = format!("cd \"$D\"; {}cat report.txt", readme::commands(&written));
    let bash = Elect::new("bash").args(["-c", &commands]).env("PATH", path);
    let state = format!("file://{}", folder.path().join("state").display());
    let ended = bash.env("ELECT_BACKEND", state).env("D", folder.path()).run().exits(0);
    ended.says("token 1 is stale").prints("6\n124\n4\n5\n6\n");
    assert!(written.contains("\n6\n") && written.contains("\n124\n"));
}
