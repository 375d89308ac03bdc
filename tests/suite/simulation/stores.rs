//! A store whose seats count their leases from the reply: what elect must not do.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Candidate, ElectionName, Error, Note, NoteName, Noted, Profile, Seat, Standing,
    Store, Survey, Ticket, Validity,
};
use elect_testkit::sim::{Clock, TokioClock};

pub(crate) struct LateStore(pub(crate) Box<dyn Store>, pub(crate) Arc<TokioClock>);

struct LateSeat(Box<dyn Seat>, Arc<TokioClock>);

#[async_trait]
impl Store for LateStore {
    fn profile(&self) -> Profile {
        self.0.profile()
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let seat = self.0.open(election, candidate, ttl).await?;
        Ok(Box::new(LateSeat(seat, Arc::clone(&self.1))))
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        self.0.survey(election).await
    }

    async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
        self.0.elections().await
    }

    async fn redeem(&self, election: &ElectionName, ticket: &Ticket) -> Result<(), Error> {
        self.0.redeem(election, ticket).await
    }
}

#[async_trait]
impl Seat for LateSeat {
    async fn refresh(&mut self, now: Boottime) -> Result<Standing, Error> {
        let standing = self.0.refresh(now).await?;
        Ok(match standing {
            Standing::Leading { token, validity: Validity::Window { window, .. }, wake } => {
                let validity = Validity::Window { anchor: self.1.now(), window };
                Standing::Leading { token, validity, wake }
            }
            other => other,
        })
    }

    async fn read_note(&mut self, now: Boottime, name: NoteName) -> Result<Note, Error> {
        self.0.read_note(now, name).await
    }

    async fn write_note(
        &mut self,
        now: Boottime,
        name: NoteName,
        text: &[u8],
    ) -> Result<Noted, Error> {
        self.0.write_note(now, name, text).await
    }

    async fn resign(&mut self) -> Result<(), Error> {
        self.0.resign().await
    }

    fn ticket(&self) -> Option<Ticket> {
        self.0.ticket()
    }
}
