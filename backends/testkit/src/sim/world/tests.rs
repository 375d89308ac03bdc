use std::time::{Duration, UNIX_EPOCH};

use elect_api::{Candidate, ElectionName};

use super::World;
use crate::sim::message::{Ask, Bid, Cause, Record, Reply, Request};
use crate::sim::{Expiry, Kind, Options, StoreTime};

const TTL: Duration = Duration::from_secs(10);

fn election() -> ElectionName {
    "e".parse().expect("a good name")
}

fn at(seconds: u64) -> StoreTime {
    StoreTime::at(Duration::from_secs(seconds))
}

fn bid(nonce: u64) -> Bid {
    let candidate = Candidate {
        id: format!("c{nonce}"),
        host: "h".into(),
        pid: 1,
        command: "x".into(),
        containment: "y".into(),
        priority: Candidate::USUAL_PRIORITY,
        division: elect_api::Division::Whole,
    };
    Bid { nonce, candidate, joined: UNIX_EPOCH, ttl: TTL, arrived: None }
}

fn ask(world: &mut World, now: StoreTime, ask: Ask) -> Option<Reply> {
    world.apply(now, &Request::In(election(), ask))
}

/// How many are before the entry, and its token; `None` if it is gone.
fn place(world: &mut World, now: StoreTime, request: Ask) -> Option<(usize, u64)> {
    match ask(world, now, request) {
        Some(Reply::Placed(place)) => Some((place.ahead, place.token)),
        Some(Reply::Ended { .. }) => None,
        other => panic!("a place is {other:?}"),
    }
}

fn swap(
    world: &mut World,
    now: StoreTime,
    expect: u64,
    bid: Option<Bid>,
) -> Result<Record, Record> {
    match ask(world, now, Ask::Swap { expect, bid }) {
        Some(Reply::Swapped(record)) => Ok(record),
        Some(Reply::Stands(record)) => Err(record),
        other => panic!("a swap is {other:?}"),
    }
}

fn token(record: &Record) -> Option<u64> {
    record.holder.as_ref().map(|holder| holder.token)
}

#[test]
fn a_lease_ends_at_its_ttl_and_not_a_nanosecond_before() {
    for kind in [Kind::Queue, Kind::Record(Expiry::Store)] {
        let mut world = World::new(Options::new(kind));
        match kind {
            Kind::Queue => _ = place(&mut world, at(0), Ask::Enter(bid(1))),
            Kind::Record(_) => _ = swap(&mut world, at(0), 0, Some(bid(1))),
        }
        assert_eq!(world.next_end(), Some(at(10)), "{kind:?}");
        world.settle(StoreTime::at(TTL.saturating_sub(Duration::from_nanos(1))));
        assert_eq!(world.history()[0].over, None);
        world.settle(at(10));
        assert_eq!(world.history()[0].over, Some((at(10), Cause::Expired)));
        assert_eq!(world.next_end(), None);
    }
}

#[test]
fn the_lowest_living_entry_leads() {
    let mut world = World::new(Options::new(Kind::Queue));
    let enter = |world: &mut World, now, nonce| place(world, at(now), Ask::Enter(bid(nonce)));
    let (_, first) = enter(&mut world, 0, 1).expect("a place");
    assert_eq!(enter(&mut world, 4, 2).map(|(ahead, _)| ahead), Some(1));
    assert_eq!(enter(&mut world, 6, 3).map(|(ahead, _)| ahead), Some(2));
    assert_eq!(enter(&mut world, 6, 3).map(|(ahead, _)| ahead), Some(2), "a repetition");
    // The first was not renewed; the second was.
    assert_eq!(place(&mut world, at(9), Ask::Renew(2)).map(|(ahead, _)| ahead), Some(1));
    let (ahead, token) = place(&mut world, at(11), Ask::Renew(2)).expect("a place");
    assert!(ahead == 0 && token > first);
    assert_eq!(place(&mut world, at(11), Ask::Renew(1)), None);
    let history: Vec<_> = world
        .history()
        .iter()
        .map(|led| (led.candidate.as_str(), led.from, led.lease_end))
        .collect();
    assert_eq!(history, [("c1", at(0), at(10)), ("c2", at(10), at(21))]);
}

#[test]
fn what_has_ended_never_comes_back() {
    let mut world = World::new(Options::new(Kind::Queue));
    place(&mut world, at(0), Ask::Enter(bid(1)));
    world.settle(at(10));
    assert_eq!(place(&mut world, at(11), Ask::Enter(bid(1))), None, "after its lease");
    assert_eq!(ask(&mut world, at(11), Ask::Leave(2)), Some(Reply::Left));
    assert_eq!(place(&mut world, at(11), Ask::Enter(bid(2))), None, "left before it came");
    place(&mut world, at(11), Ask::Enter(bid(3)));
    assert_eq!(world.remove(at(12), &election(), "c3"), 1);
    assert_eq!(place(&mut world, at(12), Ask::Enter(bid(3))), None, "removed");
    world.bury(at(12), &election(), 4);
    assert_eq!(place(&mut world, at(12), Ask::Enter(bid(4))), None, "buried");
}

#[test]
fn tokens_rise_through_everything() {
    let mut world = World::new(Options::new(Kind::Queue));
    let mut last = 0;
    for nonce in 1..20 {
        let (_, token) = place(&mut world, at(nonce), Ask::Enter(bid(nonce))).expect("a place");
        assert!(token > last);
        last = token;
        match nonce % 4 {
            0 => world.wipe(at(nonce), &election()),
            1 => _ = world.remove(at(nonce), &election(), ""),
            2 => _ = ask(&mut world, at(nonce), Ask::Leave(nonce)),
            _ => world.bury(at(nonce), &election(), nonce),
        }
    }
    assert_eq!(world.history().len(), 19);
}

#[test]
fn a_record_is_changed_by_who_knows_its_version() {
    let mut world = World::new(Options::new(Kind::Record(Expiry::Store)));
    let held = swap(&mut world, at(0), 0, Some(bid(1))).expect("a record");
    assert_eq!(swap(&mut world, at(0), 0, Some(bid(2))), Err(held.clone()));
    let renewed = swap(&mut world, at(5), held.version, Some(bid(1))).expect("a renewal");
    assert!(renewed.version > held.version && token(&renewed) == token(&held));
    assert!(swap(&mut world, at(5), held.version, Some(bid(1))).is_err(), "the same write twice");
    world.settle(at(15));
    let vacant = swap(&mut world, at(15), renewed.version, Some(bid(1))).expect_err("expired");
    assert_eq!(token(&vacant), None);
    let next = swap(&mut world, at(15), vacant.version, Some(bid(2))).expect("a record");
    assert!(token(&next) > token(&held));
}

#[test]
fn a_record_that_contenders_end_outlasts_its_time() {
    let mut world = World::new(Options::new(Kind::Record(Expiry::Holder)));
    let held = swap(&mut world, at(0), 0, Some(bid(1))).expect("a record");
    assert_eq!(world.next_end(), None);
    world.settle(at(1000));
    let next = swap(&mut world, at(1000), held.version, Some(bid(2))).expect("a takeover");
    assert!(token(&next) > token(&held));
    let old = &world.history()[0];
    assert_eq!((old.lease_end, old.over), (at(10), Some((at(1000), Cause::Replaced))));
}

#[test]
fn waits_end_with_what_they_wait_for() {
    let mut queue = World::new(Options::new(Kind::Queue));
    place(&mut queue, at(0), Ask::Enter(bid(1)));
    assert_eq!(ask(&mut queue, at(9), Ask::AwaitEnd { nonce: 1, orders: 0 }), None);
    assert_eq!(
        ask(&mut queue, at(10), Ask::AwaitEnd { nonce: 1, orders: 0 }),
        Some(Reply::Changed)
    );
    let mut record = World::new(Options::new(Kind::Record(Expiry::Store)));
    let held = swap(&mut record, at(0), 0, Some(bid(1))).expect("a record");
    let token = token(&held).expect("a holder");
    assert_eq!(ask(&mut record, at(9), Ask::AwaitChange { token, orders: 0 }), None);
    assert_eq!(
        ask(&mut record, at(10), Ask::AwaitChange { token, orders: 0 }),
        Some(Reply::Changed)
    );
}

#[test]
fn grants_stay_within_their_bounds() {
    let bounds = |min, max| {
        Options::new(Kind::Queue).ttl_within(Duration::from_secs(min), Duration::from_secs(max))
    };
    for (options, granted) in [(bounds(1, 60), 10), (bounds(30, 60), 30), (bounds(1, 4), 4)] {
        let mut world = World::new(options);
        place(&mut world, at(0), Ask::Enter(bid(1)));
        assert_eq!(world.next_end(), Some(at(granted)));
    }
}

#[test]
fn a_store_of_one_kind_does_not_pose_as_another() {
    let mut world = World::new(Options::new(Kind::Queue));
    assert_eq!(ask(&mut world, at(0), Ask::Read), Some(Reply::Unfit));
    let mut world = World::new(Options::new(Kind::Record(Expiry::Store)));
    assert_eq!(ask(&mut world, at(0), Ask::Renew(1)), Some(Reply::Unfit));
}
