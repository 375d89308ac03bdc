//! Tests that elections whose keys begin alike are kept apart.

use elect_api::Scope;
use elect_testkit::run;
use elect_testkit::servers::Etcd;

use crate::support::{Runner, job};

#[test]
fn a_nested_election_is_no_candidate() {
    run("nesting", async {
        let etcd = Etcd::start(1);
        let (outer, inner) = (format!("{}/x", etcd.url()), format!("{}/x/job", etcd.url()));
        let deep = "deep".parse().expect("a name");
        let mut nested = Runner::in_election(&inner, &deep, "nested").await;
        nested.lead().await;
        let mut ours = Runner::new(&outer, "ours").await;
        ours.lead().await;
        assert_eq!(ours.line_up().await, ["ours"]);
        assert_eq!(ours.store.list(Scope::Entered).await.expect("a list"), [job()]);
        assert_eq!(nested.store.list(Scope::Entered).await.expect("a list"), [deep]);
        let mut second = Runner::new(&outer, "second").await;
        drop(second.wait_behind(1).await);
        nested.lead().await;
    });
}

#[test]
fn many_nested_keys_hide_no_candidate() {
    run("nesting", async {
        let etcd = Etcd::start(1);
        let mut first = Runner::new(&etcd.url(), "first").await;
        first.lead().await;
        let endpoint = etcd.endpoints()[0].to_string();
        let mut client = etcd_client::Client::connect([endpoint], None).await.expect("a client");
        for number in 0..250 {
            let key = format!("elect/job/deep/{number:x}");
            client.put(key, "", None).await.expect("a key");
        }
        let mut second = Runner::new(&etcd.url(), "second").await;
        let wake = second.wait_behind(1).await;
        drop(second.wait_behind(1).await);
        first.seat.resign(None).await.expect("a resign");
        wake.await;
        second.lead().await;
    });
}

#[test]
fn foreign_keys_in_the_prefix_block_no_candidate() {
    run("nesting", async {
        let etcd = Etcd::start(1);
        etcd.ctl(&["put", "elect/job/settings", "x"]);
        etcd.ctl(&["put", "elect/job/", "x"]);
        let mut ours = Runner::new(&etcd.url(), "ours").await;
        ours.lead().await;
        assert_eq!(ours.line_up().await, ["ours"]);
    });
}
