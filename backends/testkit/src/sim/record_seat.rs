use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Cell, Durability, Error, ErrorKind, Note, Seat, Standing, Ticket, Token, Validity,
    Versioned, Written, awake,
};

use super::cells;
use super::message::{Ask, Holder, Op, Record, Reply, When};
use super::store::{Application, draw};
use super::ticket;
use super::transport::{Link, unexpected};
use crate::switches::{Part, is_off};

/// A candidate's place in a race for a record.
pub(super) struct RecordSeat {
    link: Link,
    application: Application,
    /// That of our entry, or of the one that the next refresh makes.
    nonce: u64,
    state: State,
    /// Where the store ends no lease: what is known of the one that another has.
    patience: Option<Patience>,
    control: Versioned,
}

enum State {
    /// Another has the record, or nobody.
    Out,
    /// We wrote to a record of this version, and do not know what came of it.
    Unknown(u64),
    /// We have the record, in this version.
    Leading { token: u64, version: u64 },
    /// We had it.
    Gone,
}

/// Law 8, where the store knows no time.
#[derive(Default)]
struct Patience {
    version: u64,
    /// An instant by which the record had this version already: that of the call *after* the one that
    /// showed it. That call's own `now` would not do, as the record may have changed while it was
    /// under way, and the holder counts from its renewal.
    since: Option<Boottime>,
}

const GONE: &str = "the record is not ours any more";

/// The record changes as often as we look: there is always the next refresh.
const WOKEN: fn() -> Standing = || Standing::Waiting { ahead: 1, wake: awake() };

impl RecordSeat {
    pub(super) fn new(link: Link, application: Application, holder_expires: bool) -> Self {
        let patience = holder_expires.then(Patience::default);
        let control = Versioned::default();
        Self { link, application, nonce: draw(), state: State::Out, patience, control }
    }

    fn start_over(&mut self) {
        self.nonce = draw();
        self.state = State::Out;
    }

    fn ours<'a>(&self, record: &'a Record) -> Option<&'a Holder> {
        record.holder.as_ref().filter(|holder| holder.nonce == self.nonce)
    }

    async fn read(&mut self) -> Result<Record, Error> {
        let record = read(&self.link, Op::Look).await?;
        self.control = record.orders.clone().into();
        Ok(record)
    }

    /// Writes us, or nobody, into the record of this version.
    async fn swap(&mut self, op: Op, expect: u64, stay: bool) -> Result<Reply, Error> {
        let bid = stay.then(|| self.application.bid(self.nonce));
        let reply = self.link.ask(op, Ask::Swap { expect, bid }).await?;
        if let Reply::Swapped(record) | Reply::Stands(record) = &reply {
            self.control = record.orders.clone().into();
        }
        Ok(reply)
    }

    fn lead(&mut self, now: Boottime, record: &Record) -> Result<Standing, Error> {
        let Some(holder) = self.ours(record) else {
            return Err(unexpected(&Reply::Swapped(record.clone())));
        };
        let (token, window) = (holder.token, holder.ttl);
        self.state = State::Leading { token, version: record.version };
        let validity = Validity::Window { anchor: now, window };
        let wake = self.link.wake(Ask::AwaitOrders(self.control.version));
        Ok(Standing::Leading { token: Token::new(token), validity, wake })
    }

    fn gone(&mut self) -> Standing {
        self.state = State::Gone;
        Standing::Gone(GONE.into())
    }

    async fn renew(&mut self, now: Boottime, token: u64, version: u64) -> Result<Standing, Error> {
        let mut expect = version;
        // Twice, as the first may meet a renewal of ours whose reply was lost.
        for _ in 0..2 {
            match self.swap(Op::Renew, expect, true).await? {
                Reply::Swapped(record) => return self.lead(now, &record),
                Reply::Stands(record) => match self.ours(&record) {
                    Some(holder) if holder.token == token => expect = record.version,
                    _ => return Ok(self.gone()),
                },
                reply => return Err(unexpected(&reply)),
            }
        }
        Err(Error::new(ErrorKind::Unreachable, "our record changes as we renew it"))
    }

    async fn contend(&mut self, now: Boottime, tried: Option<u64>) -> Result<Standing, Error> {
        let record = self.read().await?;
        if let Some(Holder { token, .. }) = self.ours(&record) {
            // A write of ours whose reply was lost.
            return self.renew(now, *token, record.version).await;
        }
        if tried.is_some_and(|tried| tried != record.version) {
            // It failed, or we had the record and lost it. Either way its time is over; whoever guards us
            // has to see a new ticket before there is an entry for it.
            self.start_over();
            return Ok(WOKEN());
        }
        match &record.holder {
            Some(holder) if !self.is_over(now, record.version, holder.ttl) => {
                Ok(self.wait_for(holder))
            }
            _ => self.take(now, record.version).await,
        }
    }

    async fn take(&mut self, now: Boottime, version: u64) -> Result<Standing, Error> {
        self.state = State::Unknown(version);
        match self.swap(Op::Enter, version, true).await? {
            Reply::Swapped(record) => self.lead(now, &record),
            Reply::Stands(record) if self.ours(&record).is_some() => {
                // An earlier copy of this write came in between: the next refresh finds it.
                Ok(WOKEN())
            }
            Reply::Stands(record) => {
                self.state = State::Out;
                Ok(record.holder.map_or_else(WOKEN, |holder| self.wait_for(&holder)))
            }
            reply => Err(unexpected(&reply)),
        }
    }

    fn wait_for(&self, holder: &Holder) -> Standing {
        let (token, orders) = (holder.token, self.control.version);
        Standing::Waiting { ahead: 1, wake: self.link.wake(Ask::AwaitChange { token, orders }) }
    }

    /// Whether the record has been unchanged for the holder's TTL. The write that follows expects this
    /// version, so that it stays unchanged until then.
    fn is_over(&mut self, now: Boottime, version: u64, ttl: Duration) -> bool {
        let Some(patience) = &mut self.patience else { return false };
        if patience.version != version {
            *patience = Patience { version, since: None };
            return false;
        }
        now.since(*patience.since.get_or_insert(now)) >= ttl
    }
}

#[async_trait]
impl Seat for RecordSeat {
    async fn refresh(&mut self, now: Boottime) -> Result<Standing, Error> {
        match self.state {
            State::Gone => Ok(Standing::Gone(GONE.into())),
            State::Leading { token, version } => self.renew(now, token, version).await,
            State::Unknown(version) => self.contend(now, Some(version)).await,
            State::Out => self.contend(now, None).await,
        }
    }

    fn control(&self) -> &Versioned {
        &self.control
    }

    async fn read(&mut self, _now: Boottime, cell: Cell<'_>) -> Result<Note, Error> {
        cells::read_and_watch(&self.link, cell).await
    }

    async fn write(
        &mut self,
        _now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        _durability: Durability,
    ) -> Result<Written, Error> {
        cells::write_when(&self.link, cell, bytes, When::Ours(self.nonce)).await
    }

    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        if let Some((cell, bytes)) = last
            && matches!(self.state, State::Leading { .. })
            && cells::part(&self.link, self.nonce, cell, bytes).await?
        {
            self.start_over();
            return Ok(());
        }
        match self.state {
            State::Out => return Ok(()),
            State::Gone => {}
            State::Leading { version, .. } | State::Unknown(version) => {
                vacate(&self.link, Op::Leave, self.nonce, Some(version)).await?;
            }
        }
        self.start_over();
        Ok(())
    }

    fn ticket(&self) -> Option<Ticket> {
        ticket::of(self.nonce)
    }
}

async fn read(link: &Link, op: Op) -> Result<Record, Error> {
    match link.ask(op, Ask::Read).await? {
        Reply::Stands(record) => Ok(record),
        reply => Err(unexpected(&reply)),
    }
}

/// Gives up, from another process, what has this nonce.
pub(super) async fn redeem(link: &Link, nonce: u64) -> Result<(), Error> {
    vacate(link, Op::Redeem, nonce, None).await
}

/// Makes sure that the record does not have this nonce, nor gets it from a write that is still under
/// way: that one expects the version `tried`, or the present one. So a vacant record is written too.
/// The record of another is left alone, unless it is of the version that we were free to replace.
async fn vacate(link: &Link, op: Op, nonce: u64, tried: Option<u64>) -> Result<(), Error> {
    // The second time is for a renewal of ours that came in between.
    for _ in 0..2 {
        let record = read(link, op).await?;
        let is_ours = is_off(Part::TicketOwn)
            || record.holder.as_ref().is_none_or(|holder| holder.nonce == nonce);
        if !is_ours && tried != Some(record.version) {
            return Ok(());
        }
        match link.ask(op, Ask::Swap { expect: record.version, bid: None }).await? {
            Reply::Swapped(_) => return Ok(()),
            Reply::Stands(_) => {}
            reply => return Err(unexpected(&reply)),
        }
    }
    Err(Error::new(ErrorKind::Unreachable, "the record changes as we give it up"))
}
