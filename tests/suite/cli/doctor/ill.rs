//! Stores that are slow, old, or not there.

use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::{DatabaseServer as _, Redis, ZooKeeperSetup};

use crate::cli::selftest::stores::keys as keys_of;
use crate::prelude::*;

use super::{RIGHTS, doctor, endpoints, findings, granted, only, report, told};

/// Returns the TTL that is advised if this server's answers are so late, and checks that the reason is given.
#[track_caller]
fn advised_through(scheme: &str, server: SocketAddr, late: Duration) -> u64 {
    let proxy = TcpProxy::start(server);
    proxy.replies(Mode::Delay(late));
    let found = told(doctor(&format!("{scheme}://{}", proxy.address())).run(), 1);
    only(&found, "warning", &["renewals take ", "a lease of 15s may be lost"]);
    assert_eq!(granted(&found), RIGHTS);
    let late = late.as_secs_f64() * 1000.0;
    for time in [&endpoints(&found, "round_trip_ms")[0], &found["renewal"]["usual_ms"]] {
        assert!(time.as_f64().is_some_and(|time| time >= late), "{found:#}");
    }
    found["ttl"]["advised_ms"].as_u64().unwrap_or_else(|| panic!("no TTL: {found:#}"))
}

/// A renewal is cut off after W/6: four times 700 ms take 16.8 s at the least.
#[test]
fn a_slow_etcd_takes_longer_leases() {
    let etcd = Etcd::start(1);
    let advised = advised_through("etcd", etcd.endpoints()[0], Duration::from_millis(700));
    assert!(advised >= 16_800, "{advised} ms");
}

/// After W/16: four times 300 ms take 19.2 s.
#[test]
fn a_slow_zookeeper_takes_longer_leases() {
    let setup = ZooKeeperSetup { tick: Duration::from_secs(60), ..ZooKeeperSetup::default() };
    let zookeeper = ZooKeeper::start(&setup);
    // It grants two minutes at the least, which would do in any case.
    let proxy = TcpProxy::start(zookeeper.address(0));
    proxy.replies(Mode::Delay(Duration::from_millis(50)));
    let found = report(&doctor(&format!("zk://{}", proxy.address())), 0);
    assert_eq!(found["ttl"]["advised_ms"], 120_000, "{found:#}");
    let setup = ZooKeeperSetup { tick: Duration::from_secs(5), ..ZooKeeperSetup::default() };
    let zookeeper = ZooKeeper::start(&setup);
    let advised = advised_through("zk", zookeeper.address(0), Duration::from_millis(300));
    assert!(advised >= 19_200, "{advised} ms");
}

/// A second at the most is granted: nothing is kept with that.
#[test]
fn a_zookeeper_that_grants_too_little() {
    let setup = ZooKeeperSetup {
        lines: vec!["maxSessionTimeout=2000".into()],
        ..ZooKeeperSetup::default()
    };
    let zookeeper = ZooKeeper::start(&setup);
    let found = report(&doctor(&zookeeper.url()), 1);
    only(&found, "error", &["no lease that the store grants (up to 2s) is long enough"]);
    assert_eq!(found["ttl"]["advised_ms"], Value::Null);
    assert_eq!(found["ttl"]["greatest_ms"], 2000);
}

/// The machine's own, which is old where Debian's is: whatever it is, what is known of it is said.
#[test]
fn an_old_etcd_is_known_for_its_fault() {
    let etcd = Etcd::start_own(3);
    let version = etcd.ctl(&["endpoint", "status", "--write-out=fields"]);
    let version = version.lines().find_map(|line| line.strip_prefix("\"Version\" : \""));
    let version = version.expect("a version").trim_end_matches('"').to_owned();
    let numbers: Vec<u32> =
        version.split('.').map(|part| part.parse().expect("a number")).collect();
    let is_old = numbers < vec![3, 4, 31] || (vec![3, 5, 0]..vec![3, 5, 13]).contains(&numbers);
    let is_stale = numbers < vec![3, 4, 42]
        || (vec![3, 5, 0]..vec![3, 5, 28]).contains(&numbers)
        || (vec![3, 6, 0]..vec![3, 6, 9]).contains(&numbers);
    println!("etcd {version}: old {is_old}, stale {is_stale}");
    let found = report(&doctor(&etcd.url()), i32::from(is_old || is_stale));
    assert_eq!(endpoints(&found, "version")[0], version);
    let warnings = findings(&found, "warning");
    for (is_known, words) in [
        (is_old, ["etcd-io/etcd/issues/15247", &version, "may end leases"]),
        (is_stale, ["etcd-io/etcd/issues/20418", &version, "from the past"]),
    ] {
        let says = |warning: &String| words.iter().all(|word| warning.contains(word));
        assert_eq!(warnings.iter().any(says), is_known, "{found:#}");
    }
    assert_eq!(warnings.len(), usize::from(is_old) + usize::from(is_stale), "{found:#}");
    assert_eq!(granted(&found), RIGHTS);
}

#[test]
fn a_store_out_of_reach_is_said() {
    for (url, words) in [
        (
            "etcd://127.0.0.1:1,127.0.0.1:2",
            ["127.0.0.1:1: nothing listens", "127.0.0.1:2: nothing listens"],
        ),
        (
            "zk://127.0.0.1:1,127.0.0.1:2",
            ["127.0.0.1:1: nothing listens", "127.0.0.1:2: nothing listens"],
        ),
    ] {
        let ended = doctor(url).run().exits(125).prints("");
        words.into_iter().fold(ended, Ended::says);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    let text = "{current-context: c, contexts: [{name: c, context: {cluster: c}}], \
                clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}";
    fs::write(&kubeconfig, text).expect("a file");
    let url = ApiServer::url_with("elect", &kubeconfig);
    let ended = doctor(&url).run().exits(125).prints("");
    ended.says("cannot connect to http://127.0.0.1:1: nothing listens there");
    doctor("file:///dev/null/x").run().exits(125).prints("").says("/dev/null");
}

/// A new store may be one that has lost all. Nothing is wrong with it, and elect waits.
#[test]
fn a_store_that_lets_no_candidate_lead_yet_is_told_apart() {
    let redis = Redis::start();
    let found = report(&doctor(&format!("redis://elect@{}", redis.address())), 1);
    assert_eq!(granted(&found), ["look"]);
    assert_eq!(findings(&found, "error"), [""; 0]);
    let warnings = findings(&found, "warning").concat();
    assert!(warnings.contains("lets no candidate lead for 1m"), "{warnings}");
    assert_eq!(redis.ask("HKEYS {elect}").lines().filter(|key| key.contains("doctor")).count(), 0);
}

/// An interrupted examination leaves nothing either.
#[test]
fn interrupted_it_leaves_nothing() {
    let etcd = Etcd::start(1);
    let proxy = TcpProxy::start(etcd.endpoints()[0]);
    proxy.replies(Mode::Delay(Duration::from_millis(400)));
    let keys = || etcd.ctl(&["get", "", "--prefix", "--keys-only"]);
    let doctor = doctor(&format!("etcd://{}", proxy.address())).spawn();
    eventually("an entry", || keys().contains("elect-doctor-").then_some(()));
    doctor.ended_by(Signal::SIGTERM).exits(143).prints("");
    assert_eq!(keys_of(&keys()), [""; 0]);
    assert_eq!(etcd.ctl(&["lease", "list"]).trim(), "found 0 leases");
}

#[test]
fn servers_that_grant_differently_are_found() {
    let setup = ZooKeeperSetup {
        members: 3,
        tick: Duration::from_secs(2),
        last_lines: vec!["maxSessionTimeout=30000".into()],
        ..ZooKeeperSetup::default()
    };
    let zookeeper = ZooKeeper::start(&setup);
    let found = report(&doctor(&zookeeper.url()), 1);
    only(&found, "warning", &["different lengths", "from 4s to 30s"]);
    assert_eq!(found["ttl"]["greatest_ms"], 30_000);
    assert!(findings(&found, "note").is_empty(), "{found:#}");
}
