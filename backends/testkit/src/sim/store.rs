use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use elect_api::{
    Cadence, Candidate, ElectionName, Entry, Error, ErrorKind, Fenced, Key, Leader, Lease,
    NoteName, Noted, Ordered, Orders, Profile, Renewed, Seat, Store, Survey, Ticket, Token, Wake,
    check_value,
};

use super::message::{Arrival, Ask, Bid, Envelope, Line, Op, Reply, Request, Slip};
use super::queue_seat::QueueSeat;
use super::record_seat::{self, RecordSeat};
use super::transport::{Link, Transport, send, unexpected};
use super::{Expiry, Kind, notes, ticket};

/// The client of a simulated store, which keeps the laws as the client of a real one has to.
pub(super) struct SimStore {
    transport: Arc<dyn Transport>,
    kind: Kind,
    location: String,
}

impl SimStore {
    pub(super) fn new(transport: Arc<dyn Transport>, kind: Kind, location: String) -> Self {
        Self { transport, kind, location }
    }

    fn link(&self, election: &ElectionName, client: &str) -> Link {
        Link {
            transport: Arc::clone(&self.transport),
            election: election.clone(),
            client: client.to_owned(),
        }
    }
}

#[async_trait]
impl Store for SimStore {
    fn profile(&self) -> Profile {
        Profile {
            scheme: super::SCHEME,
            location: self.location.clone(),
            lease: Lease::Timed(Cadence { anchor_lag_48ths: 0, renew_48ths: 8 }),
            order: self.kind.order(),
        }
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let link = self.link(election, &candidate.id);
        let application = Application { candidate: candidate.clone(), ttl, arrived: None };
        Ok(match self.kind {
            Kind::Queue => Box::new(QueueSeat::new(link, application)),
            Kind::Record(expiry) => {
                Box::new(RecordSeat::new(link, application, expiry == Expiry::Holder))
            }
        })
    }

    async fn redeem(&self, election: &ElectionName, ticket: &Ticket) -> Result<(), Error> {
        let nonce = ticket::nonce(ticket)?;
        let link = self.link(election, "");
        match self.kind {
            Kind::Queue => match link.ask(Op::Redeem, Ask::Leave(nonce)).await? {
                Reply::Left => Ok(()),
                reply => Err(unexpected(&reply)),
            },
            Kind::Record(_) => record_seat::redeem(&link, nonce).await,
        }
    }

    async fn forget(&self, election: &ElectionName) -> Result<(), Error> {
        match self.link(election, "").ask(Op::Leave, Ask::Forget).await? {
            Reply::Left => Ok(()),
            Reply::Ended { others, .. } => {
                let what = format!("{others} are in the election {election}");
                Err(Error::new(ErrorKind::Unreachable, what))
            }
            reply => Err(unexpected(&reply)),
        }
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        match self.link(election, "").ask(Op::Survey, Ask::Survey).await? {
            Reply::Survey(line) => Ok(line.into()),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn remove(&self, election: &ElectionName, token: Token) -> Result<(), Error> {
        match self.link(election, "").ask(Op::Leave, Ask::Remove(token.get())).await? {
            Reply::Left => Ok(()),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let link = self.link(election, "");
        match link.ask(Op::Survey, Ask::Sight).await? {
            Reply::Sight(seen) => Ok(link.wake(Ask::AwaitSight(seen))),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn note(
        &self,
        election: &ElectionName,
        name: NoteName,
    ) -> Result<Option<Vec<u8>>, Error> {
        Ok(notes::look(&self.link(election, ""), name).await?.text)
    }

    async fn orders(&self, election: &ElectionName) -> Result<Orders, Error> {
        match self.link(election, "").ask(Op::Orders, Ask::ReadOrders).await? {
            Reply::Orders(slip) => Ok(slip.into()),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn order(
        &self,
        election: &ElectionName,
        text: &[u8],
        version: u64,
    ) -> Result<Ordered, Error> {
        Orders::check_length(text)?;
        let ask = Ask::WriteOrders { expect: version, text: text.to_vec() };
        match self.link(election, "").ask(Op::Orders, ask).await? {
            Reply::Orders(slip) => Ok(Ordered::Written(slip.version)),
            Reply::Overtaken => Ok(Ordered::Overtaken),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn fence(
        &self,
        election: &ElectionName,
        resource: &Key,
        token: Token,
    ) -> Result<Fenced, Error> {
        let ask = Ask::Fence { resource: resource.clone(), token: token.get() };
        match self.link(election, "").ask(Op::Data, ask).await? {
            Reply::Fenced(greatest) if greatest == token.get() => Ok(Fenced::Passed),
            Reply::Fenced(greatest) => Ok(Fenced::Stale(Token::new(greatest))),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn put(
        &self,
        election: &ElectionName,
        token: Token,
        key: &Key,
        value: &[u8],
    ) -> Result<Noted, Error> {
        check_value(value)?;
        let link = self.link(election, "");
        for _ in 0..TRIES {
            let expect = value_of(&link, key).await?.version;
            let (token, key, text) = (token.get(), key.clone(), value.to_vec());
            match link.ask(Op::Data, Ask::WriteValue { token, key, expect, text }).await? {
                Reply::Noted => return Ok(Noted::Written),
                Reply::Ended { .. } => {
                    return Ok(Noted::Gone(format!("no entry with token {token} leads")));
                }
                Reply::Overtaken => {}
                reply => return Err(unexpected(&reply)),
            }
        }
        Err(Error::new(ErrorKind::Unreachable, "the value changes as we write it"))
    }

    async fn get(&self, election: &ElectionName, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        Ok(value_of(&self.link(election, ""), key).await?.text)
    }

    async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
        self.names(Op::Survey, Request::Elections).await
    }

    async fn under_orders(&self) -> Result<Vec<ElectionName>, Error> {
        self.names(Op::Orders, Request::UnderOrders).await
    }
}

impl SimStore {
    async fn names(&self, op: Op, request: Request) -> Result<Vec<ElectionName>, Error> {
        match send(&*self.transport, Envelope { client: String::new(), op, request }).await? {
            Reply::Elections(names) => Ok(names),
            reply => Err(unexpected(&reply)),
        }
    }
}

/// More than the writers that one leader has at once.
const TRIES: usize = 8;

async fn value_of(link: &Link, key: &Key) -> Result<Slip, Error> {
    match link.ask(Op::Data, Ask::ReadValue(key.clone())).await? {
        Reply::Value(slip) => Ok(slip),
        reply => Err(unexpected(&reply)),
    }
}

impl From<Slip> for Orders {
    fn from(Slip { version, text }: Slip) -> Self {
        Self { text, version }
    }
}

impl From<Line> for Survey {
    fn from(line: Line) -> Self {
        let entry =
            |Arrival { candidate, joined, number }| Entry::new(candidate, Some(joined), number);
        let led_after = line.led_after;
        let renewed = line.renewed.map(|ago| Renewed { at_least: ago, at_most: ago });
        let leader = line.leader.map(|(arrival, token, remaining)| Leader {
            since: Some(arrival.joined + led_after),
            entry: entry(arrival),
            token: Token::new(token),
            remaining: Some(remaining),
            renewed,
        });
        Self { leader, waiting: line.waiting.into_iter().map(entry).collect() }
    }
}

/// Who takes part, and for how long a lease.
#[derive(Clone)]
pub(super) struct Application {
    candidate: Candidate,
    ttl: Duration,
    /// The number of its first place, once that is lost or given up.
    pub(super) arrived: Option<u64>,
}

impl Application {
    #[expect(clippy::disallowed_methods, reason = "for the eye only")]
    pub(super) fn bid(&self, nonce: u64) -> Bid {
        let Self { candidate, ttl, arrived } = self.clone();
        Bid { nonce, candidate, joined: SystemTime::now(), ttl, arrived }
    }
}

/// A nonce for one entry. A simulation seeds the generator of its thread.
pub(super) fn draw() -> u64 {
    fastrand::u64(..)
}
