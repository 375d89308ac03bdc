//! Against each kind of store.

use elect_testkit::servers::kubernetes::Rule;
use elect_testkit::servers::{Authority, Consul, ZooKeeperSetup};
use zookeeper_client::Client;

use super::{CHECKS, holds, report, selftest};
use crate::prelude::*;
use crate::store::real::{Brand, Home};

#[test]
fn all_holds_on_the_local_disk() {
    let ground = Ground::new();
    // It is made for the test, and goes with it.
    let url = format!("file://{}", ground.state().display());
    holds(selftest(&url).args(["-o", "json"]).run(), &CHECKS[7..]);
    assert!(!ground.state().exists());
    // Files that were there before stay.
    ground.run().arg("true").run().exits(0);
    let ended = selftest(&url).run().exits(0).is_quiet();
    assert_eq!(fs::read_dir(ground.state()).expect("it is there").count(), 1);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], format!("backend: {url}"));
    for (line, check) in lines[2..].iter().zip(CHECKS) {
        assert!(line.starts_with(check), "{line}");
    }
}

/// In the containment that the user will use.
#[test]
fn all_holds_in_each_containment() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    for (containment, skipped) in [("pidns", &CHECKS[7..]), ("group", &CHECKS[6..])] {
        let elect = selftest(&url).env("ELECT_CONTAINMENT", containment);
        holds(elect.args(["-o", "json"]).run(), skipped);
    }
    let elect = selftest(&url).args(["-o", "json", "--containment", "pidns"]);
    let report = report(&elect.run());
    let seen = report["checks"][6]["seen"].as_str().expect("words");
    assert!(seen.starts_with("containment pidns: "), "{seen}");
}

/// As a user with the rights that the manual names.
#[test]
fn all_holds_on_etcd() {
    let etcd = Etcd::start(1);
    etcd.demand_logins(&[("me", "hush", &["readwrite elect/"])]);
    let ctl = |words: &[&str]| etcd.ctl(&[&["--user", "root:root"], words].concat());
    ctl(&["put", "elect/other", "x"]);
    let elect = selftest(&etcd.url()).env("ELECT_USER", "me").env("ELECT_PASSWORD", "hush");
    holds(elect.args(["-o", "json"]).run(), &[]);
    assert_eq!(keys(&ctl(&["get", "--prefix", "", "--keys-only"])), ["elect/other"]);
}

/// A proxy takes the place of the endpoint there. In a race, no candidate shows that it waits.
#[test]
fn all_holds_on_s3() {
    let url = Home::usual(Brand::S3).url();
    holds(selftest(&url).args(["-o", "json"]).run(), &[]);
    let race = selftest(&url.replace("&order=queue", "")).run().exits(125);
    race.says("write order=queue in the store's URL");
}

/// The keys of a listing, but for the id that the first entry has given the store: others rely on that.
pub(crate) fn keys(listing: &str) -> Vec<&str> {
    listing.lines().filter(|key| !["", "elect/.store"].contains(key)).collect()
}

/// Each node of a server but its own, and but for the id of the store and what is above that alone.
pub(crate) fn nodes(url: &str) -> Vec<String> {
    let cluster = url.strip_prefix("zk://").expect("a URL").to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let client = Client::connect(&cluster).await.expect("a session");
        let (mut todo, mut found) = (vec![String::new()], Vec::new());
        while let Some(path) = todo.pop() {
            let children = client.list_children(if path.is_empty() { "/" } else { &path }).await;
            let children = children.expect("it is there").into_iter();
            let children: Vec<_> = children.map(|child| format!("{path}/{child}")).collect();
            todo.extend(children.iter().filter(|path| *path != "/zookeeper").cloned());
            found.extend(children);
        }
        found.retain(|path| path != "/elect/.store");
        if !found.iter().any(|path| path.starts_with("/elect/")) {
            found.retain(|path| path != "/elect");
        }
        found.sort();
        found
    })
}

#[test]
fn all_holds_on_zookeeper() {
    // Sessions end sooner after their time with this.
    let setup = ZooKeeperSetup { tick: Duration::from_secs(1), ..ZooKeeperSetup::default() };
    let zookeeper = ZooKeeper::start(&setup);
    let url = zookeeper.url();
    let before = nodes(&url);
    // A reply is given up there before it is late enough to matter.
    holds(selftest(&url).args(["-o", "json"]).run(), &["late reply"]);
    eventually("the nodes as they were", || (nodes(&url) == before).then_some(()));
}

/// All Leases of the namespace of tests.
pub(crate) fn leases(server: &ApiServer) -> Vec<Value> {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";
    let (status, mut list) = server.call("GET", leases, None);
    assert_eq!(status, 200, "{list}");
    serde_json::from_value(list["items"].take()).expect("a list")
}

/// As a user with the rights that the manual names. The URL has no server that could be another.
#[test]
fn all_holds_on_kubernetes() {
    let server = ApiServer::start();
    let verbs = ["get", "list", "watch", "create", "update", "delete"];
    let user = server.kubeconfig_of(&[Rule::leases("elect", &verbs)]);
    let url = ApiServer::url_with("elect", &user);
    holds(selftest(&url).args(["-o", "json"]).run(), &CHECKS[7..]);
    assert_eq!(leases(&server), [Value::Null; 0]);
}

#[test]
fn all_holds_on_postgresql() {
    holds(selftest(&Home::usual(Brand::PostgreSql).url()).args(["-o", "json"]).run(), &[]);
}

#[test]
fn all_holds_on_mariadb() {
    holds(selftest(&Home::usual(Brand::MariaDb).url()).args(["-o", "json"]).run(), &[]);
}

/// A proxy is not who a certificate names: that is said, and the rest is tried.
#[test]
fn with_tls_nothing_is_cut() {
    let authority = Authority::new();
    let pem = authority.server(&["127.0.0.1"]);
    let (cert, key) = (pem.cert.display(), pem.key.display());
    let etcd = Etcd::start_with(1, &[&format!("--cert-file={cert}"), &format!("--key-file={key}")]);
    let url = format!("{}?ca={}", etcd.url(), authority.ca().display());
    holds(selftest(&url).args(["-o", "json"]).run(), &CHECKS[7..]);
}

/// A proxy takes the place of a machine in the URL.
#[test]
fn nothing_is_cut_where_a_variable_names_the_machine() {
    let consul = Home::usual(Brand::Consul);
    let (address, url) = (consul.address().to_string(), consul.url());
    let (_, prefix) = url.rsplit_once('/').expect("a prefix");
    let elect = selftest(&format!("consul:///{prefix}")).env("CONSUL_HTTP_ADDR", address);
    let elect = elect.env("CONSUL_HTTP_TOKEN", Consul::token("elect"));
    holds(elect.args(["-o", "json"]).run(), &CHECKS[7..]);
}

#[test]
fn a_store_out_of_reach_is_said() {
    let ended = selftest("etcd://127.0.0.1:1").run().exits(125).prints("");
    ended.says("the check \"store\" cannot be made").says("127.0.0.1:1");
    selftest("file:").args(["--ttl", "9s"]).run().exits(125).says("no time limit");
    let etcd = Etcd::start(1);
    selftest(&etcd.url()).args(["--ttl", "2s"]).run().exits(125).says("take a TTL of");
}
