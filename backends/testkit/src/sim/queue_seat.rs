use async_trait::async_trait;
use elect_api::{
    Boottime, Cell, Durability, Error, ErrorKind, Refreshed, Seat, Standing, Ticket, Token,
    Validity, Versioned, WatchedCell, Written, awake,
};

use super::cells;
use super::message::{Ask, Name, Op, Place, Reply, Slip, When};
use super::store::{Application, draw};
use super::ticket;
use super::transport::{ElectionClient, unexpected};
use crate::switches::{Part, is_off};

/// A candidate's seat in a queue.
pub(super) struct QueueSeat {
    link: ElectionClient,
    application: Application,
    /// The nonce of the current entry, or of the one that the next refresh creates.
    nonce: u64,
    /// The number of the current place.
    place: Option<u64>,
    state: State,
    control: Versioned,
    /// The term of the store's leader in the last answer.
    term: Option<u64>,
}

/// One round to learn a term, one for an answer that counts, one to prove a win, and one more for a change in
/// between.
const ROUNDS: u32 = 4;

enum State {
    /// There is no entry.
    Out,
    /// An entry was requested, and the answer is missing.
    Unknown,
    /// The entry waited when the store last answered.
    Waiting,
    /// The entry led then.
    Leading,
    /// The entry led, and is gone.
    Gone,
}

const GONE: &str = "the store has no entry of ours any more";

impl QueueSeat {
    pub(super) fn new(link: ElectionClient, application: Application) -> Self {
        let control = Versioned::default();
        Self {
            link,
            application,
            nonce: draw(),
            place: None,
            state: State::Out,
            control,
            term: None,
        }
    }

    fn start_over(&mut self) {
        self.nonce = draw();
        self.application.arrived = self.application.arrived.or(self.place.take());
        self.state = State::Out;
    }

    /// Returns whether an answer proves the lease. An answer for an older entry does so only if the member
    /// showed this term before. A member that led in an earlier term, and then stood still, may hold an entry
    /// that the others have ended.
    fn counts(&mut self, place: &Place) -> bool {
        let shown = std::mem::replace(&mut self.term, place.term);
        if matches!(self.state, State::Unknown) {
            self.state = State::Waiting;
        }
        place.is_new || shown == place.term || is_off(Part::Term)
    }

    /// Returns whether only a write proves anything: in a store like etcd, members may answer reads from old
    /// state.
    fn may_read_stale(&self) -> bool {
        self.term.is_some() && !is_off(Part::WriteProof)
    }

    fn placed(&mut self, now: Boottime, place: Place) -> Standing {
        self.place = Some(place.token);
        self.control = place.control.into();
        let control = self.control.version;
        if let Some(nonce) = place.before {
            self.state = State::Waiting;
            let wake = self.link.wake(Ask::AwaitEnd { nonce, control });
            return Standing::Waiting { ahead: place.ahead, alive: true, wake };
        }
        self.state = State::Leading;
        let validity = Validity::Window { anchor: now, window: place.ttl };
        let wake = self.link.wake(Ask::AwaitCell(Name::Control, control));
        Standing::Leading { token: Token::new(place.token), validity, wake }
    }

    /// Handles an answer that the store has no entry with this nonce, and never will.
    fn ended(&mut self, others: usize, control: Slip) -> Result<Standing, Error> {
        match self.state {
            State::Leading | State::Gone => {
                self.state = State::Gone;
                Ok(Standing::Gone(GONE.into()))
            }
            // The guardian has to see the new ticket before there is an entry for it.
            State::Waiting => {
                self.start_over();
                self.control = control.into();
                Ok(Standing::Waiting { ahead: others, alive: true, wake: awake() })
            }
            State::Out | State::Unknown => {
                self.start_over();
                Err(Error::new(
                    ErrorKind::Unreachable,
                    "our entry ended before we heard of it: trying again makes another",
                ))
            }
        }
    }

    async fn step(&mut self, now: Boottime) -> Result<Standing, Error> {
        let mut by_write = matches!(self.state, State::Leading);
        for _ in 0..ROUNDS {
            let (op, ask) = match self.state {
                State::Gone => return Ok(Standing::Gone(GONE.into())),
                // The request is repeated unchanged. However often and late it arrives, it creates one entry.
                State::Out | State::Unknown => {
                    if matches!(self.state, State::Unknown) && is_off(Part::Ambiguity) {
                        self.start_over();
                    }
                    self.state = State::Unknown;
                    (Op::Enter, Ask::Enter(self.application.bid(self.nonce)))
                }
                State::Waiting | State::Leading if by_write && self.may_read_stale() => {
                    (Op::Renew, Ask::RenewByWrite(self.nonce))
                }
                State::Waiting | State::Leading => (Op::Renew, Ask::Renew(self.nonce)),
            };
            match self.link.ask(op, ask).await? {
                Reply::Placed(place) if self.counts(&place) => {
                    let is_read = op == Op::Renew && !by_write && self.may_read_stale();
                    if place.before.is_some() || !is_read {
                        return Ok(self.placed(now, place));
                    }
                    // A win must be proven by a write, too.
                    by_write = true;
                }
                Reply::Placed(_) => {}
                Reply::Ended { others, control } => return self.ended(others, control),
                reply => return Err(unexpected(&reply)),
            }
        }
        Err(Error::new(ErrorKind::Unreachable, "the store changes its leader: trying again helps"))
    }
}

#[async_trait]
impl Seat for QueueSeat {
    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error> {
        let standing = self.step(now).await?;
        Ok(standing.with(&self.control))
    }

    async fn read(&mut self, _now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error> {
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
            && matches!(self.state, State::Leading)
            && cells::part(&self.link, self.nonce, cell, bytes).await?
        {
            self.start_over();
            return Ok(());
        }
        if !matches!(self.state, State::Out | State::Gone) {
            match self.link.ask(Op::Leave, Ask::Leave(self.nonce)).await? {
                Reply::Left | Reply::Ended { .. } => {}
                reply => return Err(unexpected(&reply)),
            }
        }
        if !matches!(self.state, State::Out) {
            self.start_over();
        }
        Ok(())
    }

    fn ticket(&self) -> Option<Ticket> {
        ticket::of(self.nonce)
    }
}
