//! Keys of `--once`: the work is done once, its attempts and its time are counted, and the store keeps details. The
//! older release knows the keys only.

use elect_testkit::program::eventually;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::scene::{BRIEF, Newer, Older, STAY, Scene, on_every_store};

on_every_store! {
    details_belong_to_runs_of_the_newer_release
    changes_by_people_count_for_the_older_release
    the_older_one_forgets_the_keys_that_it_does_not_keep
    attempts_are_those_of_the_newer_one
    a_crash_counts_and_the_older_one_goes_on
    a_period_has_one_key_for_both
    a_run_that_lasted_too_long_is_left_to_the_other_release
    the_history_keeps_fields_that_only_the_newer_release_knows
    the_exit_code_is_told_by_the_newer_one
}

fn details_belong_to_runs_of_the_newer_release(scene: &Scene) {
    scene.once(Newer, "first").args(["--once-attempts", "2"]).sh("exit 3").run().exits(3);
    let key = scene.key("first");
    assert_eq!((&key["done"], &key["exit_code"]), (&false.into(), &3.into()), "{key}");
    // The failed run before is not shown as the one that did it.
    scene.once(Older, "first").arg("true").run().exits(0);
    is_done_without_details(&scene.key("first"), 1);
    scene.finds_done(Newer, "first");
    scene.once(Newer, "second").arg("true").run().exits(0);
    scene.finds_done(Older, "second");
    // The older release writes, and leaves the newer one's details as they are.
    let known = scene.key("second");
    scene.once(Older, "third").arg("true").run().exits(0);
    assert_eq!(scene.key("second"), known);
    assert_eq!((&known["done"], &known["exit_code"]), (&true.into(), &0.into()), "{known}");
    assert!(is_of("newer", &known), "{known}");
    is_done_without_details(&scene.key("third"), 0);
}

fn is_of(who: &str, report: &Value) -> bool {
    report["id"].as_str().is_some_and(|id| id.starts_with(&format!("{who}-")))
}

#[track_caller]
/// The runs before it that failed are those of which the newer one has told.
fn is_done_without_details(key: &Value, attempts: usize) {
    let mut key = key.clone();
    let failed = key.as_object_mut().and_then(|key| key.remove("failed"));
    let failed = failed.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    assert!(failed.len() >= attempts && failed.iter().all(|run| is_of("newer", run)), "{failed:?}");
    let name = &key["key"];
    let expected = json!({
        "key": name, "done": true, "by_hand": false, "id": null, "host": null, "start": null, "end": null,
        "took_ms": null, "exit_code": null, "attempts": attempts,
    });
    assert_eq!(key, expected);
}

fn changes_by_people_count_for_the_older_release(scene: &Scene) {
    let change = |words: &[&str]| scene.elect(Newer, "done").arg("job").args(words);
    change(&["today", "--record", "--create"]).run().exits(0);
    scene.finds_done(Older, "today");
    change(&["today", "--undo"]).run().exits(0);
    scene.once(Older, "today").sh("exit 7").run().exits(7);
    scene.once(Older, "today").arg("true").run().exits(0);
    scene.finds_done(Newer, "today");
    // While the older one leads nothing is changed: it has read all that is done, and writes it when it ends.
    let leader = scene.once(Older, "tomorrow").sh(STAY).arg("older").spawn();
    scene.awaits("older\n");
    let late = change(&["today", "--undo", "--timeout", "500ms"]).run();
    late.exits(75).says("nothing is changed");
    let recording = change(&["later", "--record"]).spawn();
    scene.awaits_line(1);
    let next = scene.once(Older, "later").arg("false").spawn();
    scene.awaits_line(2);
    scene.end("older");
    leader.wait().exits(0);
    recording.wait().exits(0).says("leads, and only a leader may write");
    // It has waited behind, and finds it done.
    next.wait().exits(0);
    scene.finds_done(Newer, "tomorrow");
    scene.finds_done(Older, "today");
}

/// The manual says so. It reads more than it keeps, and so does not do again what is done.
fn the_older_one_forgets_the_keys_that_it_does_not_keep(scene: &Scene) {
    const KEPT: usize = 64;
    let record = |n: usize| {
        let done = scene.elect(Newer, "done").args(["job", &format!("k{n}")]);
        done.args(["--record", "--create"])
    };
    (0..KEPT + 2).for_each(|n| drop(record(n).run().exits(0)));
    scene.finds_done(Older, "k0");
    scene.once(Older, "new").arg("true").run().exits(0);
    let known = scene.json(Newer, "done", &[]);
    let known = known["keys"].as_array().expect("keys");
    let is_done = |name: &str| known.iter().any(|key| key["key"] == *name && key["done"] == true);
    assert_eq!(known.iter().filter(|key| key["done"] == true).count(), KEPT);
    assert!(!is_done("k2") && is_done("k3") && is_done("k65") && is_done("new"));
    // Both do a forgotten key again.
    scene.once(Older, "k2").sh("exit 7").run().exits(7);
    scene.once(Newer, "k2").sh("exit 8").run().exits(8);
    scene.finds_done(Older, "k3");
    scene.finds_done(Newer, "new");
}

fn attempts_are_those_of_the_newer_one(scene: &Scene) {
    let exit = |code: i32| format!("exit {code}");
    let newer = |code: i32| {
        let run = scene.once(Newer, "today").args(["--once-attempts", "2"]);
        run.sh(&exit(code)).run()
    };
    let older = |code: i32| scene.once(Older, "today").sh(&exit(code)).run();
    older(3).exits(3);
    newer(4).exits(4);
    older(5).exits(5);
    newer(6).exits(6);
    let used_up = newer(0).exits(75);
    used_up.says("today was tried 2 times").says("exited with code 6");
    // The older one neither counts, nor is held back.
    older(7).exits(7);
    newer(0).exits(75).says("today was tried 2 times");
    older(0).exits(0);
    newer(9).exits(0).is_silent();
    is_done_without_details(&scene.key("today"), 2);
    scene.elect(Newer, "done").args(["job", "today", "--undo"]).run().exits(0);
    newer(4).exits(4);
    older(0).exits(0);
    is_done_without_details(&scene.key("today"), 1);
}

fn a_crash_counts_and_the_older_one_goes_on(scene: &Scene) {
    let only = || scene.once(Newer, "today").args(["--once-attempts", "1"]);
    let first = only().sh(STAY).arg("newer").spawn();
    scene.awaits("newer\n");
    let next = scene.once(Older, "today").env("CODE", "3").sh(STAY).arg("older").spawn();
    scene.awaits_line(1);
    let last = only().sh(BRIEF).arg("last").spawn();
    scene.awaits_line(2);
    first.ended_by(Signal::SIGKILL).exits(128 + 9);
    scene.awaits("newer\nolder\n");
    scene.end("older");
    next.wait().exits(3);
    last.wait().exits(75).says("today was tried once").says("was cut off: its elect crashed");
    let key = scene.key("today");
    assert!(is_of("newer", &key) && key["done"] == false, "{key}");
    // The crashed run is not shown as the one that did it.
    scene.once(Older, "today").arg("true").run().exits(0);
    is_done_without_details(&scene.key("today"), 1);
    only().arg("false").run().exits(0);
}

fn a_period_has_one_key_for_both(scene: &Scene) {
    // A month, so that none begins in the middle of this.
    let monthly = |code: &str| scene.run(Newer).args(["--once-per", "month"]).sh(code).run();
    monthly("exit 0").exits(0);
    let known = scene.json(Newer, "done", &[]);
    let month = known["keys"][0]["key"].as_str().expect("a key");
    scene.finds_done(Older, month);
    scene.elect(Newer, "done").args(["job", month, "--undo"]).run().exits(0);
    scene.once(Older, month).arg("true").run().exits(0);
    monthly("exit 7").exits(0);
}

fn a_run_that_lasted_too_long_is_left_to_the_other_release(scene: &Scene) {
    let first = scene.once(Newer, "today").args(["--max-run", "1s"]).sh(STAY).arg("newer").spawn();
    scene.awaits("newer\n");
    let next = scene.once(Older, "today").sh(BRIEF).arg("older").spawn();
    first.wait().exits(128 + 15).says("as long as --max-run allows");
    next.wait().exits(0);
    assert_eq!(scene.word(), "newer\nolder\n");
    let reason = scene.history(Older)[0]["reason"].clone();
    let is_told = |reason: &str| reason.starts_with("stopped after 1s (--max-run)");
    assert!(reason.as_str().is_some_and(is_told), "{reason}");
    // The limit counts from the start of the command, not while the older one leads.
    let leader = scene.run(Older).sh(STAY).arg("leader").spawn();
    scene.awaits("newer\nolder\nleader\n");
    let brief = scene.run(Newer).args(["--max-run", "500ms"]).sh(BRIEF).arg("brief").spawn();
    scene.awaits_line(1);
    let wait = scene.elect(Newer, "wait").args(["job", "--for", "vacant", "--timeout", "1s"]);
    wait.run().exits(75);
    scene.end("leader");
    leader.wait().exits(0);
    brief.wait().exits(0);
    assert_eq!(scene.word(), "newer\nolder\nleader\nbrief\n");
}

fn the_history_keeps_fields_that_only_the_newer_release_knows(scene: &Scene) {
    scene.once(Newer, "a").sh("sleep 0.5; exit 3").run().exits(3);
    scene.run(Older).sh("sleep 0.5; exit 4").run().exits(4);
    let crashing = scene.once(Newer, "b").sh(STAY).arg("newer").spawn();
    eventually("its start", || (scene.history(Newer).len() == 3).then_some(()));
    crashing.ended_by(Signal::SIGKILL).exits(128 + 9);
    // The older successor closes the record of the crashed one, and keeps its key.
    scene.run(Older).sh("sleep 0.5").run().exits(0);
    let known = scene.history(Newer);
    let [failed, plain, crashed, last] = &known[..] else { panic!("{known:?}") };
    assert!(is_of("newer", failed) && is_of("older", plain) && is_of("newer", crashed));
    assert_eq!((&failed["key"], &failed["exit_code"]), (&"a".into(), &3.into()));
    assert!(failed["took_ms"].as_u64().is_some_and(|took| took >= 500), "{failed}");
    assert_eq!((&crashed["key"], &crashed["exit_code"]), (&"b".into(), &Value::Null));
    assert_eq!(crashed["reason"], "it did not say how it ended");
    for record in [plain, last] {
        let details = ["key", "exit_code", "took_ms"].map(|name| &record[name]);
        assert_eq!(details, [&Value::Null; 3], "{record}");
    }
    assert_eq!(plain["reason"], "the command exited with code 4");
    // The older one tells the same as far as it knows it.
    for (older, newer) in scene.history(Older).iter().zip(&known) {
        for name in ["token", "id", "start", "end", "reason"] {
            assert_eq!(older[name], newer[name]);
        }
    }
    assert_eq!(scene.status(Newer)["last"], *last);
    let told = scene.elect(Newer, "status").arg("job").run().exits(1).stdout;
    assert!(told.contains("last: older, ") && told.contains(" exited with code 0"), "{told}");
    scene.once(Newer, "c").sh("sleep 0.5; exit 5").run().exits(5);
    let last = scene.status(Newer)["last"].clone();
    assert_eq!((&last["key"], &last["exit_code"]), (&"c".into(), &5.into()));
    assert!(scene.status(Older)["leader"].is_null());
}

fn the_exit_code_is_told_by_the_newer_one(scene: &Scene) {
    for (who, code) in [(Newer, "7"), (Older, "none"), (Newer, "7")] {
        let tell = "sh -c 'echo code ${ELECT_EXIT_CODE-none} >&2'";
        let run = scene.run(who).args(["--on-lost", tell]).sh("exit 7").run();
        run.exits(7).says(&format!("code {code}\n"));
    }
}
