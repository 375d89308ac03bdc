//! Requests that come late.

use elect_api::{Cell, Ending, ErrorKind, If, Key, Removal, Scope, Standing, Store, Written};
use elect_record::{Data, Document, Name, Purpose, Text};
use elect_testkit::{election, poll_n_eagerly, run};

use crate::documents::{Fake, Inner, at, leads, wins};

/// A winning write is under way, and its waiter is removed. The seat starts over with another nonce, and then the write
/// arrives.
#[test]
fn a_seat_that_starts_over_leaves_no_win_behind() {
    run("orphan", async {
        let fake = Fake::default();
        let (mut dead, mut late) = (fake.seat("dead").await, fake.seat("late").await);
        assert!(leads(&mut dead, 1).await);
        for second in 1..=13 {
            assert!(!leads(&mut late, second).await);
        }
        fake.with(|inner| inner.hold = Some((Name::Record, Purpose::Enter)));
        assert!(poll_n_eagerly(20, late.refresh(at(14))).await.is_none());
        let ticket = late.ticket().expect("as it was made");
        // Another candidate takes this one for dead, because it stood still. It removes the waiter only.
        fake.with(|inner| inner.waiters().into_iter().for_each(|name| inner.remove(name)));
        assert!(!leads(&mut late, 40).await);
        assert_ne!(late.ticket().expect("as it was made"), ticket);
        late.resign(None).await.expect("as it was made");
        fake.deliver();
        assert_ne!(
            fake.leader().as_deref(),
            Some("late"),
            "a seat that has resigned holds the record"
        );
    });
}

/// A candidate that was overtaken comes back to its place. The waiters behind wait for it, so it must not wait for
/// them.
#[test]
fn a_candidate_that_returns_to_its_place_does_not_wait_for_later_ones() {
    run("back", async {
        let fake = Fake::default();
        let mut seats = [fake.seat("a").await, fake.seat("b").await, fake.seat("c").await];
        assert!(leads(&mut seats[0], 1).await);
        for second in 1..=2 {
            assert!(!leads(&mut seats[1], second).await && !leads(&mut seats[2], second).await);
        }
        seats[0].resign(None).await.expect("as it was made");
        // A newcomer is faster than b, and has led.
        let overtake = |inner: &mut Inner| inner.write(|record| record.token += 1);
        fake.with(|inner| inner.before = Some((Name::Record, Purpose::Enter, Box::new(overtake))));
        let ticket = seats[1].ticket();
        for _ in 0..5 {
            match seats[1].refresh(at(3)).await.expect("as it was made").standing {
                Standing::Waiting { mut wake, .. } => {
                    assert!(poll_n_eagerly(1, &mut wake).await.is_some(), "it waits for others");
                }
                _ => break,
            }
        }
        assert_ne!(seats[1].ticket(), ticket, "it was not overtaken");
        assert_eq!(fake.leader().as_deref(), Some("b"));
    });
}

/// Another candidate makes the record at the same time, leads, and leaves before any watch reports it.
#[test]
fn a_second_candidate_is_woken_though_the_leader_has_left_already() {
    run("second", async {
        let fake = Fake::default();
        let mut seat = fake.seat("a").await;
        let lead = |inner: &mut Inner| inner.write(|record| record.token += 1);
        fake.with(|inner| inner.before = Some((Name::Record, Purpose::Enter, Box::new(lead))));
        let standing = seat.refresh(at(1)).await.expect("as it was made").standing;
        let Standing::Waiting { mut wake, .. } = standing else { panic!("it leads") };
        assert!(poll_n_eagerly(1, &mut wake).await.is_some(), "no watch tells it");
        assert!(leads(&mut seat, 1).await);
    });
}

/// Other candidates lead and leave, each time before this one can take the record. It must not miss the last of them.
#[test]
fn a_candidate_that_was_overtaken_often_looks_again_after_the_last_time() {
    run("often", async {
        let fake = Fake::default();
        let mut seat = fake.seat("a").await;
        for _ in 0..20 {
            let lead = |inner: &mut Inner| inner.write(|record| record.token += 1);
            fake.with(|inner| {
                inner.before = Some((Name::Record, Purpose::Enter, Box::new(lead)));
            });
            let standing = seat.refresh(at(1)).await.expect("as it was made").standing;
            let Standing::Waiting { mut wake, .. } = standing else { panic!("it leads") };
            assert!(poll_n_eagerly(1, &mut wake).await.is_some(), "no watch tells it");
        }
    });
}

/// A value of A is under way. B then leads and resigns, and the election is forgotten. The value must not appear.
#[test]
fn a_late_value_does_not_appear() {
    run("late value", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "k".parse().expect("as it was made");
        let mut a = fake.seat("a").await;
        let token = wins(&mut a, 1).await;
        fake.with(|inner| inner.hold = Some((Name::Data, Purpose::Data)));
        let (name, leads_a) = (election(), If::Leads(token));
        assert!(
            poll_n_eagerly(20, store.write(&name, Cell::Value(&key), b"stale", leads_a))
                .await
                .is_none()
        );
        a.resign(None).await.expect("as it was made");
        let mut b = fake.seat("b").await;
        assert!(leads(&mut b, 2).await);
        b.resign(None).await.expect("as it was made");
        store.remove(&name, Removal::Everything { fences: false }).await.expect("as it was made");
        let mut c = fake.seat("c").await;
        fake.deliver();
        assert!(leads(&mut c, 3).await);
        let value = store.read(&name, Cell::Value(&key)).await.expect("as it was made");
        assert_eq!(value.bytes, None, "C reads the value of A, whom B has followed");
    });
}

/// As above, but no candidate has led since.
#[test]
fn a_late_value_does_not_outlast_that_its_election_is_forgotten() {
    run("late value, forgotten", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "k".parse().expect("as it was made");
        let mut a = fake.seat("a").await;
        let token = wins(&mut a, 1).await;
        fake.with(|inner| inner.hold = Some((Name::Data, Purpose::Data)));
        let (name, cell) = (election(), Cell::Value(&key));
        let late = store.write(&name, cell, b"stale", If::Leads(token));
        assert!(poll_n_eagerly(20, late).await.is_none());
        a.resign(None).await.expect("as it was made");
        let forgotten = store.remove(&name, Removal::Everything { fences: false }).await;
        forgotten.expect("it is empty");
        fake.deliver();
        assert_eq!(store.read(&name, cell).await.expect("as it was made").bytes, None);
    });
}

/// While the election is forgotten, a first fence is set.
#[test]
fn a_fence_that_is_set_as_its_election_is_forgotten_is_listed() {
    run("forget and fence", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "disk".parse().expect("as it was made");
        let mut a = fake.seat("a").await;
        assert!(leads(&mut a, 1).await);
        a.resign(None).await.expect("as it was made");
        let text = Text { version: 99, bytes: b"7".to_vec() };
        fake.with(|inner| {
            let act = move |inner: &mut Inner| {
                // The fence is announced and then written, so it passes.
                inner.write(|record| (record.has_data, record.has_epochs) = (true, true));
                let texts = [("fence:disk".to_owned(), text)].into();
                inner.put(Name::Data, Document::Data(Data { epoch: 1, texts, damage: None }));
            };
            inner.before = Some((Name::Record, Purpose::Leave, Box::new(act)));
        });
        let forgotten = store.remove(&election(), Removal::Everything { fences: false }).await;
        assert!(forgotten.is_err(), "a fence is lost");
        let fence = store.read(&election(), Cell::Fence(&key)).await.expect("as it was made");
        let kept = store.list(Scope::Kept).await.expect("as it was made");
        assert_eq!(fence.bytes.is_some(), !kept.is_empty(), "it is kept, and not listed");
    });
}

/// The election is forgotten after a fence was announced, and before it is written.
#[test]
fn a_fence_that_is_set_after_its_election_is_forgotten_is_listed() {
    run("forget, then fence", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "disk".parse().expect("as it was made");
        let forget = |inner: &mut Inner| inner.write(|record| record.has_data = false);
        fake.with(|inner| inner.before = Some((Name::Data, Purpose::Data, Box::new(forget))));
        let written = store.write(&election(), Cell::Fence(&key), b"7", If::Version(0)).await;
        assert!(matches!(written, Ok(Written::Yes(_))), "{written:?}");
        let kept = store.list(Scope::Kept).await.expect("as it was made");
        assert_eq!(kept, [election()], "it is kept, and not listed");
    });
}

/// Other programs set fences all the time, in the middle of each attempt of a new leader to write its token.
#[test]
fn fences_that_are_set_all_the_time_keep_no_candidate_from_leading() {
    run("busy fences", async {
        let fake = Fake::default();
        fake.with(|inner| {
            inner.write(|record| (record.has_data, record.has_epochs) = (true, true));
            inner.busy = 20;
        });
        let mut seat = fake.seat("a").await;
        assert!(leads(&mut seat, 1).await);
    });
}

/// The record is deleted by hand while a value of the previous leader is under way.
#[test]
fn a_deleted_record_lets_no_late_value_in() {
    run("deleted", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "k".parse().expect("as it was made");
        let (name, cell) = (election(), Cell::Value(&key));
        let mut a = fake.seat("a").await;
        let token = wins(&mut a, 1).await;
        store.write(&name, cell, b"old", If::Leads(token)).await.expect("as it was made");
        fake.with(|inner| inner.hold = Some((Name::Data, Purpose::Data)));
        assert!(
            poll_n_eagerly(20, store.write(&name, cell, b"stale", If::Leads(token)))
                .await
                .is_none()
        );
        fake.with(|inner| inner.remove(Name::Record));
        let mut b = fake.seat("b").await;
        assert!(leads(&mut b, 2).await);
        fake.deliver();
        assert_eq!(
            store.read(&name, cell).await.expect("as it was made").bytes.as_deref(),
            Some(&b"old"[..])
        );
    });
}

/// A leader is suspended for longer than its lease, and is judged to be dead. It goes on right before its entry is
/// removed.
#[test]
fn a_leader_that_renews_after_it_was_judged_keeps_its_entry() {
    run("judged", async {
        let fake = Fake::default();
        let (store, name) = (fake.store(), election());
        let mut a = fake.seat("a").await;
        let token = wins(&mut a, 1).await;
        let mark = async || {
            let leader = store.survey(&name).await.expect("an answer").leader.expect("an entry");
            let Some(Ending::Judged { mark, .. }) = leader.ending else { panic!("{leader:?}") };
            Some(mark)
        };
        let remove = async |mark| store.remove(&name, Removal::Leader { token, mark }).await;
        let first = mark().await;
        assert!(leads(&mut a, 20).await);
        let refused = remove(first).await.expect_err("it lives");
        assert_eq!(refused.kind(), ErrorKind::Unfit, "{refused}");
        assert_eq!(fake.leader().as_deref(), Some("a"));
        // Now it renews in the middle of the removal.
        let renewed = mark().await;
        assert_ne!(renewed, first);
        let renew = |inner: &mut Inner| {
            inner.write(|record| record.holder.as_mut().expect("it leads").beat += 1);
        };
        fake.with(|inner| inner.before = Some((Name::Record, Purpose::Leave, Box::new(renew))));
        remove(renewed).await.expect_err("it lives");
        assert_eq!(fake.leader().as_deref(), Some("a"));
        // A person knows that it lives, and still removes it.
        remove(None).await.expect("an entry may be removed in spite of its holder");
        assert_eq!(fake.leader(), None);
    });
}
