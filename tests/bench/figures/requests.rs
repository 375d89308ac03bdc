//! (g) What is asked of a store in a minute in which nothing happens, with the usual TTL of 15 s.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::Duration;

use elect_testkit::oracle::now;
use elect_testkit::program::eventually;
use nix::sys::signal::Signal;

use crate::asked::Asked;
use crate::contender::{Store, spawn};
use crate::crowd::Crowd;
use crate::order::Order;
use crate::process;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

const MINUTE: Duration = Duration::from_secs(60);
/// More than it takes until the first renewal, with which a leader writes something once.
const SETTLED: Duration = Duration::from_secs(5);

/// The waiters at the front, and those far behind them, which look more rarely on some stores.
const NEAR: u16 = 3;
const FAR: u16 = 10;
const SHARDS: usize = 64;

/// Requests and writes, per minute.
type Rates = [f64; 2];

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    let counts = |store: &Store| !matches!(store, Store::File | Store::Consul);
    let stores: Vec<Store> = order.stores().into_iter().filter(counts).collect();
    let mut crowds: Vec<Crowd<'_>> =
        stores.iter().map(|store| Crowd::start(stage, *store, &[])).collect();
    let leader = over_a_minute(stage, &stores);
    crowds.iter_mut().for_each(|crowd| crowd.fill(NEAR.into()));
    let few = over_a_minute(stage, &stores);
    crowds.iter_mut().for_each(|crowd| crowd.fill((NEAR + FAR).into()));
    let many = over_a_minute(stage, &stores);
    drop(crowds);
    let members: Vec<Member> = stores.iter().map(|store| Member::start(stage, *store)).collect();
    let member = over_a_minute(stage, &stores);
    drop(members);
    for (index, store) in stores.into_iter().enumerate() {
        let each = |all: &[Rates], rest: &[Rates], count: u16| {
            [0, 1].map(|rate| (all[index][rate] - rest[index][rate]) / f64::from(count))
        };
        let rates = [
            ("leader", leader[index]),
            ("waiter", each(&few, &leader, NEAR)),
            ("waiter behind three", each(&many, &few, FAR)),
            ("64 shards", member[index]),
        ];
        for (who, [requests, writes]) in rates {
            let of = format!("{}, {who}", store.name());
            let mut tell = |name, rate| {
                report.figure(name, &of, Unit::PerMinute).of("elect", Sample::once(rate));
            };
            tell("requests", requests);
            tell("writes", writes);
        }
    }
}

/// Of each store, at the same time.
fn over_a_minute(stage: &Stage, stores: &[Store]) -> Vec<Rates> {
    let asked = || stores.iter().map(|store| stage.asked(*store)).collect::<Vec<_>>();
    thread::sleep(SETTLED);
    let (from, before) = (now(), asked());
    thread::sleep(MINUTE);
    let (to, after) = (now(), asked());
    let minutes = to.since(from).as_secs_f64() / MINUTE.as_secs_f64();
    after.iter().zip(before).map(|(after, before)| per(minutes, after.since(before))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "few are asked")]
fn per(minutes: f64, asked: Asked) -> Rates {
    [asked.requests, asked.writes].map(|count| count as f64 / minutes)
}

/// One that leads all shards; ends when this is dropped.
struct Member(Child);

impl Member {
    fn start(stage: &Stage, store: Store) -> Self {
        let started = stage.path(&stage.fresh("shards"));
        let script = format!("echo >>'{}'; exec sleep 3600", started.display());
        let words = ["sh".into(), "-c".into(), script.into()];
        let (place, election) = (stage.place(store), stage.fresh("member"));
        let flags = ["--shards", &SHARDS.to_string()];
        let member = Self(spawn(store.run(&place, &election, &flags, &words)));
        eventually("all shards to be led", || {
            let lines = fs::read_to_string(&started).unwrap_or_default().lines().count();
            (lines == SHARDS).then_some(())
        });
        member
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        process::signal(&self.0, Signal::SIGTERM);
        let _ = self.0.wait();
    }
}
