//! All candidates reach the store through a balancer, which has no server for a while: each connection ends without a
//! byte. No candidate gives up for good, whether it is new, waits or leads.

use elect_testkit::fault::TcpProxy;
use elect_testkit::oracle::Flag;
use elect_testkit::servers::Place;

use super::duel::{elect, wait_in_line};
use super::store::{Ground, Store};
use super::{ETCD, ZOOKEEPER};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(5);
/// Connections of candidates that try again and again.
const TRIES: u64 = 60;

struct Scene {
    ground: Ground,
    balancer: TcpProxy,
    oracle: Oracle,
    end: Flag,
    folder: TempDir,
}

impl Scene {
    fn start(store: Store) -> Self {
        let ground = Ground::start(store, 1, &Place::here());
        let balancer = TcpProxy::start(ground.addresses()[0]);
        let oracle = Oracle::new();
        let end = oracle.flag("end");
        Self { ground, balancer, oracle, end, folder: TempDir::new().expect("a folder") }
    }

    fn url(&self) -> String {
        self.ground.url(&[self.balancer.address()])
    }

    fn candidate(&self, id: &str, flags: &[&str]) -> Running {
        let tree = self.oracle.stamper(id).until(&self.end);
        elect(&self.url(), id, TTL, None).args(flags).arg("--").args(tree.command()).spawn()
    }

    fn sidecar(&self) -> Running {
        let sidecar = Elect::new(ELECT);
        let sidecar = sidecar.args(["sidecar", "-b", &self.url(), "-e", "web", "--ttl", "5s"]);
        sidecar.arg("--lease-file").arg(self.folder.path().join("lease")).spawn()
    }

    #[track_caller]
    fn wait_for_sidecar(&self) {
        let check = Elect::new(ELECT).args(["check", "--lease-file"]);
        let check = check.arg(self.folder.path().join("lease"));
        eventually("the sidecar to lead", || (check.run().code() == 0).then_some(()));
    }

    /// Waits until all have tried many times.
    #[track_caller]
    fn wait_for_tries(&self) {
        let tries = || self.balancer.traffic().connections;
        let before = tries();
        eventually("candidates that try again", || (tries() >= before + TRIES).then_some(()));
    }

    /// Ends the command of one candidate, then the command of the other.
    #[track_caller]
    fn end(&self, candidates: impl IntoIterator<Item = Running>) {
        self.end.raise();
        candidates.into_iter().for_each(|candidate| drop(candidate.wait().exits(0)));
        self.oracle.assert_sound();
    }
}

/// Returns the number of candidates in both elections, as the store tells it.
fn candidates(url: &str) -> Option<usize> {
    let status = Elect::new(ELECT);
    let status = status.args(["status", "-b", url, "-o", "json", "job", "web"]);
    let report: Value = serde_json::from_str(&status.run().stdout).ok()?;
    let count =
        |it: &Value| Some(it["waiting"].as_array()?.len() + usize::from(it["leader"].is_object()));
    report["elections"].as_array()?.iter().map(count).sum()
}

#[track_caller]
fn a_candidate_that_comes_meanwhile_enters_later(store: Store) {
    let scene = Scene::start(store);
    scene.balancer.hang_up(true);
    let mut sidecar = scene.sidecar();
    let mut all = [scene.candidate("A", &["-w", "60s"]), scene.candidate("B", &[])];
    scene.wait_for_tries();
    assert!(sidecar.is_running() && all.iter_mut().all(Running::is_running));
    scene.balancer.hang_up(false);
    scene.wait_for_sidecar();
    scene.end(all);
    sidecar.ended_by(Signal::SIGTERM).exits(0);
}

#[track_caller]
fn all_candidates_return_after_more_than_a_lease(store: Store) {
    let scene = Scene::start(store);
    let direct = scene.ground.url(&scene.ground.addresses());
    let again = ["--after-loss", "campaign"];
    let a = scene.candidate("A", &again);
    scene.oracle.wait_for_run("A");
    let b = scene.candidate("B", &again);
    wait_in_line(&direct, "B-", None);
    let mut sidecar = scene.sidecar();
    scene.wait_for_sidecar();
    let are_there = |count| {
        let all = format!("{count} candidates");
        eventually(&all, || (candidates(&direct) == Some(count)).then_some(()));
    };
    are_there(3);
    scene.balancer.hang_up(true);
    are_there(0);
    scene.wait_for_tries();
    let mut all = [a, b];
    assert!(sidecar.is_running() && all.iter_mut().all(Running::is_running));
    scene.balancer.hang_up(false);
    are_there(3);
    scene.wait_for_sidecar();
    scene.end(all);
    sidecar.ended_by(Signal::SIGTERM).exits(0);
}

macro_rules! balancer {
    ($($store:ident: $value:expr => $($test:ident)+;)+) => {
        $(mod $store {
            $(#[test] fn $test() { super::$test($value); })+
        })+
    };
}

balancer! {
    etcd: super::ETCD =>
        a_candidate_that_comes_meanwhile_enters_later all_candidates_return_after_more_than_a_lease;
    zookeeper: super::ZOOKEEPER =>
        a_candidate_that_comes_meanwhile_enters_later all_candidates_return_after_more_than_a_lease;
}
