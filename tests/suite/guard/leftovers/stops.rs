//! A command that is told to stop: the rest of its tree keeps the deadline that the command had.

use std::fs;

use elect_testkit::program::{Elect, Running, eventually, is_alive, line_of};
use nix::sys::signal::Signal;

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    a_server_behind_a_shell_ends_in_good_order
    a_daemon_of_the_command_hears_of_the_end_too
    a_deaf_tree_takes_as_long_as_it_may
    a_daemon_that_elect_waits_for_is_handed_over
}

mod when_the_lease_is_lost {
    use super::{Arena, Ground, a_lost_lease_leaves_the_tree_its_grace, on_each_cluster};

    on_each_cluster! { alone:
        a_lost_lease_leaves_the_tree_its_grace
    }
}

/// A shell that dies of TERM at once, before a server that has another process clean up: until there is a file "go".
const SERVER: &str = "sh -c 'clean() { sh -c \"until [ -e $D/go ]; do sleep 0.01; done\" && echo clean >$D/clean; }; \
                      trap \"clean; exit\" TERM; echo $$ >$D/pid; while :; do sleep 0.01; done'; true";
/// A server that has left the group, and hears nothing of what is said to that.
const DAEMON: &str = "setsid sh -c 'trap \"echo clean >\\\"$D/clean\\\"; exit\" TERM; echo $$ >\"$D/pid\"; \
                      while :; do sleep 0.01; done' & until [ -s \"$D/pid\" ]; do sleep 0.01; done; \
                      while :; do sleep 0.01; done";
/// Leaves a daemon, and exits with 0.
const DAEMONIZES: &str = "setsid sh -c 'echo $$ >\"$D/pid\"; exec sleep 3600' & \
                          until [ -s \"$D/pid\" ]; do sleep 0.01; done; echo >>\"$D/starts\"";
const DEAF: &str =
    "(trap '' TERM; echo $(exec sh -c 'echo $PPID') >\"$D/pid\"; exec sleep 3600); true";

/// The cause of a leader's stop.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Signal,
    Resign,
    Pause,
    MaxRun,
    Health,
    Preempt,
    Shard,
}

impl Stop {
    const ALL: [Self; 7] = [
        Self::Signal,
        Self::Resign,
        Self::Pause,
        Self::MaxRun,
        Self::Health,
        Self::Preempt,
        Self::Shard,
    ];

    const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Signal | Self::Resign | Self::Pause | Self::Preempt => &[],
            Self::Shard => &["--shards", "1"],
            Self::MaxRun => &["--max-run", "3s"],
            Self::Health => &[
                "--health-cmd",
                "sh -c '[ ! -s \"$D/pid\" ]'",
                "--health-interval",
                "20ms",
                "--health-threshold",
                "1",
            ],
        }
    }

    const fn exit_code(self) -> i32 {
        match self {
            Self::Signal | Self::MaxRun | Self::Shard => 128 + 15,
            Self::Resign | Self::Pause | Self::Health | Self::Preempt => 124,
        }
    }
}

/// One leader with a tree of its own in its own election.
struct Case<'a> {
    arena: &'a Arena,
    stop: Stop,
    folder: std::path::PathBuf,
}

impl<'a> Case<'a> {
    fn new(arena: &'a Arena, stop: Stop) -> Self {
        let folder = arena.path(&format!("{stop:?}"));
        fs::create_dir(&folder).expect("a folder");
        Self { arena, stop, folder }
    }

    fn election(&self) -> String {
        format!("{:?}", self.stop)
    }

    fn elect(&self) -> Elect {
        let run = self.arena.elect("run").args(["-e", &self.election()]);
        run.args(self.stop.flags()).env("D", &self.folder)
    }

    /// Starts it, and returns the process that the command leaves.
    fn lead(&self, flags: &[&str], script: &str) -> (Running, i32) {
        let elect = self.elect().args(flags).sh(script).spawn();
        (elect, line_of(&self.folder.join("pid")).trim().parse().expect("a number"))
    }

    /// Stops the leader. A process that asks for it waits in the background.
    fn stop(&self, elect: &mut Running) -> Option<Running> {
        let ask = |what| Some(self.arena.elect(what).arg(self.election()).spawn());
        match self.stop {
            Stop::Signal | Stop::Shard => elect.signal(Signal::SIGTERM),
            Stop::Preempt => {
                let better = self.arena.elect("run").args(["-e", &self.election()]);
                return Some(
                    better
                        .args(["--priority", "200", "--preempt", "--preempt-after", "0", "true"])
                        .spawn(),
                );
            }
            Stop::Resign => return ask("resign"),
            Stop::Pause => return ask("pause"),
            Stop::MaxRun | Stop::Health => {}
        }
        None
    }
}

fn a_server_behind_a_shell_ends_in_good_order(arena: &Arena) {
    for stop in Stop::ALL {
        let case = Case::new(arena, stop);
        let (mut elect, server) = case.lead(&["--stop-timeout", "1h"], SERVER);
        let asked = case.stop(&mut elect);
        super::awaits_orphan(server);
        assert!(elect.is_running() && is_alive(server), "{stop:?}");
        fs::write(case.folder.join("go"), "").expect("a flag");
        elect.wait().exits(stop.exit_code());
        assert_eq!(line_of(&case.folder.join("clean")), "clean\n", "{stop:?}");
        if let Some(asked) = asked {
            asked.wait().exits(0);
        }
    }
}

fn a_daemon_of_the_command_hears_of_the_end_too(arena: &Arena) {
    // Without a limit, as it obeys.
    let case = Case::new(arena, Stop::Signal);
    let (mut elect, _) = case.lead(&[], DAEMON);
    case.stop(&mut elect);
    let ended = elect.wait().exits(128 + 15);
    assert!(!ended.stderr.contains("elect: "), "{ended:?}");
    assert_eq!(line_of(&case.folder.join("clean")), "clean\n");
}

fn a_deaf_tree_takes_as_long_as_it_may(arena: &Arena) {
    for stop in [Stop::Signal, Stop::MaxRun] {
        let case = Case::new(arena, stop);
        let (mut elect, deaf) = case.lead(&["--stop-timeout", "500ms"], DEAF);
        case.stop(&mut elect);
        let told = format!(
            "killed sleep (process {deaf}), which did not end within 500ms (--stop-timeout)"
        );
        elect.wait().exits(stop.exit_code()).says(&told);
        assert!(!is_alive(deaf), "{stop:?}");
    }
}

/// Its command has ended with 0 long before.
fn a_daemon_that_elect_waits_for_is_handed_over(arena: &Arena) {
    for stop in [Stop::Resign, Stop::Pause] {
        let case = Case::new(arena, stop);
        let (mut elect, _) = case.lead(&["--leftover", "wait"], DAEMONIZES);
        let asked = case.stop(&mut elect).expect("a caller asks");
        elect.wait().exits(124);
        asked.wait().exits(0);
    }
    // Or waits to lead again.
    let case = Case::new(arena, Stop::Preempt);
    let campaigning = ["--leftover", "wait", "--after-loss", "campaign"];
    let (mut elect, _) = case.lead(&campaigning, DAEMONIZES);
    case.stop(&mut elect).expect("a caller asks").wait().exits(0);
    eventually("a second start", || {
        (fs::read(case.folder.join("starts")).is_ok_and(|starts| starts.len() == 2)).then_some(())
    });
    // The command itself has ended by then.
    eventually("a second daemon without its command", || {
        let pid = fs::read_to_string(case.folder.join("pid")).ok()?;
        super::is_orphan(pid.trim().parse().ok()?)
    });
    elect.ended_by(Signal::SIGTERM).exits(0);
}

/// The shell dies of TERM, and what it leaves has the rest of the grace.
fn a_lost_lease_leaves_the_tree_its_grace(arena: &Arena) {
    let case = Case::new(arena, Stop::Signal);
    let (elect, server) = case.lead(&["--ttl", "9s", "-k", "3s"], SERVER);
    let silence = arena.silence();
    super::awaits_orphan(server);
    fs::write(case.folder.join("go"), "").expect("a flag");
    eventually("a clean end", || case.folder.join("clean").exists().then_some(()));
    drop(silence);
    elect.wait().exits(124).says("leadership is lost");
}
