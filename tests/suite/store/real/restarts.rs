//! A command that ends again and again, and is started again, until something befalls A: nothing of it runs beside
//! its own next start, and nothing when B leads.

use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::oracle::Run;
use elect_testkit::servers::Place;

use super::duel::{elect, wait_in_line};
use super::store::{Ground, Store};
use super::{ETCD, KUBERNETES, ZOOKEEPER};
use crate::prelude::*;
use crate::stage::{send, send_if_alive, stop};

const TTL: Duration = Duration::from_secs(6);
/// Enough of them to see that they go on.
const RUNS: usize = 4;
/// Replies of a store, among them those to a renewal or two.
const RENEWED: u64 = 16;

/// Counts its starts, so that each start stamps with a token of its own. Fills both of its pipes, which no process
/// reads. Then becomes the command that it is given.
const AGAIN: &str = "echo >>\"$D/starts\"; export ELECT_TOKEN=$((ELECT_TOKEN * 1000 + $(wc -l <\"$D/starts\"))); \
                     yes & yes >&2 & exec \"$@\"";

struct Scene {
    ground: Ground,
    proxy: Option<TcpProxy>,
    oracle: Oracle,
    a: Running,
    b: Running,
    _folder: TempDir,
}

impl Scene {
    /// A leads, and its command has been started again; B waits.
    #[track_caller]
    fn start(store: Store) -> Self {
        let scene = Self::of(store, ["50ms", "100ms"]);
        scene.wait_for_more();
        scene.followed()
    }

    /// A leads, and its command has ended, to be started again in an hour; A has renewed its lease meanwhile. B waits.
    #[track_caller]
    fn at_rest(store: Store) -> Self {
        let scene = Self::of(store, ["1h", "1h"]);
        scene.oracle.wait_for_end("A");
        let replies = || scene.proxy.as_ref().expect("a proxy").traffic().replies.chunks;
        let before = replies();
        eventually("renewals", || (replies() >= before + RENEWED).then_some(()));
        scene.followed()
    }

    /// A's command is started again after these pauses: the first, and the longest.
    fn of(store: Store, pauses: [&str; 2]) -> Self {
        let (folder, oracle) = (TempDir::new().expect("a folder"), Oracle::new());
        let ground = Ground::start(store, 1, &Place::here());
        let addresses = ground.addresses();
        let proxy = addresses.first().map(|&address| TcpProxy::start(address));
        let own = proxy.as_ref().map_or_else(Vec::new, |proxy| vec![proxy.address()]);
        // It is deaf, forks, leaves its session, and leaves all of that behind when it fails.
        let tree = oracle.stamper("A").children(1).sessions(1).daemons(1).deaf().leaving();
        let tree = tree.lasting(Duration::from_millis(100)).code(1);
        let a = elect(&ground.url(&own), "A", TTL, None)
            .env("D", folder.path())
            .args(["--restart", "on-failure", "--restart-delay", pauses[0]])
            .args(["--restart-max-delay", pauses[1], "--", "sh", "-c", AGAIN, "sh"])
            .args(tree.command())
            .spawn();
        Self { ground, proxy, oracle, a, b: Running::idle(), _folder: folder }
    }

    #[track_caller]
    fn followed(self) -> Self {
        let url = self.ground.url(&self.ground.addresses());
        // It stands for all that could follow: its token is greater than any that A has made of its own.
        let next = self.oracle.stamper("B").token(u64::MAX).lasting(Duration::from_millis(50));
        let b = elect(&url, "B", TTL, None).arg("--").args(next.command()).spawn();
        wait_in_line(&url, "B-", None);
        Self { b, ..self }
    }

    fn runs(&self) -> Vec<Run> {
        self.oracle.verdict().runs.into_iter().filter(|run| run.tag == "A").collect()
    }

    #[track_caller]
    fn wait_for_more(&self) {
        let before = self.runs().len();
        eventually("more starts of A", || (self.runs().len() >= before + RUNS).then_some(()));
    }

    /// B leads once nothing of A is left. Then A goes on, if it was stopped, and ends like this.
    #[track_caller]
    fn hand_over(mut self, code: i32) {
        std::mem::replace(&mut self.b, Running::idle()).wait().exits(0);
        self.oracle.assert_sound();
        let newest = self.runs().pop().expect("A ran");
        assert!(!newest.is_alive(), "{newest}");
        send_if_alive(self.a.pid(), Signal::SIGCONT);
        self.a.wait().exits(code);
    }
}

#[track_caller]
fn survive_the_cut(store: Store) {
    let scene = Scene::start(store);
    scene.proxy.as_ref().expect("a proxy").both(Mode::Swallow);
    scene.hand_over(124);
}

#[track_caller]
fn survive_a_stop_of_the_wrapper(store: Store) {
    let mut scene = Scene::start(store);
    stop(scene.a.pid());
    scene.hand_over(124);
}

#[track_caller]
fn survive_a_stop_at_rest(store: Store) {
    let mut scene = Scene::at_rest(store);
    stop(scene.a.pid());
    scene.hand_over(124);
}

#[track_caller]
fn survive_the_end_of_the_wrapper(store: Store) {
    let mut scene = Scene::start(store);
    scene.a.signal(Signal::SIGKILL);
    scene.hand_over(128 + 9);
}

#[track_caller]
fn survive_the_end_of_the_guardian(store: Store) {
    let mut scene = Scene::start(store);
    send(scene.a.guardian(), Signal::SIGKILL);
    scene.hand_over(125);
}

macro_rules! restarts {
    ($($store:ident: $value:expr => $($test:ident)+;)+) => {
        $(mod $store {
            $(#[test] fn $test() { super::$test($value); })+
        })+
    };
}

restarts! {
    file: super::Store::File => survive_the_end_of_the_wrapper survive_the_end_of_the_guardian;
    etcd: super::ETCD =>
        survive_the_end_of_the_wrapper survive_the_end_of_the_guardian
        survive_a_stop_of_the_wrapper survive_a_stop_at_rest survive_the_cut;
    zookeeper: super::ZOOKEEPER =>
        survive_the_end_of_the_wrapper survive_the_end_of_the_guardian
        survive_a_stop_of_the_wrapper survive_a_stop_at_rest survive_the_cut;
    kubernetes: super::KUBERNETES =>
        survive_the_end_of_the_wrapper survive_the_end_of_the_guardian
        survive_a_stop_of_the_wrapper survive_a_stop_at_rest survive_the_cut;
}
