//! A leads, B waits; wrapper and guardian of A are killed and stopped in every combination. The
//! oracle sees every process of A's tree.

use elect_testkit::oracle::{Flag, Run};

use crate::prelude::*;
use crate::stage::{Stage, send, send_if_alive, stop, tell};

const KILL: Signal = Signal::SIGKILL;
const CONT: Signal = Signal::SIGCONT;

/// A leads with a tree of five, B waits.
struct Duel {
    stage: Stage,
    end: Flag,
    a: Running,
    run: Run,
    wrapper: i32,
    guardian: i32,
    b: Running,
}

impl Duel {
    fn start() -> Self {
        Self::of(|stamper| stamper.children(2).depth(2))
    }

    fn of(tree: impl Fn(Stamper) -> Stamper) -> Self {
        let stage = Stage::new();
        let end = stage.oracle.flag("end");
        let (mut a, run) = stage.lead(&[], &tree(stage.stamper("A").until(&end)), "A");
        let b = stage.wait_in_line(&stage.brief("B"), 0);
        let (wrapper, guardian) = (a.pid(), a.guardian());
        Self { stage, end, a, run, wrapper, guardian, b }
    }

    /// Asserts that A's tree goes on for some time, and that B waits until it is dead. If A's wrapper is gone, the
    /// kernel continues a stopped guardian, as its process group is orphaned then. No process of elect could.
    fn goes_on(&self) {
        self.stage.oracle.wait_for_stamps("A", Duration::from_millis(20));
        let has_followed = self.stage.oracle.newest("B").is_some();
        let is_alive = self.stage.oracle.newest("A").is_some_and(|run| run.is_alive());
        assert!(!(has_followed && is_alive), "B started beside A");
    }

    /// B runs to its end, and never beside A. Returns A's exit code and how long after `at` B came.
    fn ends(self, at: Boottime) -> (i32, Duration) {
        self.b.wait().exits(0);
        let runs = self.stage.assert_runs(&["A", "B"]);
        assert!(!runs[0].is_alive(), "{} is not gone", runs[0]);
        let code = self.a.wait().code();
        assert_eq!(self.stage.queue(), [0; 0]);
        (code, runs[1].first.since(at))
    }
}

/// Kills something of A's; returns how soon B followed.
fn follow(kill: impl Fn(&Duel)) -> Duration {
    let duel = Duel::start();
    let at = now();
    kill(&duel);
    let (code, soon) = duel.ends(at);
    assert_ne!(code, 0);
    soon
}

/// The same with `flock(1)`, which does not kill its command: it is killed with it.
fn follow_flock() -> Duration {
    let stage = Stage::new();
    let lock = stage.ground.path().join("lock");
    let flock = |stamper: &Stamper| {
        let mut command = Command::new("flock");
        command.arg(&lock).args(stamper.command()).stdin(Stdio::null());
        Running::new(command.spawn().expect("flock(1)"))
    };
    let mut a = flock(&stage.stamper("A").token(1).children(2).depth(2));
    let run = stage.oracle.wait_for_run("A");
    let mut b = flock(&stage.brief("B").token(2));
    let waiting = format!(" {} ", b.pid());
    eventually("flock to wait", || {
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().any(|line| line.contains("->") && line.contains(&waiting)).then_some(())
    });
    let at = now();
    a.signal(KILL);
    run.processes.iter().for_each(|process| send_if_alive(process.pid, KILL));
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"])[1].first.since(at)
}

fn median(mut times: [Duration; 5]) -> Duration {
    times.sort();
    times[2]
}

#[test]
fn after_a_kill_of_wrapper_or_guardian_the_next_starts_soon() {
    let measure = |one: &dyn Fn() -> Duration| median([(); 5].map(|()| one()));
    let flock = measure(&follow_flock);
    println!("from the kill to the next command's first stamp, median of 5:");
    println!("  flock(1), killed with its command  {flock:>9.2?}");
    let both = |first: fn(&Duel) -> i32, second: fn(&Duel) -> i32| {
        move || {
            follow(|duel| {
                send(first(duel), KILL);
                send_if_alive(second(duel), KILL);
            })
        }
    };
    let (wrapper, guardian) = (|duel: &Duel| duel.wrapper, |duel: &Duel| duel.guardian);
    for (what, one) in [
        ("wrapper", &(|| follow(|duel| send(duel.wrapper, KILL))) as &dyn Fn() -> Duration),
        ("guardian", &|| follow(|duel| send(duel.guardian, KILL))),
        ("wrapper, then guardian", &both(wrapper, guardian)),
        ("guardian, then wrapper", &both(guardian, wrapper)),
    ] {
        let soon = measure(one);
        let ratio = soon.as_secs_f64() / flock.as_secs_f64();
        println!("  elect, {what:<27} {soon:>9.2?}  {ratio:.2} x flock");
    }
}

/// The kernel releases a dead guardian's descriptors from the highest number down. So the mark goes first, and then the
/// lock. The next candidate sleeps on the entry in the queue.
#[test]
fn the_guardians_descriptors_have_the_order_in_which_the_lease_ends() {
    let duel = Duel::start();
    let election = duel.stage.ground.state().join("job");
    let open = fs::read_dir(format!("/proc/{}/fd", duel.guardian)).unwrap().flatten();
    let mut files: Vec<(i32, PathBuf)> = open
        .filter_map(|open| {
            let path = fs::read_link(open.path()).ok()?;
            let path = path.strip_prefix(&election).ok()?.to_owned();
            Some((open.file_name().to_str()?.parse().ok()?, path))
        })
        .collect();
    files.sort();
    let names: Vec<_> = files.iter().map(|(_, path)| path.iter().next().unwrap()).collect();
    assert_eq!(names, ["queue", "lock", "tree"]);
    duel.end.raise();
    assert_eq!(duel.ends(now()).0, 0);
}

#[test]
fn a_wrapper_that_is_stopped_and_goes_on_makes_no_difference() {
    let duel = Duel::start();
    stop(duel.wrapper);
    duel.goes_on();
    send(duel.wrapper, CONT);
    duel.goes_on();
    duel.end.raise();
    assert_eq!(duel.ends(now()).0, 0);
}

#[test]
fn a_command_that_ends_while_the_wrapper_is_stopped_keeps_its_exit_code() {
    let duel = Duel::of(|stamper| stamper.children(2).code(7));
    stop(duel.wrapper);
    duel.end.raise();
    duel.stage.oracle.wait_for_end("A");
    send(duel.wrapper, CONT);
    assert_eq!(duel.ends(now()).0, 7);
}

#[test]
fn a_guardian_that_is_stopped_and_goes_on_makes_no_difference() {
    let duel = Duel::start();
    stop(duel.guardian);
    duel.goes_on();
    send(duel.guardian, CONT);
    duel.goes_on();
    duel.end.raise();
    assert_eq!(duel.ends(now()).0, 0);
}

#[test]
fn a_command_that_ends_while_the_guardian_is_stopped_keeps_its_exit_code() {
    let duel = Duel::of(|stamper| stamper.children(2).code(7));
    stop(duel.guardian);
    duel.end.raise();
    duel.stage.oracle.wait_for_end("A");
    send(duel.guardian, CONT);
    assert_eq!(duel.ends(now()).0, 7);
}

#[test]
fn a_signal_to_the_wrapper_of_a_stopped_guardian_is_kept_for_it() {
    let duel = Duel::start();
    stop(duel.guardian);
    send(duel.wrapper, Signal::SIGTERM);
    duel.goes_on();
    send(duel.guardian, CONT);
    assert_eq!(duel.ends(now()).0, 128 + 15);
}

/// More than the socket between them has room for.
#[test]
fn a_flood_of_signals_for_a_stopped_guardian_does_not_drown_the_last() {
    let duel = Duel::start();
    stop(duel.guardian);
    for _ in 0..600 {
        tell(duel.wrapper, Signal::SIGWINCH);
    }
    tell(duel.wrapper, Signal::SIGTERM);
    duel.goes_on();
    send(duel.guardian, CONT);
    assert_eq!(duel.ends(now()).0, 128 + 15);
}

/// The kernel continues the guardian, as its group is orphaned. If an heir in the same session keeps the kernel from
/// that, guardian and tree hold the lock until another process continues it.
#[test]
fn a_stopped_guardian_whose_wrapper_is_killed_sees_the_tree_out() {
    let duel = Duel::start();
    stop(duel.guardian);
    send(duel.wrapper, KILL);
    duel.goes_on();
    send_if_alive(duel.guardian, CONT);
    assert_eq!(duel.ends(now()).0, 128 + 9);
}

/// The kernel kills the command's group when the guardian dies. No process of elect could act here.
#[test]
fn a_guardian_killed_while_its_wrapper_is_stopped_takes_the_tree_along() {
    let duel = Duel::start();
    stop(duel.wrapper);
    send(duel.guardian, KILL);
    duel.stage.oracle.wait_for_end("A");
    send(duel.wrapper, CONT);
    assert_ne!(duel.ends(now()).0, 0);
}

#[test]
fn a_tree_that_closed_its_descriptors_is_killed_while_the_wrapper_is_stopped() {
    let duel = Duel::of(|stamper| stamper.children(2).depth(2).closing_descriptors());
    stop(duel.wrapper);
    send(duel.guardian, KILL);
    duel.stage.oracle.wait_for_end("A");
    send(duel.wrapper, CONT);
    assert_ne!(duel.ends(now()).0, 0);
}

/// Neither gets to act: only what the kernel does for the dead is left.
#[test]
fn wrapper_and_guardian_killed_while_both_are_stopped_take_the_tree_along() {
    for wrapper_first in [true, false] {
        let duel = Duel::start();
        stop(duel.wrapper);
        stop(duel.guardian);
        let both = [duel.wrapper, duel.guardian];
        let at = now();
        send(both[usize::from(!wrapper_first)], KILL);
        send_if_alive(both[usize::from(wrapper_first)], KILL);
        assert_eq!(duel.ends(at).0, 128 + 9);
    }
}

/// The death-pipe does not reach it: the command itself still dies with its parent.
#[test]
fn a_command_that_left_its_group_dies_with_wrapper_and_guardian() {
    for tree in [Stamper::joining_its_parents_group, Stamper::closing_descriptors] {
        let duel = Duel::of(tree);
        stop(duel.wrapper);
        stop(duel.guardian);
        send(duel.guardian, KILL);
        send(duel.wrapper, KILL);
        assert_eq!(duel.ends(now()).0, 128 + 9);
    }
}

#[test]
fn the_whole_tree_stopped_and_killed_with_its_wrapper_is_gone_before_the_next() {
    for victim in [0, 1] {
        let duel = Duel::start();
        duel.run.processes.iter().for_each(|process| stop(process.pid));
        send([duel.wrapper, duel.guardian][victim], KILL);
        assert_ne!(duel.ends(now()).0, 0);
    }
}
