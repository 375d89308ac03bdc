//! A command in a cgroup of its own.

use elect_testkit::program::is_alive;

use super::Runner;
use crate::prelude::*;
use crate::stage::{send, stop};
use crate::usage::STAY;

impl Runner {
    /// The cgroups that elect has made.
    fn cgroups(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.cgroup.folder()).unwrap().flatten();
        all.filter(|entry| entry.file_type().unwrap().is_dir()).map(|entry| entry.path()).collect()
    }

    fn leads_in_a_cgroup(&self, flags: &[&str], script: &str) -> Running {
        let leader = self.run().args(["--containment", "cgroup"]).args(flags).sh(script).spawn();
        elect_testkit::program::line_of(&self.path("started"));
        leader
    }
}

#[test]
fn it_is_removed_however_the_run_ends() {
    for runner in [Runner::root(), Runner::ordinary()] {
        runner.run().args(["--containment", "cgroup"]).sh("exit 7").run().exits(7).is_silent();
        assert!(runner.cgroups().is_empty());
        for victim in 0..3 {
            let mut leader = runner.leads_in_a_cgroup(&[], STAY);
            assert_eq!(runner.cgroups().len(), 1);
            match victim {
                0 => leader.signal(Signal::SIGTERM),
                1 => leader.signal(Signal::SIGKILL),
                _ => send(leader.guardian(), Signal::SIGKILL),
            }
            leader.wait();
            eventually("the end of the cgroup", || runner.cgroups().is_empty().then_some(()));
            fs::remove_file(runner.path("started")).unwrap();
        }
    }
}

#[test]
fn cgroups_of_the_dead_are_removed_by_the_next_and_no_others() {
    let runner = Runner::ordinary();
    let mut leader = runner.leads_in_a_cgroup(&[], STAY);
    let (left, mut waiters) = (runner.cgroups(), Vec::new());
    for waiting in 1..=2 {
        waiters.push(runner.run().args(["--containment", "cgroup", "true"]).spawn());
        eventually("a waiter's cgroup", || (runner.cgroups().len() == 1 + waiting).then_some(()));
    }
    let (wrapper, guardian) = (leader.pid(), leader.guardian());
    [wrapper, guardian].into_iter().for_each(stop);
    send(guardian, Signal::SIGKILL);
    send(wrapper, Signal::SIGKILL);
    leader.wait().exits(128 + 9);
    for waiter in waiters {
        waiter.wait().exits(0);
    }
    // No run came since that could have removed them.
    assert_eq!(runner.cgroups(), left);
    let other = runner.cgroup.folder().join("elect-of-somebody-else");
    fs::create_dir(&other).unwrap();
    runner.run().args(["--containment", "cgroup", "true"]).run().exits(0).is_silent();
    assert_eq!(runner.cgroups(), std::slice::from_ref(&other));
    fs::remove_dir(other).unwrap();
}

#[test]
fn a_process_moved_into_the_cgroup_is_killed_with_it() {
    let runner = Runner::root();
    let mut foreign = Running::new(Command::new("sleep").arg("3600").spawn().unwrap());
    let leader = runner.leads_in_a_cgroup(
        &[],
        "echo >\"$D/started\"; until [ -e \"$D/go\" ]; do sleep 0.01; done",
    );
    fs::write(runner.cgroups()[0].join("cgroup.procs"), foreign.pid().to_string()).unwrap();
    fs::write(runner.path("go"), "").unwrap();
    leader.wait().exits(0);
    assert!(!is_alive(foreign.pid()));
    foreign.wait().exits(128 + 9);
}

#[test]
fn a_process_moved_into_the_cgroup_is_awaited_on_request() {
    let runner = Runner::root();
    let mut foreign = Running::new(Command::new("sleep").arg("3600").spawn().unwrap());
    let script = "echo $$ >\"$D/started\"; until [ -e \"$D/go\" ]; do sleep 0.01; done";
    let mut leader = runner.leads_in_a_cgroup(&["--leftover", "wait"], script);
    let command: i32 = fs::read_to_string(runner.path("started")).unwrap().trim().parse().unwrap();
    fs::write(runner.cgroups()[0].join("cgroup.procs"), foreign.pid().to_string()).unwrap();
    fs::write(runner.path("go"), "").unwrap();
    eventually("the command's end", || {
        elect_testkit::program::state(command).is_none().then_some(())
    });
    runner.run().args(["-n", "true"]).run().exits(75);
    assert!(leader.is_running() && is_alive(foreign.pid()));
    foreign.ended_by(Signal::SIGTERM).exits(128 + 15);
    leader.wait().exits(0);
}

#[test]
fn cgroups_that_the_command_made_below_are_killed_and_removed() {
    let runner = Runner::root();
    let script = "own=$(echo \"$C\"/elect-run-*); mkdir \"$own/below\"; sleep 3600 >/dev/null 2>&1 & \
                  echo $! >\"$own/below/cgroup.procs\"; echo $! >\"$D/started\"";
    let run = runner.run().args(["--containment", "cgroup"]).env("C", runner.cgroup.folder());
    run.sh(script).run().exits(0).says("the command left sleep");
    let left: i32 = fs::read_to_string(runner.path("started")).unwrap().trim().parse().unwrap();
    assert!(!is_alive(left));
    assert!(runner.cgroups().is_empty());
}
