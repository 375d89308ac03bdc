use std::time::Duration;

use super::*;

fn at(seconds: u64) -> Boottime {
    Boottime::from_boot(Duration::from_secs(seconds))
}

fn run(leftover: Leftover, events: &[(u64, Event)]) -> Vec<Action> {
    let mut ladder = Ladder::new(leftover, false);
    events.iter().filter_map(|&(second, event)| ladder.step(at(second), event)).collect()
}

const TERM: Event = Event::Order(Order::Ask { signal: 15, kill_at: None });
const KILL: Leftover =
    Leftover::Kill { grace: Duration::from_secs(1), kill_grace: Duration::from_secs(4) };
fn others(signal: i32, second: u64) -> Action {
    Action::AskOthers(Asked { signal: Some(signal), at: at(second) })
}

const AGAIN: Action = Action::Signal { signal: 15, resume: true };

#[test]
fn a_tree_that_ends_with_its_command_is_neither_asked_nor_killed() {
    let events = [(1, Event::Start), (2, Event::CommandEnded), (2, Event::NoChildren)];
    for leftover in [KILL, Leftover::Wait] {
        assert_eq!(run(leftover, &events), [Action::Spawn, Action::Release]);
    }
}

#[test]
fn leftovers_have_a_moment_then_are_asked_then_killed() {
    let events = [
        (1, Event::Start),
        (2, Event::CommandEnded),
        (2, Event::Tick),
        (3, Event::Tick),
        (6, Event::Tick),
        (7, Event::Tick),
        (7, Event::Tick),
        (8, Event::NoChildren),
    ];
    let expected =
        [Action::Spawn, Action::AskLeftover, Action::KillOverdue, Action::KillAll, Action::Release];
    assert_eq!(run(KILL, &events), expected);
    let expected = [Action::Spawn, Action::NameLeftover, Action::Release];
    assert_eq!(run(Leftover::Wait, &events), expected);
    let mut ladder = Ladder::new(KILL, false);
    ladder.step(at(1), Event::Start);
    ladder.step(at(2), Event::CommandEnded);
    assert_eq!(ladder.next_tick(), Some(at(3)));
    ladder.step(at(3), Event::Tick);
    assert_eq!((ladder.next_tick(), ladder.kill_at()), (Some(at(7)), Some(at(7))));
}

/// A kill may take long, as when a tracer holds a process. The lease is renewed meanwhile.
#[test]
fn the_lease_of_leftovers_that_are_killed_is_renewed_until_it_is_lost() {
    let renewed = |soft| Event::Order(Order::Renewed(deadlines(soft)));
    let killing = || {
        let mut ladder = Ladder::new(KILL, true);
        let events = [(1, renewed(20)), (1, Event::Start), (2, Event::CommandEnded)];
        for (second, event) in events {
            ladder.step(at(second), event);
        }
        ladder.step(at(3), Event::Tick);
        assert_eq!(ladder.step(at(7), Event::Tick), Some(Action::KillOverdue));
        ladder
    };
    let mut ladder = killing();
    assert_eq!(ladder.step(at(8), renewed(30)), Some(Action::Rearm));
    assert_eq!(ladder.dead_man(), Some(at(35)));
    assert_eq!(ladder.step(at(31), renewed(50)), None, "it has passed");
    for end in [
        Event::Order(Order::Kill),
        Event::Order(Order::Stop { kill_at: at(9) }),
        Event::WrapperGone,
    ] {
        let mut ladder = killing();
        ladder.step(at(8), end);
        assert_eq!(ladder.step(at(8), renewed(30)), None, "{end:?}");
    }
}

#[test]
fn a_lost_lease_cuts_the_time_of_leftovers_short() {
    let events = [
        (1, Event::Order(Order::Renewed(deadlines(3)))),
        (1, Event::Start),
        (2, Event::CommandEnded),
        (3, Event::Tick),
        (7, Event::Tick),
    ];
    assert_eq!(run(KILL, &events), [Action::Spawn, Action::Ask, Action::KillAll]);
    let events = [(1, Event::Start), (2, Event::CommandEnded), (2, Event::Order(Order::Kill))];
    assert_eq!(run(KILL, &events), [Action::Spawn, Action::KillAll]);
    let stop = Event::Order(Order::Stop { kill_at: at(4) });
    let events = [(1, Event::Start), (2, Event::CommandEnded), (2, stop), (4, Event::Tick)];
    assert_eq!(run(KILL, &events), [Action::Spawn, Action::Ask, Action::KillAll]);
}

#[test]
fn the_deadline_of_a_command_that_was_asked_is_that_of_its_tree() {
    let ask = Event::Order(Order::Ask { signal: 15, kill_at: Some(at(30)) });
    let events = [
        (1, Event::Start),
        (2, ask),
        (3, Event::CommandEnded),
        (29, Event::Tick),
        (30, Event::Tick),
    ];
    let young = Action::AskYoung(Asked { signal: Some(15), at: at(3) });
    let expected = [Action::Spawn, AGAIN, others(15, 2), young, Action::KillOverdue];
    assert_eq!(run(KILL, &events), expected);
    assert_eq!(run(Leftover::Wait, &events), expected);
    let events = [(1, Event::Start), (2, TERM), (3, Event::CommandEnded), (9999, Event::Tick)];
    assert_eq!(run(KILL, &events), expected[..4], "a command without a limit leaves none");
    // Background processes of a shell ignore INT.
    let interrupt = Event::Order(Order::Ask { signal: 2, kill_at: None });
    let events = [
        (1, Event::Start),
        (2, interrupt),
        (3, Event::CommandEnded),
        (4, Event::Tick),
        (9999, Event::Tick),
    ];
    let interrupted = Action::Signal { signal: 2, resume: true };
    let expected = [Action::Spawn, interrupted, others(2, 2), Action::AskLeftover];
    assert_eq!(run(KILL, &events), expected);
    let stop = Event::Order(Order::Stop { kill_at: at(9) });
    let events = [(1, Event::Start), (2, stop), (3, Event::CommandEnded), (9, Event::Tick)];
    let others = Action::AskOthers(Asked { signal: None, at: at(2) });
    let expected = [Action::Spawn, Action::Ask, others, Action::KillAll];
    assert_eq!(run(KILL, &events), expected);
}

#[test]
fn leftovers_that_are_asked_early_have_their_grace_from_then_on() {
    let ask = |at: Option<Boottime>| Event::Order(Order::Ask { signal: 15, kill_at: at });
    for (kill_at, expected) in [(None, 6), (Some(at(99)), 6), (Some(at(4)), 4)] {
        let mut ladder = Ladder::new(KILL, false);
        ladder.step(at(1), Event::Start);
        ladder.step(at(2), Event::CommandEnded);
        assert_eq!(ladder.step(at(2), ask(kill_at)), Some(AGAIN));
        assert_eq!(ladder.next_tick(), Some(at(expected)), "{kill_at:?}");
    }
}

#[test]
fn it_starts_one_command_only() {
    let events = [
        (1, Event::Start),
        (1, Event::Start),
        (1, Event::Order(Order::Kill)),
        (1, Event::Start),
        (2, Event::NoChildren),
        (3, Event::Start),
    ];
    assert_eq!(run(KILL, &events), [Action::Spawn, Action::KillAll, Action::Release]);
}

#[test]
fn a_command_that_cannot_be_made_leaves_an_empty_tree() {
    let events =
        [(1, Event::Start), (1, Event::NotStarted), (2, Event::Start), (3, Event::WrapperGone)];
    assert_eq!(run(KILL, &events), [Action::Spawn, Action::Release, Action::Exit]);
    assert_eq!(run(KILL, &[(1, Event::NotStarted), (2, Event::Start)]), [Action::Release]);
}

#[test]
fn end_of_file_kills_and_then_leaves_without_a_word() {
    assert_eq!(run(KILL, &[(1, Event::WrapperGone)]), [Action::Exit]);
    let events = [
        (1, Event::Start),
        (2, Event::WrapperGone),
        (3, Event::CommandEnded),
        (3, Event::NoChildren),
    ];
    assert_eq!(
        run(Leftover::Wait, &events),
        [Action::Spawn, Action::KillAll, Action::KillAll, Action::Exit]
    );
    let events = [
        (1, Event::Start),
        (2, Event::Order(Order::Kill)),
        (3, Event::WrapperGone),
        (4, Event::NoChildren),
    ];
    assert_eq!(run(Leftover::Wait, &events), [Action::Spawn, Action::KillAll, Action::Exit]);
}

#[test]
fn a_signal_escalates_at_the_earliest_instant_named() {
    let ask = |second| Event::Order(Order::Ask { signal: 15, kill_at: Some(at(second)) });
    let mut ladder = Ladder::new(KILL, false);
    ladder.step(at(1), Event::Start);
    assert_eq!(ladder.step(at(1), ask(9)), Some(AGAIN));
    ladder.step(at(2), ask(5));
    ladder.step(at(3), ask(8));
    ladder.step(at(3), TERM);
    assert_eq!(ladder.next_tick(), Some(at(5)));
    assert_eq!(ladder.step(at(4), Event::Tick), None);
    assert_eq!(ladder.step(at(5), Event::Tick), Some(Action::KillOverdue));
    assert_eq!(ladder.step(at(6), TERM), None, "no signal after the kill");
}

fn run_restarting(events: &[(u64, Event)]) -> Vec<Action> {
    let mut ladder = Ladder::new(KILL, false).restarting();
    events.iter().filter_map(|&(second, event)| ladder.step(at(second), event)).collect()
}

#[test]
fn a_command_that_has_ended_by_itself_may_be_started_again() {
    let events = [
        (1, Event::Start),
        (2, Event::CommandEnded),
        (2, Event::Start),
        (3, Event::NoChildren),
        (4, Event::Order(Order::Renewed(deadlines(9)))),
        (5, Event::Start),
        (9, Event::Tick),
        (9, Event::CommandEnded),
        (9, Event::NoChildren),
        (9, Event::Start),
    ];
    let expected = [
        Action::Spawn,
        Action::Release,
        Action::Spawn,
        Action::Ask,
        Action::AskOthers(Asked { signal: None, at: at(9) }),
        Action::Release,
    ];
    assert_eq!(run_restarting(&events), expected);
    let events = [(1, Event::Start), (2, Event::CommandEnded), (3, Event::NoChildren)];
    let events = [&events[..], &[(3, Event::WrapperGone)]].concat();
    assert_eq!(run_restarting(&events), [Action::Spawn, Action::Release, Action::Exit]);
}

#[test]
fn one_that_left_deaf_processes_may_be_started_again() {
    let events = [
        (1, Event::Start),
        (2, Event::CommandEnded),
        (3, Event::Tick),
        (7, Event::Tick),
        (8, Event::NoChildren),
        (9, Event::Start),
        (19, Event::Tick),
    ];
    let expected =
        [Action::Spawn, Action::AskLeftover, Action::KillOverdue, Action::Release, Action::Spawn];
    assert_eq!(run_restarting(&events), expected, "and the next has no limit of the one before");
}

#[test]
fn any_other_end_of_a_tree_is_final() {
    let ends = [
        Event::Order(Order::Kill),
        Event::Order(Order::Stop { kill_at: at(9) }),
        Event::Order(Order::Ask { signal: 15, kill_at: Some(at(9)) }),
        TERM,
    ];
    for end in ends {
        for when in 1..=3 {
            let mut events = vec![
                (1, Event::Start),
                (2, Event::CommandEnded),
                (2, Event::NoChildren),
                (4, Event::Start),
            ];
            events.insert(when, (2, end));
            let spawned = run_restarting(&events).iter().filter(|&&it| it == Action::Spawn).count();
            assert_eq!(spawned, 1, "{end:?} at {when}");
        }
    }
}

#[test]
fn a_tree_that_empties_as_its_time_runs_out_is_the_last() {
    let events = [
        (1, Event::Order(Order::Renewed(deadlines(5)))),
        (1, Event::Start),
        (3, Event::CommandEnded),
        (6, Event::NoChildren),
        (6, Event::Order(Order::Renewed(deadlines(20)))),
        (7, Event::Start),
    ];
    let expected = [Action::Spawn, Action::Release, Action::Refuse];
    assert_eq!(run_restarting(&events), expected);
}

fn deadlines(soft: u64) -> Deadlines {
    Deadlines { soft: at(soft), hard: at(soft + 4), dead_man: at(soft + 5), last: at(soft + 6) }
}

#[test]
fn the_soft_deadline_asks_and_the_hard_one_kills() {
    let renewed = |soft| Event::Order(Order::Renewed(deadlines(soft)));
    let events = [
        (1, renewed(5)),
        (1, Event::Start),
        (3, renewed(7)),
        (5, Event::Tick),
        (7, Event::Tick),
        (8, renewed(20)),
        (10, Event::Tick),
        (11, Event::Tick),
    ];
    let expected = [Action::Spawn, Action::Rearm, Action::Ask, Action::KillAll];
    assert_eq!(run(KILL, &events), expected);
}

#[test]
fn an_order_that_comes_after_its_deadline_starts_nothing() {
    let events = [
        (1, Event::Order(Order::Renewed(deadlines(5)))),
        (5, Event::Start),
        (5, Event::NotStarted),
    ];
    assert_eq!(run(KILL, &events), [Action::Refuse, Action::Release]);
}

#[test]
fn a_timed_lease_starts_nothing_without_deadlines() {
    let mut ladder = Ladder::new(KILL, true);
    assert_eq!(ladder.step(at(1), Event::Start), Some(Action::Refuse));
}

#[test]
fn no_order_resumes_a_command_whose_time_is_over() {
    let mut ladder = Ladder::new(KILL, true);
    ladder.step(at(1), Event::Order(Order::Renewed(deadlines(5))));
    ladder.step(at(1), Event::Start);
    let resume = Event::Order(Order::pass_on(18));
    assert_eq!(ladder.step(at(9), resume), Some(Action::KillAll));
}

#[test]
fn deadlines_never_go_back_nor_return_once_they_passed() {
    let mut ladder = Ladder::new(KILL, false);
    ladder.step(at(1), Event::Order(Order::Renewed(deadlines(9))));
    ladder.step(at(1), Event::Start);
    assert_eq!(ladder.step(at(2), Event::Order(Order::Renewed(deadlines(8)))), None);
    assert_eq!(ladder.next_tick(), Some(at(9)));
    assert_eq!(
        ladder.step(at(9), Event::Order(Order::Renewed(deadlines(20)))),
        None,
        "before the tick was seen"
    );
    assert_eq!(ladder.step(at(9), Event::Tick), Some(Action::Ask));
    assert_eq!((ladder.next_tick(), ladder.kill_at()), (Some(at(13)), Some(at(13))));
}

#[test]
fn a_lost_leadership_asks_once_and_ends_at_the_earlier_deadline() {
    let mut ladder = Ladder::new(KILL, false);
    ladder.step(at(1), Event::Order(Order::Renewed(deadlines(9))));
    ladder.step(at(1), Event::Start);
    assert_eq!(ladder.step(at(2), Event::Order(Order::Stop { kill_at: at(6) })), Some(Action::Ask));
    assert_eq!(ladder.step(at(3), Event::Order(Order::Stop { kill_at: at(5) })), None);
    assert_eq!(ladder.step(at(4), TERM), Some(AGAIN));
    assert_eq!(ladder.step(at(6), Event::Tick), Some(Action::KillAll));
}

/// A guardian that lives kills sooner than its own death would.
#[test]
fn a_guardian_that_has_killed_once_gets_more_time_to_kill() {
    let mut ladder = Ladder::new(KILL, true);
    ladder.step(at(1), Event::Order(Order::Renewed(deadlines(5))));
    ladder.step(at(1), Event::Start);
    assert_eq!(ladder.step(at(2), Event::Killed), None, "nothing is killed yet");
    assert_eq!(ladder.dead_man(), Some(at(10)));
    assert_eq!(ladder.step(at(9), Event::Tick), Some(Action::KillAll));
    assert_eq!(ladder.dead_man(), Some(at(10)), "a first pass may be the one that is too slow");
    assert_eq!(ladder.step(at(9), Event::Killed), Some(Action::Rearm));
    assert_eq!(ladder.dead_man(), Some(at(11)));
    assert_eq!(ladder.step(at(10), Event::Killed), None, "once is enough");
    ladder.step(at(10), Event::Order(Order::Renewed(deadlines(20))));
    assert_eq!(ladder.dead_man(), Some(at(11)), "it takes no other back");
}

#[test]
fn no_order_reaches_a_tree_that_is_empty() {
    let events = [
        (1, Event::Start),
        (2, Event::Order(Order::Kill)),
        (3, Event::NoChildren),
        (4, TERM),
        (4, Event::Order(Order::Kill)),
        (4, Event::Tick),
    ];
    assert_eq!(run(KILL, &events), [Action::Spawn, Action::KillAll, Action::Release]);
}
