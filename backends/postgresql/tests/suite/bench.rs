//! The store on a real PostgreSQL as a bench for the laws of elections. Its time is the test's own: PostgreSQL reads no
//! clock for elect.

use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Removal, Seat, Store};
use elect_record::table::{Table, TableDocuments};
use elect_record::{Document, Documents as _, Name, Purpose, RecordStore, Removed, Swapped};
use elect_testkit::sim::{Clock as _, ManualClock};
use elect_testkit::{Bench, Servers, Stall, election};

use crate::ground::PostgresGround;

pub(crate) struct PostgresBench {
    ground: PostgresGround,
    clock: ManualClock,
}

impl PostgresBench {
    pub(crate) fn new(servers: Servers) -> Self {
        let ground = PostgresGround::new(servers);
        Self { ground, clock: ManualClock::default() }
    }

    fn documents(&self) -> TableDocuments<impl Table + use<>> {
        TableDocuments::new(self.ground.straight())
    }
}

#[async_trait]
impl Bench for PostgresBench {
    async fn connect(&self) -> Box<dyn Store> {
        self.ground.store()
    }

    fn now(&self) -> Boottime {
        self.clock.now()
    }

    async fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        let ticket = seat.ticket().expect("a ticket");
        drop((seat, store));
        let store = RecordStore::new(self.documents());
        store.remove(&election(), Removal::Crashed(&ticket)).await.expect("gone");
    }

    async fn wipe(&self, election: &ElectionName) {
        let documents = self.documents();
        let listing = documents.list(election, Purpose::Look).await.expect("a list");
        let waiters = listing.waiters.into_iter().map(|it| Name::Waiter(it.nonce));
        for name in waiters.chain([Name::Record, Name::Data]) {
            let found = documents.read(election, name, Purpose::Look).await.expect("an answer");
            if let Some(found) = found {
                let gone = documents.remove(election, name, found.version, Purpose::Leave).await;
                assert_eq!(gone.expect("an answer"), Removed::Yes);
            }
        }
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        let documents = self.documents();
        let listing = documents.list(election, Purpose::Look).await.expect("a list");
        for waiter in listing.waiters.iter().filter(|it| it.waiter.candidate.id == candidate.id) {
            let (name, version) = (Name::Waiter(waiter.nonce), waiter.version);
            let gone = documents.remove(election, name, version, Purpose::Leave).await;
            assert_eq!(gone.expect("an answer"), Removed::Yes);
        }
        let Some((version, mut record)) = listing.record else { return };
        if record.holder.as_ref().is_some_and(|holder| holder.candidate.id == candidate.id) {
            record.last = record.holder.take().map(|holder| holder.nonce);
            let (name, document) = (Name::Record, Document::Record(record));
            let swapped = documents.swap(election, name, version, &document, Purpose::Leave).await;
            assert!(matches!(swapped.expect("an answer"), Swapped::Yes(_)));
        }
    }

    async fn stall(&self, _: &ElectionName) -> Stall {
        self.ground.hold()
    }
}
