//! Commands that are hard to be rid of: gone all the same before the next one starts.

use elect_testkit::oracle::{Flag, Run};

use crate::prelude::*;
use crate::stage::{Stage, send, send_if_alive, stop};

/// The cause of the command's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Its main process ends and leaves the others running.
    Itself,
    /// TERM to the wrapper, with `--stop-timeout`.
    Term,
    /// TERM to wrapper, guardian and all of the tree, as systemd and `docker stop` may send it.
    TermToAll,
    KilledWrapper,
    KilledGuardian,
}

impl By {
    /// Returns elect's possible exit codes then.
    fn exit_codes(self) -> &'static [i32] {
        match self {
            Self::Itself => &[0],
            Self::Term | Self::TermToAll => &[128 + 15, 128 + 9],
            Self::KilledWrapper => &[128 + 9],
            Self::KilledGuardian => &[125],
        }
    }
}

type Tree = fn(Stamper) -> Stamper;

fn kinds(by: By) -> [(&'static str, Tree); 7] {
    let stops: Tree = match by {
        By::Itself => |it| it.children(2).depth(2).others_stopped(),
        _ => |it| it.children(2).depth(2).stopped(),
    };
    let all: Tree = match by {
        By::Itself => |it| worst(it).others_stopped(),
        _ => |it| worst(it).stopped(),
    };
    [
        ("daemons", |it| it.daemons(2)),
        ("deaf to TERM", |it| it.children(2).depth(2).deaf()),
        ("stopped", stops),
        ("descriptors closed", |it| it.children(2).daemons(2).closing_descriptors()),
        ("groups of their own", |it| it.children(1).groups(2)),
        ("another group", |it| it.joining_its_parents_group().children(1)),
        ("all of that", all),
    ]
}

fn worst(stamper: Stamper) -> Stamper {
    stamper.children(2).depth(2).daemons(2).groups(2).closing_descriptors().deaf()
}

fn ends_before_the_next(by: By) {
    for (kind, tree) in kinds(by) {
        println!("{by:?}: {kind}");
        let stage = Stage::new();
        let end = stage.oracle.flag("end");
        let stamper = tree(stage.stamper("A").until(&end).leaving());
        let (mut a, run) = stage.lead(&["--stop-timeout", "50ms"], &stamper, "A");
        let b = stage.wait_in_line(&stage.brief("B"), 0);
        if kind == "stopped" || kind == "all of that" {
            Oracle::wait_for_stop(&run.others());
        }
        match by {
            By::Itself => end.raise(),
            By::Term => a.signal(Signal::SIGTERM),
            By::TermToAll => {
                let ours = [a.pid(), a.guardian()].into_iter();
                for pid in ours.chain(run.processes.iter().map(|process| process.pid)) {
                    send_if_alive(pid, Signal::SIGTERM);
                }
            }
            By::KilledWrapper => a.signal(Signal::SIGKILL),
            By::KilledGuardian => send(a.guardian(), Signal::SIGKILL),
        }
        b.wait().exits(0);
        let runs = stage.assert_runs(&["A", "B"]);
        assert_eq!(runs[0].processes.len(), stamper.processes());
        assert!(!runs[0].is_alive(), "{} is not gone", runs[0]);
        let code = a.wait().code();
        assert!(by.exit_codes().contains(&code), "exit code {code}");
    }
}

#[test]
fn leftovers_of_a_command_are_gone_before_the_next() {
    ends_before_the_next(By::Itself);
}

#[test]
fn a_command_told_to_end_in_vain_is_gone_before_the_next() {
    ends_before_the_next(By::Term);
}

#[test]
fn a_command_told_to_end_with_all_around_it_is_gone_before_the_next() {
    ends_before_the_next(By::TermToAll);
}

#[test]
fn a_command_whose_wrapper_is_killed_is_gone_before_the_next() {
    ends_before_the_next(By::KilledWrapper);
}

#[test]
fn a_command_whose_guardian_is_killed_is_gone_before_the_next() {
    ends_before_the_next(By::KilledGuardian);
}

/// A stopped process does not see TERM before it goes on.
#[test]
fn a_stopped_command_that_is_told_to_end_goes_on_to_its_end() {
    let stage = Stage::new();
    let (mut a, run) = stage.lead(&[], &stage.stamper("A").children(2).stopped(), "A");
    Oracle::wait_for_stop(&run.processes);
    let b = stage.wait_in_line(&stage.brief("B"), 0);
    a.signal(Signal::SIGTERM);
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"]);
    a.wait().exits(128 + 15);
}

/// A's command is dead and the rest of its tree lives: B leads once that has ended.
pub(crate) fn leftovers_are_awaited(stage: &Stage, a: Running, b: Running, end: &Flag) {
    let run = stage.oracle.wait_for_stamps("A", Duration::from_millis(30));
    assert!(!run.main().is_alive && run.others().iter().all(|process| process.is_alive));
    assert!(stage.oracle.newest("B").is_none(), "B did not wait");
    end.raise();
    a.wait().exits(128 + 9);
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"]);
}

/// The lease is kept as long as anything of the command runs, wherever it went.
#[test]
fn leftovers_are_awaited_where_that_is_asked_for() {
    let stage = Stage::new();
    let end = stage.oracle.flag("end");
    let stamper = stage.stamper("A").daemons(1).groups(1).children(1).until(&end);
    let (a, run) = stage.lead(&["--leftover", "wait"], &stamper, "A");
    let b = stage.wait_in_line(&stage.brief("B"), 0);
    send(run.main().pid, Signal::SIGKILL);
    leftovers_are_awaited(&stage, a, b, &end);
}

/// Counts the living processes. A process that left the group survives the death of both wrapper and guardian. It
/// inherited the lock, so no other candidate leads as long as it lives.
fn alive(run: &Run) -> usize {
    run.processes.iter().filter(|process| process.is_alive).count()
}

#[test]
fn an_escaper_without_a_living_guardian_keeps_the_lock() {
    for escapers in [|it: Stamper| it.daemons(2), |it: Stamper| it.groups(2)] {
        let stage = Stage::new();
        let end = stage.oracle.flag("end");
        let stamper = escapers(stage.stamper("A").children(2).until(&end));
        let (mut a, _) = stage.lead(&[], &stamper, "A");
        let b = stage.wait_in_line(&stage.brief("B"), 0);
        let (wrapper, guardian) = (a.pid(), a.guardian());
        stop(wrapper);
        stop(guardian);
        send(guardian, Signal::SIGKILL);
        send(wrapper, Signal::SIGKILL);
        let living = || stage.oracle.newest("A").filter(|run| alive(run) == 2);
        eventually("the others' death", || living().map(drop));
        let run = stage.oracle.wait_for_stamps("A", Duration::from_millis(50));
        assert_eq!(alive(&run), 2, "{run}");
        assert!(stage.oracle.newest("B").is_none(), "B started beside {run}");
        end.raise();
        b.wait().exits(0);
        stage.assert_runs(&["A", "B"]);
    }
}
