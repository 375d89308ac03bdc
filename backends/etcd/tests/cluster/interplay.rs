//! Tests of one queue shared with the programs that come with etcd.

use elect_api::Scope;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use elect_testkit::program::eventually;
use elect_testkit::run;
use elect_testkit::servers::Etcd;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Runner, job};

/// A program that runs until it gets a signal, or is dropped.
struct Other {
    program: Child,
    words: BufReader<ChildStdout>,
}

impl Other {
    fn start(etcd: &Etcd, words: &[&str]) -> Self {
        let mut command = etcd.etcdctl();
        let mut program = command.args(words).stdout(Stdio::piped()).spawn().expect("etcdctl runs");
        let words = BufReader::new(program.stdout.take().expect("its words"));
        Self { program, words }
    }

    /// Waits until the program reports that it leads.
    fn await_win(&mut self, election: &str) {
        let mut line = String::new();
        self.words.read_line(&mut line).expect("its words");
        assert!(line.starts_with(&format!("{election}/")), "{line:?} is no key");
    }

    fn interrupt(&mut self) {
        let pid = Pid::from_raw(self.program.id().cast_signed());
        kill(pid, Signal::SIGINT).expect("it lives");
        eventually("etcdctl to end", || self.program.try_wait().ok().flatten());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

async fn takes_turns_with(words: &[&str], shown: Option<&str>) {
    let etcd = Etcd::start(1);
    let mut other = Other::start(&etcd, words);
    other.await_win("elect/job");
    let mut ours = Runner::new(&etcd.url(), "ours").await;
    let wake = ours.wait_behind(1).await;
    let leader = ours.survey().await.leader.expect("the other leads").entry.candidate;
    assert!(!leader.id.is_empty() && shown.is_none_or(|shown| leader.id == shown), "{leader:?}");
    other.interrupt();
    wake.await;
    let token = ours.lead().await;

    let mut other = Other::start(&etcd, words);
    while ours.line_up().await.len() < 2 {}
    assert_eq!(ours.lead().await, token);
    ours.seat.resign(None).await.expect("a resign");
    other.await_win("elect/job");
    let _wake = ours.wait_behind(1).await;
}

#[test]
fn it_takes_turns_with_etcdctl_elect() {
    run("interplay", takes_turns_with(&["elect", "elect/job", "host-7"], Some("host-7")));
}

#[test]
fn it_takes_turns_with_etcdctl_lock() {
    run("interplay", takes_turns_with(&["lock", "elect/job"], None));
}

#[test]
fn programs_with_another_layout_are_met_by_a_prefix() {
    run("interplay", async {
        let etcd = Etcd::start(1);
        for (name, option) in
            [("/job", "?prefix=/"), ("job", "?prefix="), ("app-job", "?prefix=app-")]
        {
            let mut other = Other::start(&etcd, &["elect", name, "other"]);
            other.await_win(name);
            let url = format!("{}{option}", etcd.url());
            let mut ours = Runner::new(&url, "ours").await;
            let wake = ours.wait_behind(1).await;
            assert_eq!(ours.line_up().await, ["other", "ours"]);
            assert!(ours.store.list(Scope::Entered).await.expect("a list").contains(&job()));
            other.interrupt();
            wake.await;
            ours.lead().await;
            ours.seat.resign(None).await.expect("a resign");
        }
    });
}
