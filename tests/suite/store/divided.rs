//! One URL, two stores: two command trees of an election would run at a time.

use elect_testkit::fault::TcpProxy;

use crate::prelude::*;

fn elect(words: &[&str]) -> Elect {
    Elect::new(ELECT).args(words)
}

/// Asserts that `elect doctor` tells these two stores apart, in one URL.
#[track_caller]
fn are_told_apart(scheme: &str, stores: [SocketAddr; 2]) {
    let [a, b] = stores.map(|address| address.to_string());
    let ids = [&a, &b].map(|address| {
        let said = elect(&["doctor", "-o", "json", "-b", &format!("{scheme}://{address}")]).run();
        let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
        report["store_id"].as_str().expect("an id").to_owned()
    });
    assert_ne!(ids[0], ids[1]);
    let said = elect(&["doctor", "-b", &format!("{scheme}://{a},{b}")]).run().exits(1);
    for (address, id) in [&a, &b].into_iter().zip(&ids) {
        let words = format!("{address} is the store {id}");
        assert!(said.stdout.contains(&words), "{words:?} is not in: {}", said.stdout);
    }
    // A URL with a store id is refused at another store, by `run` and by commands that only look.
    let pinned = format!("{scheme}://{b}?store-id={}", ids[0]);
    let refusal = format!("{b} is another store, {}", ids[1]);
    elect(&["run", "-b", &pinned, "-e", "job", "--", "echo", "led"])
        .run()
        .exits(125)
        .prints("")
        .says(&refusal);
    elect(&["status", "-b", &pinned, "job"]).run().exits(125).says(&refusal);
    let pinned = format!("{scheme}://{a}?store-id={}", ids[0]);
    elect(&["run", "-b", &pinned, "-e", "job", "--", "echo", "led"]).run().exits(0).prints("led\n");
}

#[test]
fn two_clusters_of_etcd_are_told_apart() {
    let [a, b] = [Etcd::start(1), Etcd::start(1)];
    are_told_apart("etcd", [a.endpoints()[0], b.endpoints()[0]]);
}

#[test]
fn two_ensembles_of_zookeeper_are_told_apart() {
    let [a, b] = [ZooKeeper::one(), ZooKeeper::one()];
    are_told_apart("zk", [a.address(0), b.address(0)]);
}

/// Doctor gives each of two new stores no more than it uses, and finds that they are two.
#[test]
fn two_new_clusters_are_told_apart_at_once() {
    let [a, b] = [Etcd::start(1), Etcd::start(1)];
    let url = format!("etcd://{},{}", a.endpoints()[0], b.endpoints()[0]);
    let said = elect(&["doctor", "-b", &url]).run().exits(1);
    let words = format!("{} is one that has no id yet", b.endpoints()[0]);
    assert!(said.stdout.contains(&words), "{}", said.stdout);
}

/// A candidate that takes part again, as a program that is executed anew, does so in the store that it has led in.
#[track_caller]
fn campaigns_on_in_its_store(scheme: &str, [ours, other]: [SocketAddr; 2]) {
    let ground = Ground::new();
    let [log, ran] = ["log", "ran"].map(|name| ground.path().join(name));
    elect(&["run", "-b", &format!("{scheme}://{other}"), "-e", "job", "true"]).run().exits(0);
    let way = TcpProxy::start(ours);
    let url = format!("{scheme}://{}", way.address());
    let script = format!("echo ran >> {}; exec sleep 60", ran.display());
    let words = ["run", "-v", "--after-loss", "campaign", "--ttl", "5s", "-b", &url, "-e", "job"];
    let mut command = elect(&words).args(["--", "sh", "-c", &script]).command();
    let file = fs::File::create(&log).expect("a log");
    let mut a = Running::new(command.stderr(file).spawn().expect("elect runs"));
    let said = || fs::read_to_string(&log).unwrap_or_default();
    let runs = || fs::read_to_string(&ran).unwrap_or_default().lines().count();
    eventually("a command", || (runs() == 1).then_some(()));
    way.redirect(other);
    eventually("the loss", || said().contains("leadership is lost").then_some(()));
    let refusals = || said().matches("is another store").count();
    let known = refusals();
    eventually("another refusal, or the end of elect", || {
        (refusals() > known || !a.is_running()).then_some(())
    });
    assert_eq!(runs(), 1, "it leads in another store: {}", said());
    a.ended_by(Signal::SIGTERM);
}

#[test]
fn a_candidate_that_campaigns_again_stays_in_its_etcd_cluster() {
    let [a, b] = [Etcd::start(1), Etcd::start(1)];
    campaigns_on_in_its_store("etcd", [a.endpoints()[0], b.endpoints()[0]]);
}

#[test]
fn a_candidate_that_campaigns_again_stays_in_its_zookeeper_ensemble() {
    let [a, b] = [ZooKeeper::one(), ZooKeeper::one()];
    campaigns_on_in_its_store("zk", [a.address(0), b.address(0)]);
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    let copied = Command::new("cp").args(["-a".as_ref(), from, to]).status();
    assert!(copied.expect("cp runs").success());
}

/// The command of a leader ends, and no candidate that saw the newer revision takes part again: its token could be
/// smaller than before.
#[test]
fn a_store_that_was_restored_ends_each_candidate_that_saw_more() {
    let mut etcd = Etcd::start(1);
    let ground = Ground::new();
    let url = etcd.url();
    elect(&["run", "-b", &url, "-e", "job", "true"]).run().exits(0);
    let (data, backup) = (etcd.data(0), ground.path().join("backup"));
    etcd.member(0).kill();
    copy(&data, &backup);
    etcd.member(0).restart();
    etcd.wait_until_it_serves();
    for value in 0..50 {
        etcd.ctl(&["put", "other", &value.to_string()]);
    }
    let tokens = ground.path().join("tokens");
    let script = format!("echo $ELECT_TOKEN >> {}; exec sleep 60", tokens.display());
    let led = || fs::read_to_string(&tokens).unwrap_or_default().lines().count();
    let log = |name: &str| ground.path().join(name);
    let start = |name: &str, words: &[&str]| {
        let command = ["run", "-b", &url, "-e", "job", "--ttl", "5s"];
        let mut command = elect(&command).args(words).args(["--", "sh", "-c", &script]).command();
        let file = fs::File::create(log(name)).expect("a log");
        Running::new(command.stderr(file).spawn().expect("elect runs"))
    };
    let leader = start("leader", &["--after-loss", "campaign"]);
    eventually("a leader", || (led() == 1).then_some(()));
    let waiters = [start("waiter", &[]), start("patient", &["-w", "10m"])];
    let count =
        || etcd.ctl(&["get", "--prefix", "elect/job/", "--keys-only"]).matches("job/").count();
    eventually("two waiters", || (count() >= 3).then_some(()));
    etcd.member(0).kill();
    copy(&backup, &data);
    etcd.member(0).restart();
    etcd.wait_until_it_serves();
    for (name, one) in ["waiter", "patient"].into_iter().zip(waiters) {
        one.wait().exits(125);
        let said = fs::read_to_string(log(name)).expect("a log");
        assert!(said.contains("has gone back to revision"), "{name}: {said}");
    }
    leader.wait().exits(125);
    let said = fs::read_to_string(log("leader")).expect("a log");
    assert!(said.contains("has gone back"), "{said}");
    assert_eq!(led(), 1, "a smaller token was given: {said}");
}

/// A waiter that loses the way to its store is not led to the other one of its list.
#[test]
fn a_waiter_says_which_address_is_which_and_stays_where_it_is() {
    let [a, b] = [Etcd::start(1), Etcd::start(1)];
    let ground = Ground::new();
    for etcd in [&a, &b] {
        elect(&["run", "-b", &etcd.url(), "-e", "job", "true"]).run().exits(0);
    }
    let way = TcpProxy::start(a.endpoints()[0]);
    let both = format!("etcd://{},{}", way.address(), b.endpoints()[0]);
    let led = ground.path().join("led");
    let led = led.to_str().expect("a path");
    let log = ground.path().join("log");
    let run = |url: &str, script: &str| {
        let log = fs::OpenOptions::new().create(true).append(true).open(&log);
        let words = ["run", "-v", "-b", url, "-e", "job", "--", "sh", "-c", script];
        let child = elect(&words).command().stderr(log.expect("a log")).spawn();
        Running::new(child.expect("elect runs"))
    };
    let leader = run(&a.url(), "sleep 60");
    let line = || elect(&["status", "-o", "json", "-b", &a.url(), "job"]).run().stdout;
    eventually("a leader", || line().contains("\"token\"").then_some(()));
    let waiter = run(&both, &format!("touch {led}"));
    eventually("a waiter", || line().contains("\"place\": 1").then_some(()));
    way.refuse(true);
    way.cut();
    let words = format!("{} is another store", b.endpoints()[0]);
    eventually("a word of the other store", || {
        fs::read_to_string(&log).ok()?.contains(&words).then_some(())
    });
    assert!(!Path::new(led).exists(), "two led at once");
    way.refuse(false);
    leader.ended_by(Signal::SIGTERM);
    waiter.wait().exits(0);
    assert!(Path::new(led).exists());
}
