//! The simulated store as a candidate has it: with a witness, perhaps with sessions as in `ZooKeeper`, and
//! perhaps with a client that makes an entry anew on its own.

use async_trait::async_trait;
use elect::election::control as election;
use elect_api::{
    Cadence, Candidate, Cell, Doubt, Durability, ElectionName, Error, If, Keys, Lease, Profile,
    Refreshed, Removal, Scope, Seat, Standing, Store, Survey, Ticket, Validity, Versioned, Wake,
    WatchedCell, Written,
};
use elect_testkit::switches::{Part, is_off};
use elect_zookeeper::{Anchors, Calls};

use super::witness::Witness;
use crate::prelude::*;

pub(crate) struct SeenStore {
    pub(crate) inner: Box<dyn Store>,
    pub(crate) witness: Arc<Witness>,
    /// True if leases are sessions, and only confirmed answers count.
    pub(crate) confirms: bool,
    /// True if a seat whose entry is gone enters anew in the same call.
    pub(crate) returns: bool,
}

struct SeenSeat {
    inner: Box<dyn Seat>,
    witness: Arc<Witness>,
    session: Option<Session>,
    returns: bool,
}

/// The facts about the session that holds the entry with this ticket.
struct Session {
    ttl: Duration,
    ticket: Option<Ticket>,
    anchors: Option<(Anchors, Calls)>,
}

impl Session {
    /// A refresh begins. The session of an entry is as old as the first attempt at it.
    fn begin(&mut self, now: Boottime, ticket: Option<Ticket>) {
        if self.anchors.is_none() || self.ticket != ticket {
            let anchors = Anchors::new(self.ttl, now);
            (self.ticket, self.anchors) = (ticket, Some((anchors, Calls::default())));
        }
        if let Some((anchors, calls)) = &mut self.anchors {
            calls.begin(now, anchors);
        }
    }
}

#[async_trait]
impl Store for SeenStore {
    fn profile(&self) -> Profile {
        let profile = self.inner.profile();
        let lease = if self.confirms { Lease::Timed(Cadence::SESSION) } else { profile.lease };
        Profile { lease, ..profile }
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let inner = self.inner.open(election, candidate, ttl).await?;
        let session = self.confirms.then_some(Session { ttl, ticket: None, anchors: None });
        let witness = Arc::clone(&self.witness);
        Ok(Box::new(SeenSeat { inner, witness, session, returns: self.returns }))
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        self.inner.survey(election).await
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        self.inner.changed(election).await
    }

    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
        self.inner.remove(election, what).await
    }

    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
        self.inner.list(scope).await
    }

    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
        self.inner.keys(election).await
    }

    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
        self.inner.read(election, cell).await
    }

    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error> {
        self.inner.write(election, cell, bytes, condition).await
    }
}

impl SeenSeat {
    /// Returns the time from which the lease counts after an acknowledged answer to the call of `now`.
    fn acknowledged(&mut self, now: Boottime, leads: bool) -> Boottime {
        let session = self.session.as_mut().and_then(|session| session.anchors.as_mut());
        let Some((anchors, calls)) = session else { return now };
        if leads {
            calls.confirmed(now, anchors);
        } else {
            calls.acknowledged(now);
        }
        anchors.proven()
    }
}

#[async_trait]
impl Seat for SeenSeat {
    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error> {
        self.witness.refreshes();
        let ticket = self.inner.ticket();
        if let Some(session) = &mut self.session {
            session.begin(now, ticket);
        }
        let mut refreshed = self.inner.refresh(now).await?;
        if self.returns && matches!(refreshed.standing, Standing::Gone(_)) {
            self.inner.resign(None).await?;
            refreshed = self.inner.refresh(now).await?;
        }
        let Refreshed { standing, control } = refreshed;
        if !matches!(standing, Standing::Gone(_)) {
            let text = control.bytes.as_deref();
            self.witness.is_placed(&election::Control::read(text).expect("what was written here"));
        }
        let standing = match standing {
            Standing::Leading { token, validity: Validity::Window { window, .. }, wake } => {
                let proven = self.acknowledged(now, true);
                self.witness.leads(token, proven, window);
                let anchor = if is_off(Part::Confirmation) { now } else { proven };
                Standing::Leading { token, validity: Validity::Window { anchor, window }, wake }
            }
            Standing::Gone(why) => {
                self.witness.is_over(true);
                Standing::Gone(why)
            }
            other => {
                self.acknowledged(now, false);
                other
            }
        };
        Ok(Refreshed { standing, control })
    }

    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        self.witness.is_over(false);
        self.inner.resign(last).await
    }

    async fn read(&mut self, now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error> {
        let known = self.inner.read(now, cell).await?;
        if let (Cell::Runs, Some(bytes)) = (cell, &known.bytes) {
            self.witness.counts(bytes);
        }
        Ok(known)
    }

    async fn write(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Written, Error> {
        let written = self.inner.write(now, cell, bytes, durability).await?;
        if cell == Cell::Runs && written.why_not().is_none() {
            self.witness.counts(bytes);
        }
        Ok(written)
    }

    fn doubt(&self) -> Option<Doubt> {
        self.inner.doubt()
    }

    fn ticket(&self) -> Option<Ticket> {
        self.inner.ticket()
    }
}
