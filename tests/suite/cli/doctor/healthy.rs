//! Stores of which there is nothing to say.

use elect_testkit::servers::kubernetes::Rule;
use elect_testkit::servers::{
    Database as _, DatabaseServer, DatabaseSetup, Moto, MotoS3, Postgres, ZooKeeperSetup,
};

use super::{RIGHTS, doctor, endpoints, findings, granted, list, only, report};
use crate::cli::selftest::stores::{keys, leases, nodes};
use crate::prelude::*;

#[test]
fn on_the_local_disk() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    let found = report(&doctor(&url), 0);
    assert!(!ground.state().exists(), "it was made for the trial, and goes with it");
    assert_eq!(found["backend"], url);
    assert_eq!(granted(&found), RIGHTS);
    assert_eq!(endpoints(&found, "endpoint"), [json!(ground.state())]);
    assert!(endpoints(&found, "role")[0].is_string(), "{found:#}");
    assert_eq!(found["ttl"], Value::Null, "its leases have no end");
    let limits: Vec<_> = list(&found, "limits").iter().map(|limit| &limit["limit"]).collect();
    assert!(limits.iter().any(|limit| **limit == "inotify instances of a user"), "{limits:?}");
    // Files that were there before stay. People read the report, too.
    ground.run().arg("true").run().exits(0);
    let said = ground.elect("doctor").run().exits(0).is_quiet().stdout;
    assert_eq!(fs::read_dir(ground.state()).expect("it is there").count(), 1);
    assert!(said.starts_with(&format!("backend: {url}\n")), "{said}");
    assert!(said.ends_with("\nnothing is wrong\n"), "{said}");
}

/// As each store of several members has it, with roles in any order.
#[track_caller]
fn is_well(found: &Value, roles: [&str; 3]) {
    assert_eq!(granted(found), RIGHTS);
    assert_eq!(endpoints(found, "answers"), [json!(true), json!(true), json!(true)]);
    assert!(endpoints(found, "round_trip_ms").iter().all(Value::is_number), "{found:#}");
    assert!(endpoints(found, "version").iter().all(Value::is_string), "{found:#}");
    let mut are = endpoints(found, "role");
    are.sort_by_key(|role| role.as_str() != Some("leader"));
    assert_eq!(are, roles);
    assert_eq!(found["ttl"]["advised_ms"], 15_000, "{found:#}");
    assert_eq!(found["renewal"]["tries"], 10, "{found:#}");
}

#[test]
fn on_etcd() {
    let etcd = Etcd::start(3);
    // But for what is known of its version.
    let found = report(&doctor(&etcd.url()), 1);
    only(&found, "warning", &["issues/20418"]);
    is_well(&found, ["leader", "follower", "follower"]);
    assert!(found["ttl"]["least_ms"].as_u64().is_some_and(|least| least >= 1000), "{found:#}");
    assert_eq!(found["ttl"]["greatest_ms"], Value::Null);
    assert_eq!(keys(&etcd.ctl(&["get", "", "--prefix", "--keys-only"])), [""; 0]);
    let id = found["store_id"].as_str().expect("an id");
    assert_eq!(id, etcd.ctl(&["get", "--print-value-only", "elect/.store"]).trim());
    assert_eq!(endpoints(&found, "store_id"), [json!(id), json!(id), json!(id)]);
    assert_eq!(etcd.ctl(&["lease", "list"]).trim(), "found 0 leases");
}

#[test]
fn on_zookeeper() {
    let setup =
        ZooKeeperSetup { members: 3, tick: Duration::from_secs(2), ..ZooKeeperSetup::default() };
    let zookeeper = ZooKeeper::start(&setup);
    let before = nodes(&zookeeper.url());
    let found = report(&doctor(&zookeeper.url()), 0);
    is_well(&found, ["leader", "follower", "follower"]);
    assert_eq!(found["findings"], json!([]));
    assert_eq!(found["ttl"]["least_ms"], 4000);
    assert_eq!(found["ttl"]["greatest_ms"], 40_000);
    eventually("the nodes as they were", || (nodes(&zookeeper.url()) == before).then_some(()));
}

/// As a user with the rights that the manual names for this order; and what there is to note.
#[track_caller]
fn on_kubernetes_as(verbs: &[&str], order: &str, notes: &[&str]) {
    let server = ApiServer::start();
    let user = server.kubeconfig_of(&[Rule::leases("elect", verbs)]);
    let url = format!("{}&order={order}", ApiServer::url_with("elect", &user));
    let found = report(&doctor(&url), 0);
    assert_eq!(granted(&found), RIGHTS);
    assert_eq!(endpoints(&found, "endpoint"), [json!(format!("http://{}", server.address()))]);
    assert_eq!(endpoints(&found, "answers"), [json!(true)]);
    assert!(endpoints(&found, "version")[0].is_string(), "{found:#}");
    assert_eq!(
        (&found["ttl"]["least_ms"], &found["ttl"]["advised_ms"]),
        (&json!(6000), &json!(15_000))
    );
    let said = findings(&found, "note");
    assert_eq!(said.len(), notes.len(), "{found:#}");
    for (said, note) in said.iter().zip(notes) {
        assert!(said.contains(note), "{said}");
    }
    // Without the right to delete, it is left that the election of the trial is over.
    let left = leases(&server);
    assert_eq!(left.is_empty(), verbs.contains(&"delete"), "{left:#?}");
    for lease in left {
        assert_eq!(lease["spec"]["holderIdentity"], "", "{lease:#}");
    }
}

#[test]
fn on_postgresql() {
    // Tests do without it otherwise.
    let server = Postgres::start_with(&["fsync=on"]);
    let found = report(&doctor(&format!("postgresql://elect@{}/postgres", server.address())), 0);
    assert_eq!(granted(&found), RIGHTS);
    let left = "SELECT election, document FROM elect.document WHERE election <> '-'";
    assert_eq!(server.ask(left), "");
}

/// The table is made first, as a table costs money. What the elections cost is said.
#[test]
fn on_dynamodb() {
    let server = Moto::start_as(&DatabaseSetup::default());
    let url = Moto::url(DatabaseServer::address(&server), "elect", "elect");
    let missing = Elect::new(ELECT).args(["run", "-b", &url, "-e", "job", "true"]).run().exits(125);
    assert!(missing.stderr.contains("elect doctor --create"), "{}", missing.stderr);
    let notes = |elect: &Elect| findings(&report(elect, 0), "note").concat();
    let created = notes(&doctor(&url).arg("--create"));
    assert!(created.contains("created the table elect in eu-west-1"), "{created}");
    let again = notes(&doctor(&url).env("ELECT_CREATE", "yes"));
    assert!(again.contains("what holds the elections is there"), "{again}");
    let found = report(&doctor(&url), 0);
    assert_eq!(granted(&found), RIGHTS);
    assert_eq!(found["ttl"]["advised_ms"], 60_000);
    let notes = notes(&doctor(&url));
    assert!(notes.contains("US dollars at list price"), "{notes}");
    Elect::new(ELECT).args(["run", "-b", &url, "-e", "job", "true"]).run().exits(0);
}

#[test]
fn on_s3() {
    let server = MotoS3::start();
    let url = MotoS3::url(DatabaseServer::address(&server), "elect", "elect");
    let found = report(&doctor(&url), 0);
    assert_eq!(granted(&found), RIGHTS);
    assert_eq!(found["ttl"]["advised_ms"], 60_000);
    let notes = findings(&found, "note").concat();
    assert!(notes.contains("US dollars at list price"), "{notes}");
    Elect::new(ELECT).args(["run", "-b", &url, "-e", "job", "true"]).run().exits(0);
}

#[test]
fn on_kubernetes() {
    on_kubernetes_as(&["get", "list", "watch", "create", "update", "delete"], "queue", &[]);
}

#[test]
fn on_kubernetes_with_the_rights_of_a_race() {
    on_kubernetes_as(&["get", "watch", "create", "update"], "race", &["cannot list elections"]);
}
