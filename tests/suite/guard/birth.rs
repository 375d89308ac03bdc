//! The moments between the fork of the command and its exec, stretched by `strace`. If processes are killed then, the
//! command is gone before the next one starts. With a pid namespace a door is forked first, which forks two more.

use elect_testkit::program::{eventually, is_alive};
use nix::sys::signal::Signal;

use crate::stage::{CALLS, Stage, newborn, send_if_alive, stretched};

/// The system calls that only a door makes.
const CALLS_OF_A_DOOR: [&str; 2] = ["unshare", "clone3"];

/// Kills some of wrapper, guardian and command or door (in this order), when the latter was just forked.
fn kill_at_birth(victims: [bool; 3]) {
    kill_in("scan", &CALLS, victims);
}

fn kill_in(containment: &str, calls: &[&str], victims: [bool; 3]) {
    for call in calls {
        println!("{containment}: in {call}");
        let stage = Stage::new();
        let flags = ["--containment", containment];
        let mut a =
            stage.run_with(&flags, &stage.stamper("A").children(1)).under(stretched(call)).spawn();
        let newborn = newborn(a.pid());
        // The guardian before the wrapper: it is the one that could still act.
        for place in [1, 0, 2] {
            if victims[place] {
                send_if_alive(newborn[place], Signal::SIGKILL);
            }
        }
        stage.run(&stage.brief("B")).run().exits(0);
        let runs = stage.oracle.assert_sound();
        assert!(runs.last().is_some_and(|run| run.tag == "B"), "{runs:?}");
        assert_eq!(stage.oracle.living(), [0; 0]);
        eventually("the end of all", || newborn.iter().all(|&pid| !is_alive(pid)).then_some(()));
        assert_ne!(a.wait().code(), 0);
        assert_eq!(stage.queue(), [0; 0]);
    }
}

#[test]
fn a_guardian_killed_at_the_birth_of_the_command_takes_it_along() {
    kill_at_birth([false, true, false]);
}

#[test]
fn a_wrapper_killed_at_the_birth_of_the_command_takes_it_along() {
    kill_at_birth([true, false, false]);
}

#[test]
fn wrapper_and_guardian_killed_at_the_birth_of_the_command_take_it_along() {
    kill_at_birth([true, true, false]);
}

#[test]
fn a_command_killed_at_its_birth_lets_the_next_start() {
    kill_at_birth([false, false, true]);
}

#[test]
fn a_kill_at_the_birth_in_a_namespace_leaves_no_command() {
    for victims in [[false, true, false], [true, false, false], [true, true, false]] {
        kill_in("pidns", &CALLS, victims);
        kill_in("pidns", &CALLS_OF_A_DOOR, victims);
    }
}

/// Its guardian cannot know what it has forked, and ends with all of that.
#[test]
fn a_door_killed_at_its_work_lets_the_next_start() {
    kill_in("pidns", &["prctl", "unshare", "clone3"], [false, false, true]);
}
