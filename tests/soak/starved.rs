//! A candidate that gets next to nothing of a processor.

use std::process::{Command, Stdio};

use elect_testkit::fault::Cgroup;
use elect_testkit::program::Running;

/// They share a processor with it.
const SPINNERS: usize = 20;
const NICE: &str = "19";

/// All of a candidate is on one processor among those that spin, none of them nicer than another.
#[derive(Debug)]
pub(crate) struct Starved {
    _spinners: Vec<Running>,
}

impl Starved {
    /// Starves the processes of this cgroup, and all that they start from now on.
    pub(crate) fn of(cgroup: &Cgroup) -> Self {
        let starved = Self { _spinners: (0..SPINNERS).map(|_| spin()).collect() };
        treat(cgroup, "0", NICE);
        starved
    }

    /// They have all processors for themselves again.
    pub(crate) fn feed(self, cgroup: &Cgroup) {
        drop(self);
        let last = std::thread::available_parallelism().map_or(0, |count| count.get() - 1);
        treat(cgroup, &format!("0-{last}"), "0");
    }
}

/// Ignores processes that end meanwhile.
fn treat(cgroup: &Cgroup, processors: &str, nice: &str) {
    for pid in cgroup.processes() {
        let pid = pid.to_string();
        run("taskset", &["-acp", processors, &pid]);
        run("renice", &["-n", nice, "-p", &pid]);
    }
}

fn run(program: &str, words: &[&str]) {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap_or_else(|_| panic!("{program} runs: apt-get install util-linux"));
}

fn spin() -> Running {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "taskset", "-c", "0", "nice", "-n", NICE]);
    command.args(["sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
    Running::new(command.spawn().expect("setpriv runs: apt-get install util-linux"))
}
