//! A hundred who wait: a change of leader is the business of one of them.

use elect_testkit::fault::TcpProxy;

use super::cluster::Brand;
use crate::prelude::*;

const CROWD: usize = 100;
/// So many of them come at a time.
const GROUP: usize = 50;
/// So long that no candidate renews while the test looks.
const TTL: &str = "100m";

/// The bytes that a connection sends by itself meanwhile: two of HTTP/2's pings, of 17 bytes each, are less than any
/// request.
const PINGS: u64 = 34;

/// Each with a proxy of its own, which counts what it sends.
struct Member {
    proxy: TcpProxy,
    running: Running,
}

fn join(brand: Brand, address: SocketAddr, id: &str, command: Vec<std::ffi::OsString>) -> Member {
    let proxy = TcpProxy::start(address);
    let url = brand.url(&[proxy.address()]);
    let running = Elect::new(ELECT)
        .args(["run", "-b", &url, "-e", "job", "--id", id, "--ttl", TTL, "--"])
        .args(command)
        .spawn();
    Member { proxy, running }
}

fn waiting(url: &str) -> Vec<String> {
    let status = Elect::new(ELECT);
    let ended = status.args(["status", "-b", url, "-o", "json", "job"]).run();
    let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let waiting = report["elections"][0]["waiting"].as_array().cloned().unwrap_or_default();
    waiting.iter().filter_map(|entry| entry["id"].as_str().map(str::to_owned)).collect()
}

fn one_change_is_the_business_of_one(brand: Brand) {
    let cluster = brand.slow();
    let address = cluster.addresses()[0];
    let url = brand.url(&[address]);
    let oracle = Oracle::new();
    let end = oracle.flag("end");
    let first = join(brand, address, "first", oracle.stamper("first").until(&end).command());
    oracle.wait_for_run("first");
    let next_end = oracle.flag("next-end");
    let mut crowd = Vec::with_capacity(CROWD);
    // Each newcomer reads all entries, which is much work if all come at once.
    while crowd.len() < CROWD {
        crowd.extend((crowd.len()..crowd.len() + GROUP).map(|number| {
            let tag = format!("c{number}");
            join(brand, address, &tag, oracle.stamper(&tag).until(&next_end).command())
        }));
        let whole = format!("{} in the queue", crowd.len());
        eventually(&whole, || (waiting(&url).len() == crowd.len()).then_some(()));
    }
    let queue = waiting(&url);
    // Each has looked at the queue once; the last answers are on their way.
    let sent = || -> Vec<u64> {
        crowd.iter().map(|member| member.proxy.traffic().requests.bytes).collect()
    };
    let mut before = sent();
    eventually("quiet", || {
        thread::sleep(Duration::from_millis(300));
        let now = sent();
        let is_quiet = !before.iter().zip(&now).any(|(before, now)| now - before > PINGS);
        before = now;
        is_quiet.then_some(())
    });
    end.raise();
    first.running.wait().exits(0);
    let heir = queue[0].split('-').next().expect("a label").to_owned();
    oracle.wait_for_run(&heir);
    let busy: Vec<String> = (0..CROWD)
        .zip(before.iter().zip(sent()))
        .filter(|(_, (before, after))| after - *before > PINGS)
        .map(|(number, _)| format!("c{number}"))
        .collect();
    assert_eq!(busy, [heir], "who sent requests");
}

#[test]
fn one_of_a_hundred_who_wait_for_etcd_is_busy_with_a_change() {
    one_change_is_the_business_of_one(Brand::Etcd);
}

#[test]
fn one_of_a_hundred_who_wait_for_zookeeper_is_busy_with_a_change() {
    one_change_is_the_business_of_one(Brand::ZooKeeper);
}
