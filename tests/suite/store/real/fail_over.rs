//! Two histories of one store: a primary that is not fenced off when its replica is promoted, and a database that is
//! restored elsewhere.

use elect_testkit::fault::{Outcome, TcpProxy};
use elect_testkit::program::within;
use elect_testkit::servers::Postgres;

use super::cluster::Brand;
use super::duel::{LONGEST, elect, wait_in_line};
use super::{POSTGRESQL, report};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(5);
/// For how long the test lets both lead.
const BOTH: Duration = Duration::from_secs(3);

/// A's command, which is deaf, and those of others.
fn commands(oracle: &Oracle, id: &str) -> Vec<std::ffi::OsString> {
    match id {
        "A" => oracle.stamper(id).children(2).depth(2).deaf().command(),
        _ => oracle.stamper(id).children(1).command(),
    }
}

fn candidate(oracle: &Oracle, url: &str, id: &str) -> Running {
    elect(url, id, TTL, None).arg("--").args(commands(oracle, id)).spawn()
}

/// A reaches the old primary, and B the new one. The manual says that both lead then: this measures for how long.
fn lead_beside_an_old_primary() -> Outcome {
    let mut old = Postgres::start();
    let oracle = Oracle::new();
    let new = old.replica();
    let way = TcpProxy::start(old.address());
    let a = candidate(&oracle, &Brand::PostgreSql.url(&[old.address(), new.address()]), "A");
    oracle.wait_for_run("A");
    let far = Brand::PostgreSql.url(&[way.address(), new.address()]);
    let b = candidate(&oracle, &far, "B");
    wait_in_line(&far, "B-", None);
    let record = "SELECT count(*) FROM elect.document WHERE document LIKE 'waiter-%'";
    eventually("the replica to know all", || (new.ask(record) != "0").then_some(()));
    new.promote();
    way.hang_up(true);
    let next = within(LONGEST, "B to lead", || oracle.newest("B"));
    let both = oracle.wait_for_stamps("B", BOTH);
    let first = oracle.newest("A").expect("A ran");
    assert!(first.is_alive(), "A has ended before the old primary did: {first}");
    assert!(both.token > first.token, "{both} after {first}");
    old.kill();
    a.wait().exits(124);
    let first = oracle.newest("A").expect("A ran");
    assert!(!first.is_alive(), "{first}");
    let overlap = first.last.since(next.first);
    println!("both led for {overlap:?}");
    assert!((BOTH..BOTH + TTL).contains(&overlap), "{overlap:?}");
    drop(b);
    Outcome { last: first.last, lease_end: None, next: Some(next.first), kept: None }
}

/// The dump names a leader of another cluster. No candidate that knows the old one believes the new one.
fn restore_elsewhere() -> Outcome {
    let (old, new) = (Postgres::start(), Postgres::start());
    let way = TcpProxy::start(old.address());
    let (url, oracle) = (Brand::PostgreSql.url(&[way.address()]), Oracle::new());
    let a = candidate(&oracle, &url, "A");
    oracle.wait_for_run("A");
    let b = candidate(&oracle, &url, "B");
    wait_in_line(&url, "B-", None);
    old.dump_to(&new);
    way.redirect(new.address());
    let c = candidate(&oracle, &url, "C");
    let next = within(LONGEST, "C to lead", || oracle.newest("C"));
    let runs = oracle.assert_sound();
    let tags: Vec<_> = runs.iter().map(|run| &*run.tag).collect();
    assert_eq!(tags, ["A", "C"]);
    a.wait().exits(124);
    drop((b, c));
    Outcome { last: runs[0].last, lease_end: None, next: Some(next.first), kept: None }
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_of_an_old_primary_leads_beside_the_next_one() {
    let fault = "52 replica promoted, the old primary not fenced off for 3 s of two leaders";
    report(fault, POSTGRESQL, &lead_beside_an_old_primary());
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_of_a_database_that_is_restored_elsewhere_is_dead_in_time() {
    report("51 dump restored in another server", POSTGRESQL, &restore_elsewhere());
}
