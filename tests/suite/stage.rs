//! The shared parts of the tests of faults and contention: commands that stamp, and a look at the queue.

use elect_testkit::oracle::Run;
use elect_testkit::program::{children, name};
use nix::sys::signal::kill;

use crate::prelude::*;

/// A state directory and an oracle.
pub(crate) struct Stage {
    pub(crate) ground: Ground,
    pub(crate) oracle: Oracle,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { ground: Ground::new(), oracle: Oracle::new() }
    }

    pub(crate) fn stamper(&self, tag: &str) -> Stamper {
        self.oracle.stamper(tag)
    }

    /// A stamper that ends by itself, soon.
    pub(crate) fn brief(&self, tag: &str) -> Stamper {
        self.stamper(tag).children(1).lasting(Duration::from_millis(3))
    }

    /// `elect run` of a stamper in the election "job".
    pub(crate) fn run(&self, stamper: &Stamper) -> Elect {
        self.run_with(&[], stamper)
    }

    pub(crate) fn run_with(&self, flags: &[&str], stamper: &Stamper) -> Elect {
        self.ground.run().args(flags).arg("--").args(stamper.command())
    }

    /// Starts a stamper and waits until all of its processes run.
    #[track_caller]
    pub(crate) fn lead(&self, flags: &[&str], stamper: &Stamper, tag: &str) -> (Running, Run) {
        let running = self.run_with(flags, stamper).spawn();
        let run = self.oracle.wait_for_run(tag);
        (running, run)
    }

    /// Starts a stamper and waits until it stands in the queue behind so many.
    #[track_caller]
    pub(crate) fn wait_in_line(&self, stamper: &Stamper, behind: usize) -> Running {
        let mut running = self.run(stamper).spawn();
        let pid = running.pid();
        eventually("a place in the queue", || {
            let queue = self.queue();
            (queue.len() == behind + 1 && queue.last() == Some(&pid)).then_some(())
        });
        running
    }

    /// The process ids of those who wait, as `elect status` shows them, the next to lead first.
    #[track_caller]
    pub(crate) fn queue(&self) -> Vec<i32> {
        let ended = self.ground.elect("status").args(["-o", "json", "job"]).run();
        let report: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr));
        let waiting = report["elections"][0]["waiting"].as_array().expect("a list");
        let pid = |waiting: &Value| waiting["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        waiting.iter().map(|waiting| pid(waiting).expect("a process id")).collect()
    }

    /// Waits until so many stand in the queue.
    #[track_caller]
    pub(crate) fn wait_for_queue(&self, length: usize) -> Vec<i32> {
        eventually(&format!("{length} in the queue"), || {
            Some(self.queue()).filter(|queue| queue.len() == length)
        })
    }

    /// Asserts that the promise was kept, and which runs there were, in this order.
    #[track_caller]
    pub(crate) fn assert_runs(&self, tags: &[&str]) -> Vec<Run> {
        let runs = self.oracle.assert_sound();
        assert_eq!(runs.iter().map(|run| run.tag.as_str()).collect::<Vec<_>>(), tags);
        runs
    }
}

/// Sends a signal to a process that lives.
#[track_caller]
pub(crate) fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).expect("it lives");
}

/// Sends a signal to a process that may be gone by now.
pub(crate) fn send_if_alive(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// What the command's process calls between its fork and its exec, and wrapper and guardian call before.
pub(crate) const CALLS: [&str; 5] = ["setpgid", "fcntl", "prctl", "rt_sigprocmask", "execve"];

/// The words under which each process of elect spends 0.2 s in its first one of these calls.
pub(crate) fn stretched(call: &str) -> [String; 9] {
    let (trace, inject) =
        (format!("trace={call}"), format!("inject={call}:delay_enter=200000:when=1"));
    ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject].map(str::to_owned)
}

/// Waits until the guardian of the elect under this tracer has forked: wrapper, guardian, and its child.
#[track_caller]
pub(crate) fn newborn(tracer: i32) -> [i32; 3] {
    eventually("a command that was forked", || {
        let wrapper = *children(tracer).first()?;
        let mut below = children(wrapper).into_iter();
        let guardian = below.find(|&pid| name(pid).as_deref() == Some("elect-guardian"))?;
        Some([wrapper, guardian, *children(guardian).first()?])
    })
}

/// Stops a process, and waits until it is.
#[track_caller]
pub(crate) fn stop(pid: i32) {
    send(pid, Signal::SIGSTOP);
    eventually("a process to stop", || {
        (elect_testkit::program::state(pid) == Some('T')).then_some(())
    });
}

/// Sends a signal to a wrapper, and waits until it has read it: pending ones of a kind are one.
#[track_caller]
pub(crate) fn tell(wrapper: i32, signal: Signal) {
    send(wrapper, signal);
    eventually("a signal to be read", || {
        let status = fs::read_to_string(format!("/proc/{wrapper}/status")).ok()?;
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"))?;
        let pending = u64::from_str_radix(pending.trim(), 16).ok()?;
        (pending & (1 << (signal as u32 - 1)) == 0).then_some(())
    });
}

/// `count` contenders at once: each runs once, one at a time, tokens rise, in order of arrival.
#[track_caller]
pub(crate) fn contend(count: usize) -> Vec<Run> {
    let stage = Stage::new();
    let end = stage.oracle.flag("end");
    let (first, _) = stage.lead(&[], &stage.stamper("first").until(&end), "first");
    let contenders: Vec<(String, i32, Running)> = (0..count)
        .map(|number| {
            let tag = format!("c{number}");
            let mut running = stage.run(&stage.brief(&tag)).spawn();
            (tag, running.pid(), running)
        })
        .collect();
    let queue = stage.wait_for_queue(count);
    let tag_of = |pid: &i32| contenders.iter().find(|(_, other, _)| other == pid);
    let mut order = vec!["first".to_owned()];
    order.extend(queue.iter().filter_map(tag_of).map(|(tag, ..)| tag.clone()));
    end.raise();
    first.wait().exits(0);
    for (.., contender) in contenders {
        contender.wait().exits(0);
    }
    assert_eq!(stage.queue(), [0; 0]);
    stage.assert_runs(&order.iter().map(String::as_str).collect::<Vec<_>>())
}
