//! Requests reach the store, and replies do not come back. A candidate that gets no reply keeps neither its lead nor
//! its place by what it goes on asking.

use elect_testkit::fault::{Mode, Outcome, TcpProxy};

use super::cluster::{Brand, Cluster};
use super::duel::{elect, wait_in_line};
use super::{CONSUL, ETCD, KUBERNETES, MARIADB, POSTGRESQL, REDIS, Store, ZOOKEEPER, report};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(5);
/// As they end where nothing arrives: a TTL after the last request, which is sent before a silence is noticed, and a
/// tick of the store's; with some room.
const IN_TIME: Duration = Duration::from_secs(8);
const CAMPAIGN: [&str; 2] = ["--after-loss", "campaign"];

/// A waiter on records looks now and then, and counts from the look after the one that showed the last request.
const IN_TIME_OF_RECORDS: Duration = Duration::from_secs(10);

/// A store of one member, and a way to it for one candidate.
struct Scene {
    ttl: Duration,
    oracle: Oracle,
    proxy: TcpProxy,
    /// By that way, and straight.
    near: String,
    far: String,
    _cluster: Box<dyn Cluster>,
}

impl Scene {
    fn new(brand: Brand) -> Self {
        let cluster = brand.here(1);
        let addresses: Vec<SocketAddr> = cluster.addresses();
        let proxy = TcpProxy::start(addresses[0]);
        let near = brand.url(&[proxy.address()]);
        let ttl = Store::Remote(brand).grants(TTL);
        Self {
            ttl,
            oracle: Oracle::new(),
            near,
            far: brand.url(&addresses),
            proxy,
            _cluster: cluster,
        }
    }

    /// From now on A hears nothing.
    fn cut(&self) -> Boottime {
        self.proxy.replies(Mode::Swallow);
        now()
    }

    /// Returns A, whose way to the store will be cut.
    fn near(&self, flags: &[&str]) -> Elect {
        elect(&self.near, "A", self.ttl, None).args(flags).arg("--")
    }

    /// One that waits, and leads for a moment.
    fn next(&self, id: &str) -> Running {
        let command = self.oracle.stamper(id).children(1).lasting(Duration::from_millis(50));
        let next = elect(&self.far, id, self.ttl, None).arg("--").args(command.command()).spawn();
        wait_in_line(&self.far, &format!("{id}-"), None);
        next
    }
}

/// A leads and hears nothing more; B is next. Says how long after the cut.
fn a_leader(brand: Brand, flags: &[&str]) -> (Outcome, Duration) {
    let scene = Scene::new(brand);
    let tree = scene.oracle.stamper("A").children(2).depth(2);
    let a = scene.near(flags).args(tree.command()).spawn();
    scene.oracle.wait_for_run("A");
    let b = scene.next("B");
    // By then, all times that count from the beginning of a session are over.
    scene.oracle.wait_for_stamps("A", scene.ttl + Duration::from_secs(1));
    let cut = scene.cut();
    b.wait().exits(0);
    scene.oracle.assert_sound();
    let [old, next] = ["A", "B"].map(|tag| scene.oracle.newest(tag).expect("it ran"));
    drop(a);
    let outcome = Outcome { last: old.last, lease_end: None, next: Some(next.first), kept: None };
    (outcome, next.first.since(cut))
}

/// A waits and gets no more replies. Its turn comes, and then B's, which waits behind it.
fn a_waiter(brand: Brand) -> (Outcome, Duration) {
    let scene = Scene::new(brand);
    let end = scene.oracle.flag("end");
    let first = scene.oracle.stamper("X").until(&end);
    let x = elect(&scene.far, "X", scene.ttl, None).arg("--").args(first.command()).spawn();
    scene.oracle.wait_for_run("X");
    let a = scene.near(&[]).arg("true").spawn();
    wait_in_line(&scene.far, "A-", None);
    let b = scene.next("B");
    let cut = scene.cut();
    end.raise();
    x.wait().exits(0);
    b.wait().exits(0);
    scene.oracle.assert_sound();
    let [old, next] = ["X", "B"].map(|tag| scene.oracle.newest(tag).expect("it ran"));
    drop(a);
    let outcome = Outcome { last: old.last, lease_end: None, next: Some(next.first), kept: None };
    (outcome, next.first.since(cut))
}

/// A holds all shards, in one session with its place in the roster, and hears nothing more; B takes over.
fn a_member(brand: Brand) -> Duration {
    let scene = Scene::new(brand);
    let shards = ["--shards", "2"];
    let a = scene.near(&shards).args(["sleep", "1000"]).spawn();
    let look = Elect::new(ELECT).args(["status", "-b", &scene.far, "-o", "json", "job:0", "job:1"]);
    let all_led_by = |id: &str| {
        let said = look.run().stdout;
        let report: Value = serde_json::from_str(&said).unwrap_or_default();
        let elections = report["elections"].as_array().cloned().unwrap_or_default();
        let leads = |election: &Value| {
            election["leader"]["id"].as_str().is_some_and(|leader| leader.starts_with(id))
        };
        (elections.len() == 2 && elections.iter().all(leads)).then_some(())
    };
    eventually("A to hold all shards", || all_led_by("A-"));
    let cut = scene.cut();
    let b =
        elect(&scene.far, "B", scene.ttl, None).args(shards).args(["--", "sleep", "1000"]).spawn();
    eventually("B to hold all shards", || all_led_by("B-"));
    let soon = now().since(cut);
    drop((a, b));
    soon
}

#[track_caller]
fn expect_in_time(fault: &str, store: Store, (outcome, soon): (Outcome, Duration)) {
    report(fault, store, &outcome);
    println!("the next leads {soon:.2?} after the cut");
    let limit = if [ETCD, ZOOKEEPER].contains(&store) { IN_TIME } else { IN_TIME_OF_RECORDS };
    assert!(soon < limit, "{soon:?}");
}

const GOES_ON: &str = "17 replies swallowed, the leader campaigns on";

const PASSED_OVER: &str = "17 replies swallowed, of a waiter";

macro_rules! on {
    ($($module:ident: $store:ident, $brand:ident $(, $deep:meta)?;)*) => {$(
        mod $module {
            use super::*;

            #[test]
            $(#[$deep])?
            fn a_leader_that_goes_on_is_followed_in_time() {
                expect_in_time(GOES_ON, $store, a_leader(Brand::$brand, &CAMPAIGN));
            }

            #[test]
            $(#[$deep])?
            fn a_waiter_is_passed_over_in_time() {
                expect_in_time(PASSED_OVER, $store, a_waiter(Brand::$brand));
            }
        }
    )*};
}

on! {
    consul: CONSUL, Consul, ignore = "tests/deep/run every_fault runs it";
    etcd: ETCD, Etcd;
    kubernetes: KUBERNETES, Kubernetes;
    mariadb: MARIADB, MariaDb, ignore = "tests/deep/run every_fault runs it";
    postgresql: POSTGRESQL, PostgreSql, ignore = "tests/deep/run every_fault runs it";
    redis: REDIS, Redis, ignore = "tests/deep/run every_fault runs it";
    zookeeper: ZOOKEEPER, ZooKeeper;
}

#[test]
fn a_member_in_kubernetes_loses_its_shards_in_time() {
    // Its entry in the roster has to end first. No candidate watches its shards before, so they take a time of their
    // own.
    let soon = a_member(Brand::Kubernetes);
    println!("another holds all shards {soon:.2?} after the cut");
    assert!(soon < IN_TIME_OF_RECORDS * 2, "{soon:?}");
}

#[test]
fn a_member_loses_its_shards_in_time() {
    let soon = a_member(Brand::ZooKeeper);
    println!("another holds all shards {soon:.2?} after the cut");
    assert!(soon < IN_TIME, "{soon:?}");
}
