//! A fault: its setting, what is done, and how that has to end.

use elect_testkit::fault::Outcome;

use super::cluster::Brand;
use super::duel::{Duel, Setting};
use super::store::Store;
use super::surroundings::Surroundings;
use crate::prelude::*;

/// A fault.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// For the table.
    pub(crate) words: &'static str,
    setting: Setting,
    strike: fn(&mut Duel),
    /// The ending on stores whose leases end by time.
    ending: Ending,
    /// On the local disk, if it applies there.
    local: Option<Ending>,
    servers: Servers,
}

/// Which stores with servers a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Servers {
    All,
    /// Stores of several members.
    Members,
    Leases,
    Rows,
    /// PostgreSQL behind a pooler, Consul behind an agent.
    Between,
    Redis,
    Clouds,
}

/// The ending that the case must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The store ends A's lease, with A's tree dead long before.
    Expires,
    /// A, or its guardian, gives the lease up after the tree's death.
    Resigns,
    /// No candidate leads beside A while A cannot act. Then A's command goes on.
    Holds,
    /// A loses its lease while no other candidate can have it.
    Outlasts,
    /// The store forgets A, which is dead before any candidate leads.
    Forgotten,
    /// A's command does not notice.
    Rides,
    /// Its command does not notice, or A loses its lease.
    Copes,
}

/// The time that A has led before it is struck, in milliseconds; short if unset. ZooKeeper proves a lease later than it
/// renews it, except in a young session.
pub(crate) const AGE: &str = "ELECT_TEST_AGE_MS";

fn age() -> Duration {
    let age = std::env::var(AGE).ok();
    Duration::from_millis(age.map_or(0, |age| age.parse().expect("milliseconds")))
}

/// The time for which no candidate may lead beside one that cannot act.
const HOLD: Duration = Duration::from_secs(2);

pub(crate) const fn case(
    name: &'static str,
    words: &'static str,
    setting: Setting,
    ending: Ending,
    strike: fn(&mut Duel),
) -> Case {
    Case { name, words, setting, strike, ending, local: None, servers: Servers::All }
}

impl Case {
    /// The same on the local disk, where it has to end like this.
    pub(crate) const fn locally(mut self, ending: Ending) -> Self {
        self.local = Some(ending);
        self
    }

    /// The same where a store has several members.
    pub(crate) const fn of_members(mut self) -> Self {
        self.servers = Servers::Members;
        self
    }

    /// The same for API servers of Kubernetes.
    pub(crate) const fn of_api_servers(mut self) -> Self {
        self.servers = Servers::Leases;
        self
    }

    /// The same for stores of rows.
    pub(crate) const fn of_rows(mut self) -> Self {
        self.servers = Servers::Rows;
        self
    }

    /// The same for a pooler of PostgreSQL and an agent of Consul.
    pub(crate) const fn of_those_between(mut self) -> Self {
        self.servers = Servers::Between;
        self
    }

    /// The same for services in a cloud.
    pub(crate) const fn of_clouds(mut self) -> Self {
        self.servers = Servers::Clouds;
        self
    }

    /// The same for Redis.
    pub(crate) const fn of_redis(mut self) -> Self {
        self.servers = Servers::Redis;
        self
    }

    /// Returns true if the case applies to a store.
    pub(crate) const fn is_about(&self, store: Store) -> bool {
        match (store, self.servers) {
            (Store::File, _) => self.local.is_some(),
            (Store::Remote(_), Servers::All) => true,
            (Store::Remote(brand), Servers::Members) => brand.has_members(),
            (Store::Remote(brand), Servers::Leases) => matches!(brand, Brand::Kubernetes),
            (Store::Remote(brand), Servers::Rows) => brand.has_rows(),
            (Store::Remote(brand), Servers::Between) => {
                matches!(brand, Brand::Consul | Brand::PostgreSql)
            }
            (Store::Remote(brand), Servers::Clouds) => matches!(brand, Brand::DynamoDb | Brand::S3),
            (Store::Remote(brand), Servers::Redis) => matches!(brand, Brand::Redis),
        }
    }

    /// Returns true if no other test should use the processor that the case uses.
    #[allow(dead_code, reason = "for the tests that run by hand")]
    pub(crate) const fn takes_a_processor(&self) -> bool {
        matches!(self.setting.surroundings, Surroundings::OneProcessor)
    }

    /// The same with these guards of A's turned off.
    pub(crate) const fn without(&self, without: &'static str) -> Self {
        let setting = Setting { without, ..self.setting };
        Self { setting, ..*self }
    }

    /// Has a duel survive it.
    #[track_caller]
    pub(crate) fn survive(&self, store: Store) -> Outcome {
        let mut duel = Duel::start(store, &self.setting);
        let led_since = now();
        eventually("A to have led for so long", || (now() >= led_since + age()).then_some(()));
        (self.strike)(&mut duel);
        let ending = match store {
            Store::File => self.local.expect("it applies"),
            Store::Remote(_) => self.ending,
        };
        match ending {
            Ending::Expires => {
                let (run, outcome) = duel.hand_over();
                duel.witness.sightings().prove_dead_in_time(&run);
                duel.heal();
                let is_killed = self.words.ends_with("killed");
                duel.a.wait().exits(if is_killed { 128 + 9 } else { 124 });
                outcome
            }
            Ending::Resigns => resign(duel),
            Ending::Copes => {
                let end = now() + duel.ttl * 2;
                eventually("A's end, or for A to go on", || {
                    (!duel.a.is_running() || now() > end).then_some(())
                });
                duel.end.raise();
                let (_, outcome) = duel.hand_over();
                duel.heal();
                duel.a.wait();
                Outcome { lease_end: None, ..outcome }
            }
            Ending::Outlasts => {
                let a = std::mem::replace(&mut duel.a, Running::idle());
                a.wait().exits(124).says("our entry may stay in the store");
                if self.servers == Servers::Members {
                    // ZooKeeper may commit nothing more, for anybody, after its leader and a follower stood still
                    // together, though each says that it leads or follows: it has to choose another leader.
                    let near = duel.near;
                    duel.cluster().member(near).kill();
                }
                duel.heal();
                let (_, outcome) = duel.hand_over();
                Outcome { lease_end: None, ..outcome }
            }
            Ending::Forgotten => {
                let run = duel.follow();
                duel.a.wait().exits(124);
                let next = duel.oracle.newest("B").map(|run| run.first);
                Outcome { last: run.last, lease_end: None, next, kept: None }
            }
            Ending::Holds => {
                let end = now() + HOLD;
                eventually("the end of a while", || (now() > end).then_some(()));
                assert!(duel.oracle.newest("B").is_none(), "B runs beside A");
                duel.heal();
                ride(duel, Duration::ZERO)
            }
            Ending::Rides => {
                let ttl = duel.ttl;
                ride(duel, ttl)
            }
        }
    }
}

/// A's tree is dead, and B's turn comes before A's lease has ended by itself.
fn resign(mut duel: Duel) -> Outcome {
    let (_, outcome) = duel.hand_over();
    duel.heal();
    assert_ne!(duel.a.wait().code(), 0);
    Outcome { lease_end: None, ..outcome }
}

/// A's command goes on for longer than its lease would have lasted, and ends when it wants to.
fn ride(mut duel: Duel, ttl: Duration) -> Outcome {
    duel.oracle.wait_for_stamps("A", ttl + Duration::from_secs(1));
    assert!(duel.oracle.newest("B").is_none(), "B runs beside A");
    duel.end.raise();
    let a = std::mem::replace(&mut duel.a, Running::idle());
    a.wait().exits(0);
    let (_, outcome) = duel.hand_over();
    duel.heal();
    Outcome { lease_end: None, kept: Some(true), ..outcome }
}
