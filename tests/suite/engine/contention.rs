use crate::prelude::*;
use crate::stage::{Stage, contend, send, stop};

#[test]
fn twenty_at_once_run_once_each_in_the_order_of_their_arrival() {
    contend(20);
}

/// Nothing is there yet, not even a directory: all make it at once.
#[test]
fn twenty_at_once_on_a_bare_disk_run_once_each() {
    let stage = Stage::new();
    let tags: Vec<String> = (0..20).map(|number| format!("c{number}")).collect();
    let run = |tag: &String| stage.run(&stage.brief(tag)).spawn();
    let contenders: Vec<Running> = tags.iter().map(run).collect();
    for contender in contenders {
        contender.wait().exits(0);
    }
    let mut ran: Vec<String> = stage.oracle.assert_sound().into_iter().map(|run| run.tag).collect();
    ran.sort_by_key(|tag| tags.iter().position(|other| other == tag));
    assert_eq!(ran, tags);
    assert_eq!(stage.queue(), [0; 0]);
}

#[test]
fn contenders_for_different_elections_do_not_wait_for_each_other() {
    let stage = Stage::new();
    let (leader, _) = stage.lead(&[], &stage.stamper("A"), "A");
    let other = stage.ground.elect("run").args(["-e", "other", "-n", "--", "true"]);
    other.run().exits(0);
    leader.ended_by(Signal::SIGTERM).exits(128 + 15);
}

/// Kills one of five in the queue in some way; the others have to run in their order.
fn lose_one_of_the_queue(kill: impl Fn(&mut Running)) {
    let stage = Stage::new();
    let end = stage.oracle.flag("end");
    let (leader, _) = stage.lead(&[], &stage.stamper("A").until(&end), "A");
    let mut waiters: Vec<_> = ["B", "C", "D", "E", "F"]
        .iter()
        .enumerate()
        .map(|(place, tag)| stage.wait_in_line(&stage.brief(tag), place))
        .collect();
    let before = stage.queue();
    let mut lost = waiters.remove(2);
    kill(&mut lost);
    let after = eventually("a queue without it", || {
        Some(stage.queue()).filter(|queue| !queue.contains(&before[2]))
    });
    assert_eq!(after, [before[0], before[1], before[3], before[4]]);
    assert_ne!(lost.wait().code(), 0);
    stage.oracle.wait_for_stamps("A", Duration::from_millis(5));
    end.raise();
    leader.wait().exits(0);
    for waiter in waiters {
        waiter.wait().exits(0);
    }
    stage.assert_runs(&["A", "B", "C", "E", "F"]);
    assert_eq!(stage.queue(), [0; 0]);
}

#[test]
fn a_waiter_that_is_killed_leaves_the_order_as_it_is() {
    lose_one_of_the_queue(|lost| lost.signal(Signal::SIGKILL));
}

#[test]
fn a_waiter_whose_guardian_is_killed_leaves_the_order_as_it_is() {
    lose_one_of_the_queue(|lost| send(lost.guardian(), Signal::SIGKILL));
}

#[test]
fn a_waiter_that_is_told_to_end_leaves_the_order_as_it_is() {
    lose_one_of_the_queue(|lost| lost.signal(Signal::SIGTERM));
}

/// A stopped candidate keeps its place until it goes on, and the candidates behind it keep theirs.
#[test]
fn a_stopped_waiter_is_not_passed() {
    let stage = Stage::new();
    let end = stage.oracle.flag("end");
    let (leader, _) = stage.lead(&[], &stage.stamper("A").until(&end), "A");
    let mut second = stage.wait_in_line(&stage.brief("B"), 0);
    let third = stage.wait_in_line(&stage.brief("C"), 1);
    stop(second.pid());
    end.raise();
    leader.wait().exits(0);
    second.ended_by(Signal::SIGCONT).exits(0);
    third.wait().exits(0);
    stage.assert_runs(&["A", "B", "C"]);
}
