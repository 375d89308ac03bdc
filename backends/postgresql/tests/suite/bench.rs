//! The store on a real PostgreSQL as a bench for the laws of elections. Its time is the test's own: PostgreSQL reads no
//! clock for elect.

use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};
use elect_record::table::{Table, TableDocuments};
use elect_testkit::sim::{Clock as _, ManualClock};
use elect_testkit::table::by_hand;
use elect_testkit::{Bench, Servers, Stall};

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
        by_hand::crash(self.documents(), store, seat).await;
    }

    async fn wipe(&self, election: &ElectionName) {
        by_hand::wipe(&self.documents(), election).await;
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        by_hand::evict(&self.documents(), election, candidate).await;
    }

    async fn stall(&self, _: &ElectionName) -> Stall {
        self.ground.hold()
    }
}
