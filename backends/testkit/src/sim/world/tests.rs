use std::time::{Duration, UNIX_EPOCH};

use elect_api::{Candidate, ElectionName};
use elect_record::{Ask as Of, Document, Holder, Name, Record, Reply as Said, Swapped};
use elect_simulation::queue::Bid;

use super::World;
use crate::sim::message::{Ask, Cause, Reply, Request};
use crate::sim::{Kind, Options};

const TTL: Duration = Duration::from_secs(10);

fn election() -> ElectionName {
    "e".parse().expect("a good name")
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn bid(nonce: u64) -> Bid {
    let candidate = Candidate { host: "h".into(), ..Candidate::foreign(format!("c{nonce}")) };
    Bid { nonce, candidate, joined: UNIX_EPOCH, ttl: TTL, arrived: None }
}

fn ask(world: &mut World, now: Duration, ask: Ask) -> Option<Reply> {
    world.apply(now, &Request::In(election(), ask))
}

/// Returns how many are before the entry, and its token. `None` if the entry is gone.
fn place(world: &mut World, now: Duration, request: Ask) -> Option<(usize, u64)> {
    match ask(world, now, request) {
        Some(Reply::Placed(place)) => Some((place.ahead, place.token)),
        Some(Reply::Ended { .. }) => None,
        other => panic!("a place is {other:?}"),
    }
}

/// Writes a record with this holder, token and beat. Returns its version, if it was written.
fn swap(
    world: &mut World,
    now: Duration,
    expected: u64,
    (nonce, token, beat): (u64, u64, u64),
) -> Option<u64> {
    let candidate = bid(nonce).candidate;
    let ttl = u64::try_from(TTL.as_millis()).expect("a short time");
    let holder =
        Holder { nonce, beat, ttl, candidate, joined: 0, since: 0, arrival: 0, renewed: None };
    let record = Record { token, holder: Some(holder), ..Record::default() };
    let document = Box::new(Document::Record(record));
    match ask(world, now, Ask::Documents(Of::Swap(Name::Record, expected, document))) {
        Some(Reply::Documents(Said::Swapped(Swapped::Yes(version)))) => Some(version),
        Some(Reply::Documents(Said::Swapped(Swapped::No))) => None,
        other => panic!("a swap is {other:?}"),
    }
}

#[test]
fn a_lease_ends_at_its_ttl_and_not_a_nanosecond_before() {
    let mut world = World::new(Options::new(Kind::Queue));
    place(&mut world, at(0), Ask::Enter(bid(1)));
    assert_eq!(world.next_end(), Some(at(10)));
    world.end_leases(TTL.saturating_sub(Duration::from_nanos(1)));
    assert_eq!(world.history()[0].over, None);
    world.end_leases(at(10));
    assert_eq!(world.history()[0].over, Some((at(10), Cause::Expired)));
    assert_eq!(world.next_end(), None);
}

#[test]
fn the_lowest_living_entry_leads() {
    let mut world = World::new(Options::new(Kind::Queue));
    let enter = |world: &mut World, now, nonce| place(world, at(now), Ask::Enter(bid(nonce)));
    let (_, first) = enter(&mut world, 0, 1).expect("a place");
    assert_eq!(enter(&mut world, 4, 2).map(|(ahead, _)| ahead), Some(1));
    assert_eq!(enter(&mut world, 6, 3).map(|(ahead, _)| ahead), Some(2));
    assert_eq!(enter(&mut world, 6, 3).map(|(ahead, _)| ahead), Some(2), "a repetition");
    // The first entry was not renewed. The second was.
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
fn an_ended_entry_never_comes_back() {
    let mut world = World::new(Options::new(Kind::Queue));
    place(&mut world, at(0), Ask::Enter(bid(1)));
    world.end_leases(at(10));
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
fn a_record_outlasts_its_time_until_it_is_taken() {
    let mut world = World::new(Options::new(Kind::Race));
    let held = swap(&mut world, at(0), 0, (1, 1, 1)).expect("a record");
    let renewed = swap(&mut world, at(5), held, (1, 1, 2)).expect("a renewal");
    let other = swap(&mut world, at(9), renewed, (1, 1, 2)).expect("what is no renewal");
    assert_eq!(world.next_end(), None, "it knows no time");
    world.end_leases(at(1000));
    swap(&mut world, at(1000), other, (2, 2, 1)).expect("a takeover");
    let old = &world.history()[0];
    assert_eq!((old.lease_end, old.over), (at(15), Some((at(1000), Cause::Replaced))));
}

#[test]
fn a_late_write_finds_another_version_than_before_a_wipe() {
    let mut world = World::new(Options::new(Kind::Record));
    let held = swap(&mut world, at(0), 0, (1, 1, 1)).expect("a record");
    world.wipe(at(1), &election());
    assert_eq!(swap(&mut world, at(1), held, (1, 1, 2)), None, "there is none");
    let anew = swap(&mut world, at(2), 0, (2, 2, 1)).expect("there is none");
    assert!(anew > held);
    assert_eq!(swap(&mut world, at(2), held, (1, 1, 2)), None, "it is another");
}

#[test]
fn a_wait_ends_with_its_event() {
    let mut queue = World::new(Options::new(Kind::Queue));
    place(&mut queue, at(0), Ask::Enter(bid(1)));
    assert_eq!(ask(&mut queue, at(9), Ask::AwaitEnd { nonce: 1, control: 0 }), None);
    assert_eq!(
        ask(&mut queue, at(10), Ask::AwaitEnd { nonce: 1, control: 0 }),
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
    assert_eq!(ask(&mut world, at(0), Ask::Documents(Of::List)), Some(Reply::Unfit));
    let mut world = World::new(Options::new(Kind::Record));
    assert_eq!(ask(&mut world, at(0), Ask::Renew(1)), Some(Reply::Unfit));
}
