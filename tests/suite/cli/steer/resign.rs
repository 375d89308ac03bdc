//! `elect resign`: the leader hands over in good order.

use elect_testkit::program::{Elect, eventually};

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    the_next_leads_and_the_old_one_ends
    a_candidate_that_campaigns_again_comes_last
    a_resign_without_a_leader_asks_no_candidate
    a_command_that_takes_its_time_is_waited_for
}

fn resign(arena: &Arena, words: &[&str]) -> Elect {
    arena.elect("resign").arg("job").args(words)
}

/// Returns the contents of a candidate's outcome file.
fn outcome(arena: &Arena, name: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(arena.path(name)).unwrap()).unwrap()
}

fn the_next_leads_and_the_old_one_ends(arena: &Arena) {
    let one = arena.candidate_with("one", 15, |it| it.arg("--outcome").arg(arena.path("outcome")));
    let old = arena.wait_for_leader("one");
    let _two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    let said = resign(arena, &["--reason", "kernel update"]).run().exits(0);
    let id = arena.wait_for_leader("two");
    let token = arena.record().last().expect("a run").0;
    said.prints(&format!("{id} leads, token {token}\n"));
    one.wait().exits(124);
    let outcome = outcome(arena, "outcome");
    assert_eq!(outcome["outcome"], "stepped_down");
    assert_eq!(outcome["id"], old.as_str());
    let reason = outcome["reason"].as_str().expect("a reason");
    assert!(reason.contains("asked by ") && reason.ends_with(": kernel update"), "{reason}");
}

fn a_candidate_that_campaigns_again_comes_last(arena: &Arena) {
    let campaign = |label: &str| {
        let candidate = arena.candidate_with(label, 15, |it| it.args(["--after-loss", "campaign"]));
        arena.wait_for_candidate(label);
        candidate
    };
    let (_one, _two) = (campaign("one"), campaign("two"));
    arena.wait_for_leader("one");
    for (turn, next) in ["two", "one", "two"].into_iter().enumerate() {
        let other = if next == "one" { "two" } else { "one" };
        arena.wait_for_waiter(next);
        let said = resign(arena, &[]).run().exits(0);
        assert!(said.stdout.starts_with(&format!("{next}-")), "{}", said.stdout);
        eventually("its command", || (arena.record().len() == turn + 2).then_some(()));
        arena.wait_for_waiter(other);
    }
    let tokens: Vec<u64> = arena.record().into_iter().map(|(token, _)| token).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

fn a_resign_without_a_leader_asks_no_candidate(arena: &Arena) {
    resign(arena, &[]).run().exits(0).prints("nobody leads\n");
    // The request does not count for the next candidate.
    let _one = arena.leader("one", 15);
    arena.elect("status").arg("job").run().exits(0);
}

fn a_command_that_takes_its_time_is_waited_for(arena: &Arena) {
    let script = "trap 'echo asked >>\"$RECORD.asked\"' TERM; echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"
                  until [ -e \"$RECORD.end\" ]; do sleep 0.01; done";
    let one = arena.run_with("one", 15, |it| it, script);
    arena.wait_for_leader("one");
    let ended = resign(arena, &["--timeout", "0"]).run().exits(75);
    ended
        .says(
            "has not handed over yet; it will once its command has ended. --force is for a leader",
        )
        .prints("");
    eventually("the request", || arena.path("record.asked").exists().then_some(()));
    let waiting = resign(arena, &[]).spawn();
    std::fs::write(arena.path("record.end"), "").unwrap();
    one.wait().exits(124);
    waiting.wait().exits(0).prints("nobody leads\n");
    let asked = std::fs::read_to_string(arena.path("record.asked")).unwrap();
    assert_eq!(asked.lines().count(), 1, "it is asked once");
}

#[test]
fn a_user_that_waits_for_a_while_is_told_the_reason() {
    let asked = " was asked, and has not handed over yet";
    let paused = ") has not stopped yet";
    for (words, what) in [
        (&["priority", "job", "us", "0"][..], asked),
        (&["resign", "job"], asked),
        (&["pause", "job"], paused),
    ] {
        let arena = Arena::on(Ground::File);
        let script = "trap '' TERM; echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"; \
                      until [ -e \"$RECORD.go\" ]; do sleep 0.02; done";
        let leader = arena.run_with("us", 15, |it| it, script);
        let id = arena.wait_for_leader("us");
        // With priorities, a candidate leads once its history says so.
        eventually("its history", || {
            let history = arena.elect("history").arg("job").run().stdout;
            history.contains(&id).then_some(())
        });
        let said = arena.path("said");
        let to_file = ["sh", "-c", "exec \"$@\" 2>\"$SAID\"", "sh"];
        let waits = arena.elect(words[0]).args(&words[1..]).env("SAID", &said);
        let waits = waits.under(to_file).spawn();
        eventually(what, || {
            let said = std::fs::read_to_string(&said).unwrap_or_default();
            said.contains(what).then_some(())
        });
        std::fs::write(arena.path("record.go"), "").expect("a file");
        waits.wait().exits(0);
        leader.wait().exits(124);
    }
}
