//! Documents that a person has written by hand, or a program by mistake.

use std::time::Duration;

use elect_api::{Candidate, Cell, ErrorKind, If, Key, Removal, Standing, Store, Written};
use elect_record::{Data, Document, Listed, Name, Purpose};
use elect_testkit::{election, poll_n_eagerly, run};

use crate::documents::{Fake, Illness, at, leads, wins};

/// A list leaves out a damaged record. That must not end every wake at once, without any error.
#[test]
fn a_damaged_record_is_no_busy_loop() {
    run("damaged", async {
        let fake = Fake::default();
        fake.with(|inner| {
            inner.write(|_| ());
            inner.damaged = true;
        });
        let mut seat = fake.seat("a").await;
        let mut awake = 0;
        for _ in 0..100 {
            let standing = seat.refresh(at(1)).await.map(|refreshed| refreshed.standing);
            let Ok(Standing::Waiting { wake, .. }) = standing else { break };
            awake += usize::from(poll_n_eagerly(1, wake).await.is_some());
        }
        assert!(awake < 5, "{awake} wakes that had come already, at one instant");
    });
}

/// A server that is not well refuses each write as overtaken.
#[test]
fn a_candidate_that_is_always_overtaken_does_not_loop_busily() {
    run("overtaken", async {
        let fake = Fake::default();
        fake.with(|inner| {
            inner.write(|_| ());
            inner.illness = Some(Illness::IsAhead);
        });
        let mut seat = fake.seat("a").await;
        let mut awake = 0;
        for _ in 0..100 {
            let standing = seat.refresh(at(1)).await.map(|refreshed| refreshed.standing);
            let Ok(Standing::Waiting { wake, .. }) = standing else { panic!("it waits") };
            awake += usize::from(poll_n_eagerly(1, wake).await.is_some());
        }
        assert!(awake < 10, "{awake} wakes that had come already, at one instant");
        fake.with(|inner| inner.illness = None);
        assert!(leads(&mut seat, 2).await);
    });
}

/// As where the label is lost by which waiters are listed.
#[test]
fn a_waiter_that_no_list_shows_leaves_none_behind() {
    run("unlisted", async {
        let fake = Fake::default();
        let (mut a, mut b) = (fake.seat("a").await, fake.seat("b").await);
        assert!(leads(&mut a, 1).await && !leads(&mut b, 1).await);
        fake.with(|inner| inner.illness = Some(Illness::HidesWaiters));
        for second in 2..=20 {
            assert!(leads(&mut a, second).await && !leads(&mut b, second).await);
        }
        let there = fake.with(|inner| inner.waiters().len());
        assert!(there <= 1, "{there} waiters of one candidate");
    });
}

#[test]
fn no_token_is_less_than_one_that_was_written_by_hand() {
    run("token", async {
        let fake = Fake::default();
        fake.with(|inner| inner.write(|record| record.token = u64::MAX));
        let mut seat = fake.seat("a").await;
        let standing = seat.refresh(at(1)).await.map(|refreshed| refreshed.standing);
        if let Ok(Standing::Leading { token, .. }) = standing {
            panic!("leads with {token}");
        }
    });
}

#[test]
fn a_beat_may_be_any_number() {
    run("beat", async {
        let fake = Fake::default();
        let mut seat = fake.seat("a").await;
        assert!(leads(&mut seat, 1).await);
        fake.with(|inner| {
            inner.write(|record| record.holder.as_mut().expect("as it was made").beat = u64::MAX);
        });
        leads(&mut seat, 2).await;
    });
}

#[test]
fn so_may_that_of_a_waiter() {
    run("waiter's beat", async {
        let fake = Fake::default();
        let (mut a, mut b) = (fake.seat("a").await, fake.seat("b").await);
        assert!(leads(&mut a, 1).await && !leads(&mut b, 1).await);
        fake.with(|inner| {
            for Listed { nonce, mut waiter, .. } in inner.folder.list().waiters {
                waiter.beat = u64::MAX;
                inner.put(Name::Waiter(nonce), Document::Waiter(waiter));
            }
        });
        leads(&mut b, 2).await;
    });
}

/// The TTL of a living holder is changed in its record. No second candidate may lead.
#[test]
fn a_ttl_written_by_hand_makes_no_second_leader() {
    run("ttl", async {
        let fake = Fake::default();
        let (mut a, mut b) = (fake.seat("a").await, fake.seat("b").await);
        assert!(leads(&mut a, 1).await && !leads(&mut b, 1).await);
        fake.with(|inner| {
            inner.write(|record| record.holder.as_mut().expect("as it was made").ttl = 0);
        });
        // The holder has seen the change, and reports that it leads for 12 s from second 2 on.
        if !leads(&mut a, 2).await {
            a.resign(None).await.expect("as it was made");
            assert_eq!(fake.leader(), None, "no candidate waits for one that gave up");
            return;
        }
        for second in 2..=5 {
            assert!(!leads(&mut b, second).await, "b leads in second {second}, a until 14");
        }
    });
}

/// Two programs have random generators with the same seed.
#[test]
fn two_that_drew_the_same_nonce_do_not_both_lead() {
    run("nonces", async {
        let fake = Fake::default();
        fastrand::seed(7);
        let mut a = fake.seat("a").await;
        fastrand::seed(7);
        let mut b = fake.seat("b").await;
        assert!(leads(&mut a, 1).await);
        assert!(!leads(&mut b, 1).await, "both lead");
    });
}

/// The document has no room for the last words.
#[test]
fn last_words_that_do_not_fit_hold_up_no_resign() {
    run("last words", async {
        let fake = Fake::default();
        let mut a = fake.seat("a").await;
        assert!(leads(&mut a, 1).await);
        fake.with(|inner| inner.longest_history = Some(10));
        let resigned = a.resign(Some((Cell::History, &[b'x'; 100]))).await;
        assert!(resigned.is_ok() && fake.leader().is_none(), "{resigned:?}");
    });
}

#[test]
fn a_lease_may_be_as_long_as_can_be_said() {
    run("longest", async {
        let fake = Fake::default();
        for number in 0..5 {
            let candidate =
                Candidate { host: "h".into(), ..Candidate::foreign(format!("c{number}")) };
            let mut seat = fake
                .store()
                .open(&election(), &candidate, Duration::MAX)
                .await
                .expect("as it was made");
            let _ = seat.refresh(at(1)).await;
        }
    });
}

#[test]
fn a_ticket_of_a_race_is_redeemed() {
    run("race", async {
        let fake = Fake::default();
        fake.with(|inner| inner.races = true);
        let store = fake.store();
        let mut a = fake.seat("a").await;
        assert!(leads(&mut a, 1).await);
        let ticket = a.ticket().expect("as it was made");
        let redeemed = store.remove(&election(), Removal::Crashed(&ticket)).await;
        assert!(
            redeemed.is_ok() && fake.leader().is_none(),
            "{redeemed:?}, {:?} holds it",
            fake.leader()
        );
    });
}

/// A person removes the record while A leads. A finds out with its next renewal. B has seen A lead, and waits for the
/// end of A's lease.
#[test]
fn a_waiter_that_saw_a_holder_waits_for_it_after_the_record_is_removed() {
    run("removed", async {
        let fake = Fake::default();
        let (mut a, mut b) = (fake.seat("a").await, fake.seat("b").await);
        assert!(leads(&mut a, 1).await && !leads(&mut b, 1).await);
        assert!(leads(&mut a, 3).await && !leads(&mut b, 3).await);
        fake.with(|inner| inner.remove(Name::Record));
        for second in 4..15 {
            assert!(!leads(&mut b, second).await, "{second}");
        }
        assert!(!leads(&mut a, 5).await, "its record is gone");
        for second in 15..20 {
            if leads(&mut b, second).await {
                return;
            }
        }
        panic!("no leader any more");
    });
}

/// The values outlast a record that was removed by hand. The epoch, which keeps an earlier leader from writing them,
/// outlasts it too.
#[test]
fn a_token_is_greater_than_that_of_values_whose_record_is_gone() {
    run("values", async {
        let fake = Fake::default();
        let data = Data { epoch: 1 << 40, ..Data::default() };
        fake.with(|inner| inner.put(Name::Data, Document::Data(data)));
        let mut seat = fake.seat("a").await;
        let token = wins(&mut seat, 1).await;
        assert!(token.get() > 1 << 40, "{token}");
    });
}

/// A person has overwritten fences and values. They never count as none, unless there is an order to lose them.
#[test]
fn damaged_fences_are_never_taken_for_none() {
    run("damaged fences", async {
        let fake = Fake::default();
        let (store, name) = (fake.store(), election());
        let key: Key = "disk".parse().expect("as it was made");
        let fence = Cell::Fence(&key);
        let set = async || store.write(&name, fence, b"7", If::Version(0)).await;
        let forget = async |fences| store.remove(&name, Removal::Everything { fences }).await;
        assert!(matches!(set().await, Ok(Written::Yes(_))));
        let damage = Some("the annotation of x is damaged".to_owned());
        let damaged = Document::Data(Data { damage, ..Data::default() });
        fake.with(|inner| {
            inner.put(Name::Data, damaged.clone());
        });
        let mut candidate = fake.seat("a").await;
        for refused in [
            set().await.map(drop),
            store.read(&name, fence).await.map(drop),
            store.keys(&name).await.map(drop),
            forget(false).await,
            candidate.refresh(at(1)).await.map(drop),
        ] {
            let refused = refused.expect_err("it is damaged");
            assert_eq!(refused.kind(), ErrorKind::Unfit, "{refused}");
            let said = refused.to_string();
            let tells = said.starts_with("the annotation of x is damaged");
            assert!(tells && said.contains("elect forget --yes --fences"), "{said}");
        }
        assert_eq!(
            fake.with(|inner| inner.folder.read(Name::Data).cloned()).map(|it| it.document),
            Some(damaged)
        );
        candidate.resign(None).await.expect("as it was made");
        forget(true).await.expect("it is empty");
        assert!(matches!(set().await, Ok(Written::Yes(_))));
        assert!(leads(&mut candidate, 2).await);
    });
}

/// As above, but the record is made anew at once by a request or a fence. It then exists, and names no leader.
#[test]
fn a_waiter_that_saw_a_holder_waits_for_it_after_the_record_is_remade() {
    run("made anew", async {
        for is_fence in [false, true] {
            let fake = Fake::default();
            let (mut a, mut b) = (fake.seat("a").await, fake.seat("b").await);
            assert!(leads(&mut a, 1).await && !leads(&mut b, 1).await);
            assert!(leads(&mut a, 3).await && !leads(&mut b, 3).await);
            fake.with(|inner| inner.remove(Name::Record));
            let key: Key = "disk".parse().expect("as it was made");
            let cell = if is_fence { Cell::Fence(&key) } else { Cell::Control };
            let written = fake.store().write(&election(), cell, b"7", If::Version(0)).await;
            assert!(matches!(written, Ok(Written::Yes(_))), "{written:?}");
            for second in 4..15 {
                assert!(!leads(&mut b, second).await, "{second}, a fence: {is_fence}");
            }
            assert!(!leads(&mut a, 5).await, "its record is gone");
            assert!(leads(&mut b, 17).await || leads(&mut b, 20).await, "no leader any more");
        }
    });
}

/// A record that is made anew for a request says that there may be values.
#[test]
fn a_request_to_an_election_without_record_lets_no_late_value_in() {
    run("asked anew", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "k".parse().expect("as it was made");
        let (name, cell) = (election(), Cell::Value(&key));
        let mut a = fake.seat("a").await;
        let token = wins(&mut a, 1).await;
        store.write(&name, cell, b"old", If::Leads(token)).await.expect("as it was made");
        fake.with(|inner| inner.hold = Some((Name::Data, Purpose::Data)));
        let late = store.write(&name, cell, b"stale", If::Leads(token));
        assert!(poll_n_eagerly(20, late).await.is_none());
        fake.with(|inner| inner.remove(Name::Record));
        store.write(&name, Cell::Control, b"x", If::Version(0)).await.expect("as it was made");
        let mut b = fake.seat("b").await;
        assert!(leads(&mut b, 2).await);
        fake.deliver();
        let found = store.read(&name, cell).await.expect("as it was made").bytes;
        assert_eq!(found.as_deref(), Some(&b"old"[..]));
    });
}

/// As above, with an epoch that is greater than all versions, as if it was written by hand.
#[test]
fn a_token_is_greater_than_that_of_values_where_a_record_is_made_anew() {
    run("values", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "disk".parse().expect("as it was made");
        for cell in [Cell::Control, Cell::Fence(&key)] {
            fake.with(|inner| {
                inner.remove(Name::Record);
                inner.remove(Name::Data);
                let data = Data { epoch: 1 << 40, ..Data::default() };
                inner.put(Name::Data, Document::Data(data));
            });
            store.write(&election(), cell, b"7", If::Version(0)).await.expect("as it was made");
            let mut seat = fake.seat("a").await;
            let token = wins(&mut seat, 1).await;
            assert!(token.get() > 1 << 40, "{token}, {cell:?}");
        }
    });
}

/// The first value of A is under way while its record is removed. B, which has seen A lead, follows.
#[test]
fn a_late_first_value_has_no_effect_after_the_record_is_removed() {
    run("first value", async {
        for is_asked in [false, true] {
            let fake = Fake::default();
            let store = fake.store();
            let key: Key = "k".parse().expect("as it was made");
            let (name, cell) = (election(), Cell::Value(&key));
            let (mut a, mut b) = (fake.seat("a").await, fake.seat("b").await);
            let token = wins(&mut a, 1).await;
            assert!(!leads(&mut b, 1).await);
            fake.with(|inner| inner.hold = Some((Name::Data, Purpose::Data)));
            let late = store.write(&name, cell, b"stale", If::Leads(token));
            assert!(poll_n_eagerly(20, late).await.is_none());
            fake.with(|inner| inner.remove(Name::Record));
            if is_asked {
                let asks = If::Version(0);
                store.write(&name, Cell::Control, b"x", asks).await.expect("as it was made");
            }
            let mut second = 2;
            while !leads(&mut b, second).await {
                second += 2;
                assert!(second < 40, "no candidate leads");
            }
            fake.deliver();
            let found = store.read(&name, cell).await.expect("as it was made").bytes;
            assert_eq!(found, None, "asked: {is_asked}");
        }
    });
}

/// The control cell of the removed record and the cell of the new one have different versions. So readers and watchers
/// can tell them apart.
#[test]
fn a_control_cell_made_anew_has_another_version() {
    run("versions", async {
        let fake = Fake::default();
        let store = fake.store();
        let mut before = 0;
        for text in [b"x", b"y"] {
            let asks = If::Version(0);
            let written = store.write(&election(), Cell::Control, text, asks).await;
            let Ok(Written::Yes(version)) = written else { panic!("{written:?}") };
            assert!(version > before, "{version} after {before}");
            before = version;
            fake.with(|inner| inner.remove(Name::Record));
        }
    });
}
