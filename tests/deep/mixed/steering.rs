//! Pauses that end by themselves, and elections that are forgotten, where the older release knows neither.

use elect_api::stamp;
use elect_testkit::program::{Ended, Running, eventually};
use serde_json::Value;

use super::scene::{Edition, Newer, Older, STAY, Scene, on_every_store};

on_every_store! {
    the_older_one_stays_paused_until_the_newer_one_resumes
    the_older_one_stays_paused_until_it_resumes
    either_ends_the_pause_of_the_other
    the_last_pause_counts_as_far_as_its_release_knows
    a_candidate_of_the_older_one_keeps_the_election
    both_begin_anew_and_tokens_rise
    forgetting_is_one_step_for_the_older_one
}

fn the_older_one_stays_paused_until_the_newer_one_resumes(scene: &Scene) {
    stays_paused(scene, Newer, "--for", "10s");
}

fn the_older_one_stays_paused_until_it_resumes(scene: &Scene) {
    let end = stamp::read(stamp::display() + 10_000).expect("a time");
    stays_paused(scene, Older, "--until", &humantime::format_rfc3339_seconds(end).to_string());
}

/// A leader of this release, or a candidate in line.
fn stays(scene: &Scene, edition: Edition, name: &str) -> Running {
    scene.run(edition).sh(STAY).arg(name).spawn()
}

/// Asserts that no candidate leads, or begins to lead, for a second.
#[track_caller]
fn expect_no_new_leader(scene: &Scene) -> Ended {
    let word = scene.word();
    let wait = scene.elect(Older, "wait").args(["job", "--timeout", "1s"]).run();
    assert_eq!(scene.word(), word);
    wait.exits(75)
}

fn stays_paused(scene: &Scene, resumer: Edition, flag: &str, end: &str) {
    // The pause stops a leader of the older release.
    let leader = stays(scene, Older, "first");
    scene.awaits("first\n");
    let pause = scene.elect(Newer, "pause").args(["job", "--reason", "deploy", flag, end]);
    let pause = pause.run().exits(0);
    assert!(pause.stdout.starts_with("job is paused until "), "{}", pause.stdout);
    leader.wait().exits(124).says("step down: paused by ");
    let paused = |edition| scene.status(edition)["paused"].clone();
    assert_eq!(paused(Older)["reason"], "deploy");
    // A newer candidate is told of the end.
    let newer = scene.run(Newer).args(["-n", "true"]).run().exits(75);
    newer.says("the election is paused until ");
    let _older = stays(scene, Older, "older");
    scene.awaits_line(1);
    eventually("the end of the pause", || paused(Newer).is_null().then_some(()));
    // The older one is first in line, and starts nothing. The newer status takes it for the leader: the manual says so.
    let _newer = stays(scene, Newer, "newer");
    scene.awaits_line(1);
    expect_no_new_leader(scene).says("the election is paused by ");
    assert_eq!(paused(Older)["reason"], "deploy");
    let status = scene.status(Newer);
    let leader = status["leader"]["id"].as_str().expect("a leader");
    assert!(leader.starts_with("older-"), "{status}");
    assert_eq!(scene.word(), "first\n");
    let said = scene.elect(resumer, "resume").arg("job").run().exits(0).stdout;
    let is_told = said.starts_with("job is resumed; its pause had ended at ");
    assert!(is_told || (resumer == Older && said.is_empty()), "{said}");
    scene.awaits("first\nolder\n");
    scene.end("older");
    scene.awaits("first\nolder\nnewer\n");
}

fn either_ends_the_pause_of_the_other(scene: &Scene) {
    for (pauser, resumer) in [(Older, Newer), (Newer, Older)] {
        for edition in [Older, Newer] {
            let name = format!("{pauser:?}-{edition:?}");
            let _leader = stays(scene, Older, &name);
            scene.awaits(&(scene.word() + &name + "\n"));
            let end: &[&str] = if pauser == Newer { &["--for", "1h"] } else { &[] };
            scene.elect(pauser, "pause").arg("job").args(end).run().exits(0);
            let next = format!("{name}-next");
            let candidate = stays(scene, edition, &next);
            scene.awaits_line(1);
            let before = scene.word();
            let ended = scene.elect(resumer, "resume").arg("job").run().exits(0);
            ended.prints(if resumer == Newer { "job is resumed\n" } else { "" });
            scene.awaits(&(before + &next + "\n"));
            scene.end(&next);
            candidate.wait().exits(0);
        }
    }
}

fn the_last_pause_counts_as_far_as_its_release_knows(scene: &Scene) {
    let until = || scene.status(Newer)["paused"]["until"].clone();
    let pause = |edition: Edition, words: &[&str]| {
        scene.elect(edition, "pause").arg("job").args(words).run().exits(0);
    };
    scene.run(Older).arg("true").run().exits(0);
    // An end for one that had none.
    pause(Older, &["--reason", "first"]);
    assert_eq!(until(), Value::Null);
    pause(Newer, &["--until", "2999-01-01T00:00:00Z"]);
    assert_eq!(until(), "2999-01-01T00:00:00.000Z");
    assert_eq!(scene.status(Older)["paused"]["reason"], "first");
    // The older pause leaves an end that is there. A new pause of the older one has none.
    pause(Older, &[]);
    assert_eq!(until(), "2999-01-01T00:00:00.000Z");
    pause(Older, &["--reason", "second"]);
    assert_eq!(until(), Value::Null);
    scene.elect(Older, "resume").arg("job").run().exits(0);
    pause(Newer, &["--for", "1h"]);
    scene.elect(Older, "resume").arg("job").run().exits(0);
    pause(Older, &[]);
    assert_eq!(until(), Value::Null);
    expect_no_new_leader(scene);
    pause(Newer, &["--for", "1h"]);
    pause(Newer, &[]);
    assert_eq!(until(), Value::Null);
    // It leaves an end that has passed, too, so newer candidates lead: the manual says so.
    pause(Newer, &["--for", "1s"]);
    eventually("the end of the pause", || scene.status(Newer)["paused"].is_null().then_some(()));
    pause(Older, &[]);
    scene.run(Newer).arg("true").run().exits(0);
    scene.run(Older).args(["-n", "true"]).run().exits(75);
    pause(Newer, &[]);
    scene.run(Newer).args(["-n", "true"]).run().exits(75);
}

fn forget(scene: &Scene, words: &[&str]) -> Ended {
    scene.elect(Newer, "forget").args(["job", "--yes"]).args(words).run()
}

fn a_candidate_of_the_older_one_keeps_the_election(scene: &Scene) {
    let leader = scene.once(Older, "tomorrow").sh(STAY).arg("older").spawn();
    scene.awaits("older\n");
    forget(scene, &[]).exits(125).says("job has 1 candidate, older-");
    let waiter = scene.run(Older).arg("true").spawn();
    scene.awaits_line(1);
    scene.elect(Older, "pause").arg("job").run().exits(0);
    leader.wait().exits(124);
    // No candidate leads, and one waits.
    forget(scene, &[]).exits(125).says("job has 1 candidate, older-");
    scene.elect(Older, "resume").arg("job").run().exits(0);
    waiter.wait().exits(0);
    scene.elect(Older, "pause").arg("job").run().exits(0);
    forget(scene, &[]).exits(125).says("job is paused by ");
    scene.elect(Older, "resume").arg("job").run().exits(0);
    scene.elect(Older, "fence").args(["-e", "job", "--token", "7", "disk", "true"]).run().exits(0);
    forget(scene, &[]).exits(125).says("has a fence of disk");
    forget(scene, &["--fences"]).exits(0);
    scene.elect(Older, "fence").args(["-e", "job", "--token", "6", "disk", "true"]).run().exits(0);
}

/// The token of a leadership with this key.
#[track_caller]
fn token(scene: &Scene, edition: Edition, key: &str) -> u64 {
    token_of(&scene.once(edition, key).sh("echo $ELECT_TOKEN").run())
}

#[track_caller]
fn token_of(ended: &Ended) -> u64 {
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    ended.stdout.trim().parse().unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

fn both_begin_anew_and_tokens_rise(scene: &Scene) {
    let mut tokens = Vec::new();
    for (first, second) in [(Older, Newer), (Newer, Older), (Older, Newer)] {
        // Either release does the work of a forgotten key again.
        tokens.push(token(scene, first, "monday"));
        scene.finds_done(second, "monday");
        tokens.push(token(scene, second, "tuesday"));
        scene.finds_done(first, "tuesday");
        let put = "exec \"$ELECT\" put cursor 5";
        let older = scene.elect(Older, "run").args(["-e", "job"]).sh(put);
        older.env("ELECT", super::WITHOUT_RUNS.binary()).run().exits(0);
        let forgotten = forget(scene, &[]).exits(0).stdout;
        assert!(forgotten.contains("2 --once keys, the last tuesday"), "{forgotten}");
        assert!(forgotten.contains("1 value: cursor"), "{forgotten}");
        assert!(scene.history(Older).is_empty() && scene.history(Newer).is_empty());
        scene.elect(Older, "get").args(["-e", "job", "cursor"]).run().exits(1);
    }
    assert!(tokens.windows(2).all(|two| two[0] < two[1]), "{tokens:?}");
}

/// Forgetting is one step: a candidate joins before it and keeps all, or after it and begins anew.
fn forgetting_is_one_step_for_the_older_one(scene: &Scene) {
    const RUNS: usize = 40;
    let mut forgotten = 0;
    let tokens: Vec<u64> = (0..RUNS)
        .map(|n| {
            let once = scene.once(Older, &format!("k{n}"));
            let mut running = once.sh("echo $ELECT_TOKEN").spawn();
            while running.is_running() {
                forgotten += usize::from(is_forgotten(scene));
            }
            token_of(&running.wait())
        })
        .collect();
    assert!(tokens.windows(2).all(|two| two[0] < two[1]), "{tokens:?}");
    println!("{RUNS} runs of the older one, forgotten {forgotten} times meanwhile");
    assert!(forgotten > 0);
}

/// Returns true if the election could be forgotten. A refusal must say that it has candidates, or does not exist.
#[track_caller]
fn is_forgotten(scene: &Scene) -> bool {
    let ended = forget(scene, &[]);
    let why = [
        "job has ",
        "a candidate is in the election",
        "a candidate is in the election",
        "no election job",
    ];
    let told = why.iter().any(|why| ended.stderr.contains(why));
    assert!(ended.code() == 0 || told, "{}: {}", ended.code(), ended.stderr);
    ended.code() == 0
}
