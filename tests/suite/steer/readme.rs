//! README's words about moving leadership, as they are written.

use elect_testkit::program::Elect;
use tempfile::TempDir;

use crate::readme;

/// Two servers, each as its supervisor starts it.
const SERVERS: &str = r#"
elect() { "$E" "$@"; }
for id in one two; do
    "$E" run -e cron-job --id "$id" --after-loss campaign -- sh -c 'echo "$ELECT_LEADER_ID" >>"$D/led"; exec sleep 3600' 2>>"$D/log" &
    while ! elect status -o json cron-job | grep -q "\"$id-"; do :; done
done
elect wait cron-job
"#;

const END: &str = r#"
until [ "$(wc -l <"$D/led")" = 3 ]; do :; done
jobs -p | xargs kill
wait
"#;

#[test]
fn its_commands_move_leadership_as_they_are_written() {
    let folder = TempDir::new().unwrap();
    let commands = readme::commands(&readme::block("Move it", "console"));
    let script = format!("set -e\n{SERVERS}\n{commands}\n{END}");
    let bash = Elect::new("bash").args(["-c", &script]).env("E", env!("CARGO_BIN_EXE_elect"));
    let state = format!("file://{}", folder.path().join("state").display());
    let ended = bash.env("ELECT_BACKEND", state).env("D", folder.path()).run();
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let [resigned, paused] = lines[..] else { panic!("{ended:?}") };
    assert!(resigned.starts_with("two-") && resigned.contains(" leads, token "), "{resigned}");
    assert_eq!(paused, "cron-job is paused: nobody leads");
    let led = std::fs::read_to_string(folder.path().join("led")).unwrap();
    let led: Vec<&str> = led.lines().filter_map(|id| id.split('-').next()).collect();
    assert_eq!(led, ["one", "two", "one"]);
}
