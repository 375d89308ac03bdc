//! `elect pause` and `elect resume`: nobody leads for now.

use elect_testkit::program::{Elect, eventually};

use crate::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    nobody_leads_while_it_is_paused
    who_comes_during_a_pause_starts_nothing_before_its_end
    who_does_not_wait_is_told_of_the_pause
    it_may_begin_before_anybody_was_there
    pausing_again_changes_nothing_but_the_reason
}

fn pause(arena: &Arena, words: &[&str]) -> Elect {
    arena.elect("pause").arg("job").args(words)
}

fn resume(arena: &Arena) {
    arena.elect("resume").arg("job").run().exits(0).is_silent();
}

const PAUSED: &str = "job is paused: nobody leads\n";

fn nobody_leads_while_it_is_paused(arena: &Arena) {
    let one = arena.leader("one", 15);
    let _two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    pause(arena, &["--reason", "disk is full"]).run().exits(0).prints(PAUSED);
    // It has ended when that was said.
    assert_eq!(one.wait().exits(124).stdout, "");
    eventually("two to be the next", || {
        let status = arena.status();
        assert!(status["leader"].is_null(), "{status}");
        assert_eq!(status["paused"]["reason"], "disk is full");
        let waiting = status["waiting"].as_array()?;
        (waiting.len() == 1 && waiting[0]["place"] == 1).then_some(())
    });
    let shown = arena.elect("status").arg("job").run().exits(1);
    assert!(shown.stdout.contains("paused") && shown.stdout.contains(": disk is full"));
    arena.elect("wait").args(["job", "--for", "vacant"]).run().exits(0);
    assert_eq!(arena.record().len(), 1, "two has started something");
    resume(arena);
    arena.wait_for_leader("two");
    assert!(arena.status()["paused"].is_null());
}

fn who_comes_during_a_pause_starts_nothing_before_its_end(arena: &Arena) {
    pause(arena, &[]).run().exits(0).prints(PAUSED);
    let _one = arena.candidate("one", 15);
    arena.wait_for_waiter("one");
    let _two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    pause(arena, &[]).run().exits(0).prints(PAUSED);
    assert!(arena.record().is_empty());
    resume(arena);
    arena.wait_for_leader("one");
    assert_eq!(arena.record().len(), 1);
}

fn who_does_not_wait_is_told_of_the_pause(arena: &Arena) {
    pause(arena, &["--reason", "deploy"]).run().exits(0);
    let run = || arena.elect("run").args(["-e", "job"]);
    run().args(["-n", "true"]).run().exits(75).says("the election is paused by ").says(": deploy");
    run().args(["-w", "100ms", "true"]).run().exits(75).says(": deploy");
    resume(arena);
    run().args(["-n", "true"]).run().exits(0);
}

fn it_may_begin_before_anybody_was_there(arena: &Arena) {
    pause(arena, &[]).run().exits(0).prints(PAUSED);
    resume(arena);
    resume(arena);
    let _one = arena.leader("one", 15);
}

fn pausing_again_changes_nothing_but_the_reason(arena: &Arena) {
    let _one = arena.leader("one", 15);
    pause(arena, &["--reason", "first"]).run().exits(0);
    let before = arena.status()["paused"].clone();
    pause(arena, &[]).run().exits(0);
    assert_eq!(arena.status()["paused"], before);
    pause(arena, &["--reason", "second"]).run().exits(0);
    assert_eq!(arena.status()["paused"]["reason"], "second");
}
