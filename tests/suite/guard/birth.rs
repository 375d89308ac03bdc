//! The moments between the fork of the command and its exec, stretched by `strace`. If processes are killed then, the
//! command is gone before the next one starts. With a pid namespace a door is forked first, which forks two more.

use elect_testkit::program::{children, eventually, is_alive, name};
use nix::sys::signal::Signal;

use crate::stage::{Stage, send_if_alive};

/// The system calls that the command's process makes on its way, and that wrapper and guardian make before. Each
/// process spends this long, in microseconds, in its first one.
const CALLS: [&str; 5] = ["setpgid", "fcntl", "prctl", "rt_sigprocmask", "execve"];
const DELAY: u32 = 200_000;
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
        let (trace, inject) =
            (format!("trace={call}"), format!("inject={call}:delay_enter={DELAY}:when=1"));
        let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
        let flags = ["--containment", containment];
        let mut a = stage.run_with(&flags, &stage.stamper("A").children(1)).under(strace).spawn();
        let tracer = a.pid();
        let newborn = eventually("a command that was forked", || {
            let wrapper = *children(tracer).first()?;
            let mut below = children(wrapper).into_iter();
            let guardian = below.find(|&pid| name(pid).as_deref() == Some("elect-guardian"))?;
            Some([wrapper, guardian, *children(guardian).first()?])
        });
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
fn whoever_is_killed_at_the_birth_in_a_namespace_the_command_is_gone() {
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
