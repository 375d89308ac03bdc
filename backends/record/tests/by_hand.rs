//! What comes late, and what somebody has written by hand, on documents in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Cadence, Candidate, Cell, ElectionName, Error, ErrorKind, If, Judge, Key, Lease,
    Order, Profile, Removal, Scope, Seat, Standing, Store,
};
use elect_record::{
    Data, Document, Documents, IsNews, Listed, Listing, Name, Purpose, Record, RecordStore,
    Removed, Stored, Swapped, Text,
};
use elect_testkit::{election, poll_n_eagerly, run};

const TTL: Duration = Duration::from_secs(12);

/// What somebody does by hand.
type ByHand = Box<dyn FnOnce(&mut Inner) + Send>;

#[derive(Default)]
struct Inner {
    revision: u64,
    docs: BTreeMap<Name, Stored>,
    /// The next swap of this document and purpose gets lost on its way, until it is delivered.
    hold: Option<(Name, Purpose)>,
    held: Vec<(Name, u64, Document)>,
    /// What happens right before such a swap is carried out, by hand.
    before: Option<(Name, Purpose, ByHand)>,
    damaged: bool,
    /// There is no queue: a waiter or a list is asked for by mistake.
    races: bool,
    longest_history: Option<usize>,
}

impl Inner {
    fn version(&self, name: Name) -> u64 {
        self.docs.get(&name).map_or(0, |s| s.version)
    }
    fn swap(&mut self, name: Name, expected: u64, document: &Document) -> Swapped {
        if self.version(name) != expected {
            return Swapped::No;
        }
        self.revision += 1;
        let version = self.revision;
        self.docs.insert(name, Stored { version, document: document.clone() });
        Swapped::Yes(version)
    }
    fn record(&self) -> Record {
        match self.docs.get(&Name::Record).map(|s| &s.document) {
            Some(Document::Record(record)) => record.clone(),
            _ => Record::default(),
        }
    }
    fn write(&mut self, change: impl FnOnce(&mut Record)) {
        let (version, mut record) = (self.version(Name::Record), self.record());
        change(&mut record);
        assert!(matches!(
            self.swap(Name::Record, version, &Document::Record(record)),
            Swapped::Yes(_)
        ));
    }
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Inner>>);

impl Fake {
    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        f(&mut self.0.lock().expect("as it was made"))
    }
    fn store(&self) -> RecordStore {
        RecordStore::new(self.clone())
    }
    async fn seat(&self, id: &str) -> Box<dyn Seat> {
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(id) };
        self.store().open(&election(), &candidate, TTL).await.expect("as it was made")
    }
    fn deliver(&self) -> Vec<Swapped> {
        self.with(|inner| {
            let held = std::mem::take(&mut inner.held);
            held.iter()
                .map(|(name, expected, document)| inner.swap(*name, *expected, document))
                .collect()
        })
    }
    /// Whether there may be such a thing, where there is no queue.
    fn is_there(&self, in_races: bool) -> Result<(), Error> {
        if self.with(|inner| inner.races) && !in_races {
            return Err(Error::new(ErrorKind::Unfit, "a race has no waiters, and no list of them"));
        }
        Ok(())
    }
    fn leader(&self) -> Option<String> {
        self.with(|inner| inner.record().holder.map(|holder| holder.candidate.id))
    }
}

#[async_trait]
impl Documents for Fake {
    fn profile(&self) -> Profile {
        let lease =
            Lease::Timed(Cadence { anchor_lag_48ths: 0, renew_48ths: 8, judge: Judge::Store });
        let order = if self.with(|inner| inner.races) { Order::Race } else { Order::Queue };
        Profile::new("fake", "here".into(), lease, order)
    }
    async fn read(
        &self,
        _: &ElectionName,
        name: Name,
        _: Purpose,
    ) -> Result<Option<Stored>, Error> {
        self.is_there(!matches!(name, Name::Waiter(_)))?;
        Ok(self.with(|inner| inner.docs.get(&name).cloned()))
    }
    async fn swap(
        &self,
        _: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        purpose: Purpose,
    ) -> Result<Swapped, Error> {
        let is_held = self.with(|inner| {
            if inner.before.as_ref().is_some_and(|(n, p, _)| (*n, *p) == (name, purpose)) {
                let (_, _, act) = inner.before.take().expect("as it was made");
                act(inner);
            }
            let is_held = inner.hold == Some((name, purpose));
            if is_held {
                inner.hold = None;
                inner.held.push((name, expected, document.clone()));
            }
            is_held
        });
        if is_held {
            std::future::pending::<()>().await;
        }
        if let (Document::Record(record), Some(most)) =
            (document, self.with(|inner| inner.longest_history))
            && record.history.as_ref().is_some_and(|text| text.bytes.len() > most)
        {
            return Err(Error::new(ErrorKind::Unfit, "the document is too long"));
        }
        Ok(self.with(|inner| inner.swap(name, expected, document)))
    }
    async fn remove(
        &self,
        _: &ElectionName,
        name: Name,
        version: u64,
        _: Purpose,
    ) -> Result<Removed, Error> {
        Ok(self.with(|inner| match inner.version(name) {
            0 => Removed::Yes,
            present if present == version => {
                inner.revision += 1;
                inner.docs.remove(&name);
                Removed::Yes
            }
            _ => Removed::No,
        }))
    }
    async fn list(&self, _: &ElectionName, _: Purpose) -> Result<Listing, Error> {
        self.is_there(false)?;
        Ok(self.with(|inner| {
            let mut listing = Listing { revision: inner.revision, ..Listing::default() };
            for (name, stored) in &inner.docs {
                match (name, &stored.document) {
                    (Name::Waiter(nonce), Document::Waiter(waiter)) => {
                        let (nonce, version, waiter) = (*nonce, stored.version, waiter.clone());
                        listing.waiters.push(Listed { nonce, version, waiter });
                    }
                    (Name::Record, Document::Record(record)) if !inner.damaged => {
                        listing.record = Some((stored.version, record.clone()));
                    }
                    _ => {}
                }
            }
            listing
        }))
    }
    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        Ok(self.with(|inner| {
            if inner.version(Name::Record) > 0 {
                vec![(election(), inner.record())]
            } else {
                vec![]
            }
        }))
    }
    async fn wait(
        &self,
        _: &ElectionName,
        name: Name,
        mut version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        loop {
            let found = self.with(|inner| inner.docs.get(&name).cloned());
            let present = found.as_ref().map_or(0, |found| found.version);
            if present != version && is_news(name, found.as_ref().map(|found| &found.document)) {
                return Ok(());
            }
            version = present;
            tokio::task::yield_now().await;
        }
    }
    async fn wait_for_any(
        &self,
        _: &ElectionName,
        mut revision: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        loop {
            let (present, docs) = self.with(|inner| (inner.revision, inner.docs.clone()));
            let written = docs.iter().filter(|(_, stored)| stored.version > revision);
            for (name, stored) in written {
                if is_news(*name, Some(&stored.document)) {
                    return Ok(());
                }
            }
            revision = present;
            tokio::task::yield_now().await;
        }
    }
}

fn at(seconds: u64) -> Boottime {
    Boottime::from_boot(Duration::from_secs(seconds))
}

async fn leads(seat: &mut Box<dyn Seat>, second: u64) -> bool {
    matches!(seat.refresh(at(second)).await.expect("a standing"), Standing::Leading { .. })
}

/// A win is under way; its waiter is buried; the seat starts over with another nonce; the win lands.
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
        // Somebody takes it for dead, as it stood still: only its waiter goes.
        fake.with(|inner| inner.docs.retain(|name, _| !matches!(name, Name::Waiter(_))));
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

/// A value of A is under way; B leads since, resigns, the election is forgotten; the value comes to light.
#[test]
fn a_late_value_does_not_come_to_light() {
    run("late value", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "k".parse().expect("as it was made");
        let mut a = fake.seat("a").await;
        let Standing::Leading { token, .. } = a.refresh(at(1)).await.expect("as it was made")
        else {
            panic!()
        };
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

/// The same where nobody has led since.
#[test]
fn a_late_value_does_not_outlast_that_its_election_is_forgotten() {
    run("late value, forgotten", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "k".parse().expect("as it was made");
        let mut a = fake.seat("a").await;
        let Standing::Leading { token, .. } = a.refresh(at(1)).await.expect("as it was made")
        else {
            panic!("a does not lead")
        };
        fake.with(|inner| inner.hold = Some((Name::Data, Purpose::Data)));
        let (name, cell) = (election(), Cell::Value(&key));
        let late = store.write(&name, cell, b"stale", If::Leads(token));
        assert!(poll_n_eagerly(20, late).await.is_none());
        a.resign(None).await.expect("as it was made");
        let forgotten = store.remove(&name, Removal::Everything { fences: false }).await;
        forgotten.expect("nobody is in it");
        fake.deliver();
        assert_eq!(store.read(&name, cell).await.expect("as it was made").bytes, None);
    });
}

/// As the election is forgotten, a fence is set where there was none.
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
                // announce(), then the fence: it passes.
                inner.write(|record| (record.has_data, record.has_epochs) = (true, true));
                let texts = [("fence:disk".to_owned(), text)].into();
                inner.swap(Name::Data, 0, &Document::Data(Data { epoch: 1, texts }));
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

/// The list leaves out a record that is damaged: for ever awake, and no word of it.
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
            let Ok(Standing::Waiting { wake, .. }) = seat.refresh(at(1)).await else { break };
            awake += usize::from(poll_n_eagerly(1, wake).await.is_some());
        }
        assert!(awake < 5, "{awake} wakes that had come already, at one instant");
    });
}

#[test]
fn no_token_is_less_than_one_that_was_written_by_hand() {
    run("token", async {
        let fake = Fake::default();
        fake.with(|inner| inner.write(|record| record.token = u64::MAX));
        let mut seat = fake.seat("a").await;
        let standing = seat.refresh(at(1)).await;
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
            for stored in inner.docs.values_mut() {
                if let Document::Waiter(waiter) = &mut stored.document {
                    waiter.beat = u64::MAX;
                }
            }
        });
        leads(&mut b, 2).await;
    });
}

/// The TTL of a living holder is changed in its record: it goes on as if nothing were.
#[test]
fn a_ttl_written_by_hand_makes_no_second_leader() {
    run("ttl", async {
        let fake = Fake::default();
        let (mut a, mut b) = (fake.seat("a").await, fake.seat("b").await);
        assert!(leads(&mut a, 1).await && !leads(&mut b, 1).await);
        fake.with(|inner| {
            inner.write(|record| record.holder.as_mut().expect("as it was made").ttl = 0);
        });
        // It has seen that, and says that it leads for 12 s from second 2 on.
        if !leads(&mut a, 2).await {
            return;
        }
        for second in 2..=5 {
            assert!(!leads(&mut b, second).await, "b leads in second {second}, a until 14");
        }
    });
}

/// Two programs whose generators began alike.
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

/// The record is deleted by hand; a value of the leader before is under way.
#[test]
fn a_deleted_record_lets_no_late_value_in() {
    run("deleted", async {
        let fake = Fake::default();
        let store = fake.store();
        let key: Key = "k".parse().expect("as it was made");
        let (name, cell) = (election(), Cell::Value(&key));
        let mut a = fake.seat("a").await;
        let Standing::Leading { token, .. } = a.refresh(at(1)).await.expect("as it was made")
        else {
            panic!()
        };
        store.write(&name, cell, b"old", If::Leads(token)).await.expect("as it was made");
        fake.with(|inner| inner.hold = Some((Name::Data, Purpose::Data)));
        assert!(
            poll_n_eagerly(20, store.write(&name, cell, b"stale", If::Leads(token)))
                .await
                .is_none()
        );
        fake.with(|inner| inner.docs.remove(&Name::Record));
        let mut b = fake.seat("b").await;
        assert!(leads(&mut b, 2).await);
        fake.deliver();
        assert_eq!(
            store.read(&name, cell).await.expect("as it was made").bytes.as_deref(),
            Some(&b"old"[..])
        );
    });
}

/// Last words for which the document has no room.
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
