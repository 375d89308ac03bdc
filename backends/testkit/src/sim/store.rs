use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use elect_api::{
    Cadence, Candidate, Cell, ElectionName, Error, ErrorKind, If, Keys, Leader, Lease, Profile,
    Promise, Removal, Scope, Seat, Store, Survey, Versioned, Wake, Written,
};
use elect_record::RecordStore;
use elect_simulation::queue::Bid;

use super::documents::SimDocuments;
use super::message::{Ask, Envelope, Name, Op, Reply, Request};
use super::queue_seat::QueueSeat;
use super::transport::{ElectionClient, Transport, send, unexpected};
use super::{Kind, cells, ticket};

/// Returns the client of a simulated store of this kind, with this promise. It keeps the laws as the client of a real
/// store has to.
pub(super) fn connect(
    transport: Arc<dyn Transport>,
    (kind, promise): (Kind, Promise),
    location: String,
) -> Box<dyn Store> {
    let lease = Lease::Timed(Cadence::LEASE);
    let strong = Profile::new(super::SCHEME, location, lease, kind.order());
    let profile = match promise {
        Promise::Strong => strong,
        Promise::Weak => strong.weak("two may lead at a time", "take a strong store"),
    };
    match kind {
        Kind::Queue => Box::new(SimStore { transport, profile }),
        Kind::Record | Kind::Race => {
            Box::new(RecordStore::new(SimDocuments::new(transport, profile)))
        }
    }
}

/// The client of a simulated queue.
struct SimStore {
    transport: Arc<dyn Transport>,
    profile: Profile,
}

impl SimStore {
    fn link(&self, election: &ElectionName, client: &str) -> ElectionClient {
        ElectionClient {
            transport: Arc::clone(&self.transport),
            election: election.clone(),
            client: client.to_owned(),
        }
    }
}

#[async_trait]
impl Store for SimStore {
    fn profile(&self) -> Profile {
        self.profile.clone()
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let link = self.link(election, &candidate.id);
        let application = Application { candidate: candidate.clone(), ttl, arrived: None };
        Ok(Box::new(QueueSeat::new(link, application)))
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        match self.link(election, "").ask(Op::Survey, Ask::Survey).await? {
            Reply::Survey(queue, now, led_after) => {
                let mut survey = queue.survey(now);
                if let Some(Leader { since: Some(since), .. }) = &mut survey.leader {
                    *since += led_after;
                }
                Ok(survey)
            }
            reply => Err(unexpected(&reply)),
        }
    }

    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
        let link = self.link(election, "");
        let (op, ask) = match what {
            Removal::Crashed(ticket) => (Op::Redeem, Ask::Leave(ticket::nonce(ticket)?)),
            Removal::Leader { token, .. } => (Op::Leave, Ask::Remove(token.get())),
            Removal::Everything { .. } | Removal::Scratch => {
                (Op::Leave, Ask::Forget { fences: what.takes_fences() })
            }
        };
        match link.ask(op, ask).await? {
            Reply::Left => Ok(()),
            Reply::Ended { others, .. } => {
                let what = format!("{others} are in the election {election}");
                Err(Error::new(ErrorKind::Unreachable, what))
            }
            Reply::Fenced(resource) => Err(Removal::refuse_fence(election, resource.as_str())),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let link = self.link(election, "");
        match link.ask(Op::Survey, Ask::Digest).await? {
            Reply::Digest(seen) => Ok(link.wake(Ask::AwaitChange(seen))),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
        cells::read(&self.link(election, ""), cell).await
    }

    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error> {
        cell.check(bytes, condition)?;
        cells::write(&self.link(election, ""), cell, bytes, condition).await
    }

    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
        let (op, request) = match scope {
            Scope::Entered => (Op::Survey, Request::Elections),
            Scope::Asked => (Op::Control, Request::UnderControl),
            Scope::Kept => (Op::Control, Request::Remembered),
        };
        match send(&*self.transport, Envelope { client: String::new(), op, request }).await? {
            Reply::Elections(names) => Ok(names),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
        let cells = match self.link(election, "").ask(Op::Data, Ask::Keys).await? {
            Reply::Cells(cells) => cells,
            reply => return Err(unexpected(&reply)),
        };
        let mut keys = Keys::default();
        for cell in cells {
            match cell {
                Name::Fence(resource) => keys.fences.push(resource),
                Name::Value(key) => keys.values.push(key),
                Name::Once | Name::Runs | Name::History | Name::Control => {}
            }
        }
        Ok(keys)
    }
}

/// A candidate, and the lease that it asks for.
#[derive(Clone)]
pub(super) struct Application {
    candidate: Candidate,
    ttl: Duration,
    /// The number of its first place, once it has lost or given up that one.
    pub(super) arrived: Option<u64>,
}

impl Application {
    #[expect(clippy::disallowed_methods, reason = "for the eye only")]
    pub(super) fn bid(&self, nonce: u64) -> Bid {
        let Self { candidate, ttl, arrived } = self.clone();
        Bid { nonce, candidate, joined: SystemTime::now(), ttl, arrived }
    }
}

/// Draws a nonce for one entry. A simulation seeds its thread's generator.
pub(super) fn draw() -> u64 {
    fastrand::u64(..)
}
