//! Two histories of one store: a primary that is not fenced off when its replica is promoted, and a database that is
//! restored elsewhere.

use elect_testkit::fault::{Outcome, TcpProxy};
use elect_testkit::program::within;
use elect_testkit::servers::{DatabaseServer, DatabaseSetup};

use super::cluster::Brand;
use super::duel::{LONGEST, elect, wait_in_line};
use super::{MARIADB, POSTGRESQL, Store, report};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(5);
/// For how long the test lets both lead.
const BOTH: Duration = Duration::from_secs(3);
const DUMP: &str = "51 dump restored in another server";

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

/// A reaches the old primary, and B the new one.
struct Split {
    oracle: Oracle,
    old: Box<dyn DatabaseServer>,
    a: Running,
    _b: Running,
    _new: Box<dyn DatabaseServer>,
    _way: TcpProxy,
}

impl Split {
    /// `prepare` gets the old primary, once it has a replica.
    fn new(brand: Brand, prepare: impl FnOnce(&dyn DatabaseServer)) -> Self {
        let old = brand.database(&DatabaseSetup { has_log: true, ..DatabaseSetup::default() });
        let oracle = Oracle::new();
        let new = old.replica();
        prepare(&*old);
        let way = TcpProxy::start(old.address());
        let a = candidate(&oracle, &brand.url(&[old.address(), new.address()]), "A");
        oracle.wait_for_run("A");
        let far = brand.url(&[way.address(), new.address()]);
        let b = candidate(&oracle, &far, "B");
        wait_in_line(&far, "B-", None);
        eventually("the replica to know all", || new.has_waiter().then_some(()));
        new.promote();
        way.hang_up(true);
        Self { oracle, old, a, _b: b, _new: new, _way: way }
    }
}

/// The manual says that both lead: this measures for how long.
fn lead_beside_an_old_primary(brand: Brand) -> Outcome {
    let Split { oracle, mut old, a, _b, _new, _way } = Split::new(brand, |_| {});
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
    Outcome { last: first.last, lease_end: None, next: Some(next.first), kept: None }
}

/// The old primary takes no writes without its replica. So A is dead before B leads, as the manual says.
fn end_before_the_next(brand: Brand) -> Outcome {
    let Split { oracle, a, .. } = &mut Split::new(brand, |old| old.wait_for_replica());
    std::mem::replace(a, Running::idle()).wait_for(LONGEST).exits(124);
    let next = within(LONGEST, "B to lead", || oracle.newest("B"));
    oracle.assert_sound();
    let last = oracle.newest("A").expect("A ran").last;
    Outcome { last, lease_end: None, next: Some(next.first), kept: None }
}

/// A leads and B waits at a server, whose database is then restored in another one. The address moves there, and C
/// comes.
struct Restored {
    oracle: Oracle,
    url: String,
    a: Running,
    _others: [Running; 2],
    _way: TcpProxy,
    _servers: [Box<dyn DatabaseServer>; 2],
}

impl Restored {
    fn new(brand: Brand) -> Self {
        let servers = [(); 2].map(|()| brand.database(&DatabaseSetup::default()));
        let [old, new] = &servers;
        let way = TcpProxy::start(old.address());
        let (url, oracle) = (brand.url(&[way.address()]), Oracle::new());
        let a = candidate(&oracle, &url, "A");
        oracle.wait_for_run("A");
        let b = candidate(&oracle, &url, "B");
        wait_in_line(&url, "B-", None);
        old.dump_to(&**new);
        way.redirect(new.address());
        let c = candidate(&oracle, &url, "C");
        Self { oracle, url, a, _others: [b, c], _way: way, _servers: servers }
    }

    /// Returns how A's leadership ends before the next one's.
    #[track_caller]
    fn outcome(&self, next: &str, kept: Option<bool>) -> Outcome {
        let first = within(LONGEST, "the next leader", || self.oracle.newest(next)).first;
        let runs = self.oracle.assert_sound();
        let tags: Vec<_> = runs.iter().map(|run| &*run.tag).collect();
        assert_eq!(tags, ["A", next]);
        Outcome { last: runs[0].last, lease_end: None, next: Some(first), kept }
    }
}

/// To candidates the new server is another store, if they know the old one. So neither A nor B leads there.
fn end_before_another() -> Outcome {
    let scene = Restored::new(Brand::PostgreSql);
    let outcome = scene.outcome("C", None);
    scene.a.wait().exits(124);
    outcome
}

/// The store's id is in the dump, and so is A's record.
fn go_on_elsewhere() -> Outcome {
    let mut scene = Restored::new(Brand::MariaDb);
    wait_in_line(&scene.url, "C-", None);
    scene.oracle.wait_for_stamps("A", TTL + Duration::from_secs(1));
    scene.a.signal(Signal::SIGTERM);
    scene.outcome("B", Some(true))
}

fn survive_an_old_primary(brand: Brand) {
    let fault = "52 replica promoted, the old primary not fenced off for 3 s of two leaders";
    report(fault, Store::Remote(brand), &lead_beside_an_old_primary(brand));
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_of_an_old_primary_of_mariadb_leads_beside_the_next_one() {
    survive_an_old_primary(Brand::MariaDb);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_of_an_old_primary_of_redis_leads_beside_the_next_one() {
    survive_an_old_primary(Brand::Redis);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_of_an_old_primary_of_redis_that_needs_its_replica_is_dead_in_time() {
    let fault = "52 replica promoted, the old primary not fenced off, with min-replicas-to-write 1";
    report(fault, Store::Remote(Brand::Redis), &end_before_the_next(Brand::Redis));
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_of_an_old_primary_of_postgresql_leads_beside_the_next_one() {
    survive_an_old_primary(Brand::PostgreSql);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_in_mariadb_goes_on_where_a_dump_is_restored() {
    report(DUMP, MARIADB, &go_on_elsewhere());
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_leader_in_postgresql_is_dead_before_another_leads_where_a_dump_is_restored() {
    report(DUMP, POSTGRESQL, &end_before_another());
}
