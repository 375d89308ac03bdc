//! The manual's words about moving leadership, as they are written.

use elect_testkit::program::Elect;
use tempfile::TempDir;

use crate::cli::manual;

/// Two servers, each as its supervisor starts it.
const SERVERS: &str = r#"
elect() { "$E" "$@"; }
for id in one two; do
    "$E" run -e cron-job --id "$id" --after-loss campaign -- sh -c 'echo "$ELECT_LEADER_ID" >>"$D/led"; exec sleep 3600' 2>>"$D/log" &
    while ! elect status -o json cron-job | grep -q "\"$id-"; do :; done
done
elect wait cron-job
"#;

/// Ends the servers once so many commands have run. After the first has gone, leaders are no longer the section's work.
fn end_after(runs: usize) -> String {
    format!(
        r#"
until [ "$(wc -l <"$D/led")" = {runs} ]; do :; done
cp "$D/led" "$D/moved"
jobs -p | xargs kill
wait
"#
    )
}

/// Returns the output of this section's first block, and the leaders, when two servers take part.
fn typed(heading: &str, end: &str) -> (Vec<String>, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let commands = manual::commands(&manual::block("operating", heading, "console"));
    let script = format!("set -e\n{SERVERS}\n{commands}\n{end}");
    let bash = Elect::new("bash").args(["-c", &script]).env("E", env!("CARGO_BIN_EXE_elect"));
    let state = format!("file://{}", folder.path().join("state").display());
    let ended = bash.env("ELECT_BACKEND", state).env("D", folder.path()).run();
    let moved = std::fs::read_to_string(folder.path().join("moved")).unwrap();
    let led = moved.lines().filter_map(|id| id.split('-').next().map(str::to_owned)).collect();
    (ended.stdout.lines().map(str::to_owned).collect(), led)
}

#[test]
fn its_commands_move_leadership_as_they_are_written() {
    let (lines, led) = typed("Move it", &end_after(3));
    let [resigned, paused, resumed] = &lines[..] else { panic!("{lines:?}") };
    assert!(resigned.starts_with("two-") && resigned.contains(" leads, token "), "{resigned}");
    assert_eq!(paused, "cron-job is paused: nobody leads");
    assert_eq!(resumed, "cron-job is resumed");
    assert_eq!(led, ["one", "two", "one"]);
}

#[test]
fn its_force_moves_leadership_as_it_is_written() {
    let (lines, led) = typed("When the leader does not answer", &end_after(2));
    let [forced] = &lines[..] else { panic!("{lines:?}") };
    assert!(forced.starts_with("two-") && forced.contains(" leads, token "), "{forced}");
    assert_eq!(led, ["one", "two"]);
}

/// One server that leads, and what the manual starts beside it.
const RANKED: &str = r#"
trap 'kill $(jobs -p) 2>>log || :; wait' EXIT
cd "$D"
printf '#!/bin/sh\necho server >>led\nexec sleep 3600\n' >server
chmod +x server
elect() { "$E" "$@"; }
"$E" run -e web --id db1 --after-loss campaign -- sh -c 'echo db1 >>led; exec sleep 3600' 2>>log &
elect wait web
"#;

/// Waits until a candidate is there before the leader is asked to hand over to it.
const THERE: &str = r"
while ! elect status web | grep -q 'waiting .* db1-'; do :; done
elect resign ";

/// The candidate that is started there stays in the background. The next step waits for it.
const BESIDE: &str = r#" &
while ! elect status -o json web | grep -q '"priority": 200'; do :; done
"#;

#[test]
fn commands_of_the_manual_choose_the_leader() {
    let folder = TempDir::new().unwrap();
    let commands = manual::commands(&manual::block("priorities", "Choose who leads", "console"));
    let (first, rest) = commands.split_once('\n').expect("more than one command");
    let first = first.split_once(" #").map_or(first, |(command, _)| command);
    let rest = rest.replace("elect resign ", THERE);
    let end = "until [ \"$(wc -l <led)\" = 3 ]; do :; done";
    let script = format!("set -e\n{RANKED}\n{first}{BESIDE}\n{rest}\n{end}");
    let bash = Elect::new("bash").args(["-c", &script]).env("E", env!("CARGO_BIN_EXE_elect"));
    let state = format!("file://{}", folder.path().join("state").display());
    let ended = bash.env("ELECT_BACKEND", state).env("D", folder.path()).run();
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let [lowered, set, own, resigned] = lines[..] else { panic!("{ended:?}") };
    assert_eq!(lowered, "db1 has priority 50");
    assert_eq!(own, "db1 has the priority that it was started with");
    assert!(set.contains(" leads, token ") && !set.starts_with("db1-"), "{set}");
    assert!(resigned.starts_with("db1-") && resigned.contains(" leads, token "), "{resigned}");
    assert_eq!(std::fs::read_to_string(folder.path().join("led")).unwrap(), "db1\nserver\ndb1\n");
}
