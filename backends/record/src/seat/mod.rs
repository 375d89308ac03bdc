//! The seat of a candidate in an election of documents: how it waits, wins, proves that it leads, and resigns.
//!
//! A refresh depends on the state of the seat:
//!
//! - `Out` or `Trying`: `contend` lists the election. It resolves an earlier write whose outcome is unknown, keeps
//!   the candidate's waiter, and takes a vacant record once the candidate's turn has come.
//! - `Leading`: `renew` raises the beat in the record.
//! - `Gone`: the seat reports the loss until the candidate resigns.
//!
//! `far.rs` and `next.rs` wait without a list of all documents. `waiting.rs` keeps the candidate's waiter. `taking.rs`
//! decides whether the record is vacant, and takes it.

mod far;
mod next;
mod taking;
mod waiting;

use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Candidate, Cell, Doubt, Durability, Error, ErrorKind, Refreshed, Seat, Standing,
    Ticket, Token, Validity, Versioned, Wake, WatchedCell, Written, awake, never, stamp,
};

use self::far::Far;
use self::waiting::{Kept, OwnWaiter};
use crate::documents::{Document, Listing, Name, Purpose};
use crate::election::{Election, Known, Step, read};
use crate::guards::{Guard, is_off};
use crate::line::Line;
use crate::table::LONGEST_LEASE;
use crate::unchanged::Unchanged;
use crate::{Listed, Record, data, ticket};

const GONE: &str = "the record belongs to another candidate by now";
const LOST: &str = "the store has lost the record, or it was removed";

/// One candidate's place in one election.
pub(crate) struct RecordSeat {
    election: Election,
    candidate: Candidate,
    ttl: Duration,
    /// The time of arrival, in milliseconds since 1970; for display only.
    joined: u64,
    /// The nonce of the candidate's entry, or of the entry that the next refresh makes.
    nonce: u64,
    state: State,
    waiter: Option<OwnWaiter>,
    /// Whether a waiter was requested. It may exist even if no reply has confirmed it.
    has_entered: bool,
    /// The number of the candidate's first place, once that is given up.
    arrived: Option<u64>,
    /// The rank of the previous entry, whose outcome was unknown. The next entry keeps it.
    rank: Option<u64>,
    /// For how long another candidate's lease is unchanged. The mark includes whether the record existed, and the epoch
    /// that doubts it.
    holder: Unchanged<(Mark, bool, Option<String>)>,
    /// The last known holder of the record, and its TTL. If the record was removed by hand, that holder may lead on for
    /// this long.
    held: Option<(Mark, Duration)>,
    line: Line,
    /// What the candidate remembers between two lists, if many are before it.
    far: Option<Far>,
    /// The time before the last write that took or renewed the lease, or may have.
    proved: Boottime,
    /// The time at which such a candidate next renews its waiter.
    due: Option<Boottime>,
    /// The time of the last list and the nonce of the waiter before, if at most one waiter was before this one then.
    next: Option<(Boottime, Option<u64>)>,
    /// Whether the waiter before was found dead, so that the one before that may be dead as well.
    is_alarmed: bool,
    /// The last time at which this candidate, as the leader, looked for dead waiters.
    swept: Boottime,
    /// The token of the last leader, and the first poll since then that found the record vacant.
    vacant_since: Option<(u64, Boottime)>,
    /// How often in a row another write came before this candidate's winning one.
    overtaken: u32,
    /// The number of waiters before this one, and the first poll that found this number.
    place: Option<(usize, Boottime)>,
    control: Versioned,
}

/// The token, nonce and beat of a holder.
type Mark = (u64, u64, u64);

enum State {
    /// Another candidate has the record, or none has.
    Out,
    /// The seat has written to a record of this version and token, and does not know the outcome.
    Trying { version: u64, token: u64 },
    /// The candidate has the record.
    Leading {
        known: Box<Known>,
        /// Whether the candidate's token is the epoch of the values.
        has_begun: bool,
    },
    /// The candidate had the record and lost it, for this reason.
    Gone(&'static str),
}

impl RecordSeat {
    pub(crate) fn new(election: Election, candidate: Candidate, ttl: Duration) -> Self {
        let ttl = election.documents.grant(ttl);
        Self {
            election,
            candidate,
            ttl,
            joined: stamp::display(),
            nonce: fastrand::u64(1..),
            state: State::Out,
            waiter: None,
            has_entered: false,
            arrived: None,
            rank: None,
            holder: Unchanged::default(),
            held: None,
            line: Line::default(),
            far: None,
            proved: Boottime::from_boot(Duration::ZERO),
            due: None,
            next: None,
            is_alarmed: false,
            swept: Boottime::from_boot(Duration::ZERO),
            vacant_since: None,
            overtaken: 0,
            place: None,
            control: Versioned::default(),
        }
    }

    /// Begins another entry, with a new nonce.
    fn start_over(&mut self) {
        self.nonce = fastrand::u64(1..);
        self.state = State::Out;
        self.waiter = None;
        self.has_entered = false;
        (self.far, self.due, self.next) = (None, None, None);
    }

    async fn list(&mut self) -> Result<(Known, Vec<Listed>), Error> {
        let Listing { record, waiters, .. } = self.election.list(Purpose::Poll).await?;
        let (version, record) = record.unwrap_or_default();
        let known = Known { version, record };
        self.control = known.record.cell(Cell::Control);
        Ok((known, waiters))
    }

    /// Proves that the candidate leads, by a new beat in the record that it holds.
    async fn renew(&mut self, now: Boottime) -> Result<Standing, Error> {
        let State::Leading { known, .. } = &self.state else { return Ok(self.gone(GONE)) };
        let (known, ttl) = (Known::clone(known), millis(self.ttl));
        let owns = self.ownership(now, known.record.token);
        let beat = |_, record: &mut Record| {
            let is_ours = owns(record);
            match &mut record.holder {
                // Other candidates count by the TTL in the record. Another TTL there is not this candidate's lease.
                Some(holder) if is_ours && holder.ttl == ttl => {
                    holder.beat = holder.beat.wrapping_add(1);
                    record.believe();
                    Step::Write(true)
                }
                _ => Step::Leave(false),
            }
        };
        let (is_ours, known) = self.election.update(Purpose::Renew, Some(known), beat).await?;
        self.control = known.record.cell(Cell::Control);
        if !is_ours {
            return Ok(self.gone(if known.record.holder.is_some() { GONE } else { LOST }));
        }
        let standing = self.lead(now, known).await?;
        self.sweep(now).await;
        Ok(standing)
    }

    /// Decides whether a record proves that this candidate leads with this token. A record of an earlier epoch does so
    /// only while the lease lasts, because another candidate may have led since.
    fn ownership(&self, now: Boottime, token: u64) -> impl Fn(&Record) -> bool + Send + use<> {
        let (nonce, id) = (self.nonce, self.candidate.id.clone());
        let is_over = now.since(self.proved) >= self.ttl && !is_off(Guard::Lapsed);
        move |record| {
            let is_ours = record.token == token && record.is_held_by_candidate(nonce, &id);
            is_ours && !(is_over && record.doubt.is_some())
        }
    }

    fn gone(&mut self, why: &'static str) -> Standing {
        self.state = State::Gone(why);
        Standing::Gone(why.into())
    }

    /// Records that the candidate has the record, as a write proves that was sent after `now`.
    async fn lead(&mut self, now: Boottime, written: Known) -> Result<Standing, Error> {
        let begun = matches!(self.state, State::Leading { has_begun: true, .. });
        let (token, has_epochs) = (written.record.token, written.record.has_epochs);
        let version = written.version;
        self.state = State::Leading { known: Box::new(written), has_begun: begun || !has_epochs };
        self.vacant_since = None;
        self.proved = now;
        if let State::Leading { has_begun, .. } = &mut self.state
            && !*has_begun
            && !is_off(Guard::Epoch)
        {
            match data::begin_epoch(&self.election, token).await {
                Ok(()) => *has_begun = true,
                Err(error) => {
                    if error.is_permanent() {
                        self.vacate(None).await?;
                    }
                    return Err(error);
                }
            }
        }
        let (nonce, control) = (self.nonce, self.control.version);
        let wake = self.wake_by_record(version, move |record| {
            !record.is_held_by(nonce) || record.cell(Cell::Control).version != control
        });
        let validity = Validity::Window { anchor: now, window: self.ttl };
        Ok(Standing::Leading { token: Token::new(token), validity, wake })
    }

    async fn contend(&mut self, now: Boottime) -> Result<Standing, Error> {
        if let Some(standing) = self.stand_by(now).await? {
            return Ok(standing);
        }
        if let Some(standing) = self.stand_next(now).await? {
            return Ok(standing);
        }
        (self.far, self.next) = (None, None);
        let (known, waiters) = self.list().await?;
        if known.record.is_held_by_candidate(self.nonce, &self.candidate.id) {
            // The write of this seat happened, though its reply was lost.
            self.state = State::Leading { known: Box::new(known), has_begun: false };
            return self.renew(now).await;
        }
        if let Some(standing) = self.resolve_attempt(&known).await? {
            return Ok(standing);
        }
        let position = self.line.locate(now, &known.record, &waiters, self.nonce);
        let is_vacant = self.is_vacant(now, &known);
        if self.election.queues() {
            let kept = self.keep_waiting(now, &waiters, &position, is_vacant).await?;
            if matches!(kept, Kept::Removed) {
                // The guardian must see the new ticket before the next entry exists.
                self.vacate(None).await?;
                // A list may leave the waiter out, as its label is lost. Without this, each poll would leave one
                // behind.
                self.election.remove_waiter(self.nonce, Purpose::Enter).await?;
                self.start_over();
                self.rank = None;
            }
            if !matches!(kept, Kept::There) {
                let ahead = position.ahead + usize::from(known.record.holder.is_some());
                return Ok(Standing::Waiting { ahead, alive: false, wake: awake() });
            }
        }
        self.remove_dead(&position).await?;
        let before = position.before.map(|(nonce, _)| nonce);
        self.next = (position.ahead <= 1 && position.is_listed).then_some((now, before));
        // A waiter that becomes the next one has its turn from then on.
        let place = self.place.filter(|(ahead, _)| *ahead == position.ahead);
        let (_, placed) = *self.place.insert(place.unwrap_or((position.ahead, now)));
        match self.vacant_since {
            Some((_, since)) if now.since(since.max(placed)) >= self.turn(position.ahead) => {
                self.take(now, known, &position).await
            }
            _ => Ok(self.wait(now, &known, &position)),
        }
    }

    /// Resolves a write with an unknown outcome, if the record does not name this candidate as its holder.
    async fn resolve_attempt(&mut self, known: &Known) -> Result<Option<Standing>, Error> {
        let State::Trying { version, token } = self.state else { return Ok(None) };
        if is_off(Guard::Ambiguity) {
            self.state = State::Out;
        } else if version == known.version {
            // The write may still be under way. Of two writes that replace one version, only one succeeds.
        } else if token == known.record.token {
            // No candidate has taken the record since, so the write was overtaken.
            self.state = State::Out;
        } else {
            // The write was overtaken, or the candidate had the record and lost it. Either way the entry is over. The
            // guardian must see the new ticket before the next entry exists. The place in the queue stays.
            if self.has_entered {
                self.election.remove_waiter(self.nonce, Purpose::Enter).await?;
                self.rank = self.waiter.as_ref().and_then(|ours| ours.waiter.rank).or(self.rank);
            }
            self.start_over();
            return Ok(Some(Standing::Waiting { ahead: 1, alive: false, wake: awake() }));
        }
        Ok(None)
    }

    /// Ends when the record has changed in a way that is news.
    fn wake_by_record(
        &self,
        version: u64,
        is_news: impl Fn(&Record) -> bool + Send + 'static,
    ) -> Wake {
        self.election.wake(Name::Record, version, of_record(is_news))
    }

    /// Makes sure that the candidate does not hold the record, and that no write under way can still give it the
    /// record.
    async fn vacate(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        let (known, tried) = match &self.state {
            State::Out => return Ok(()),
            // The record may name this candidate again: it was changed by hand, or the answer was wrong.
            State::Gone(_) => (None, None),
            State::Leading { known, .. } => (Some(Known::clone(known)), None),
            State::Trying { version, .. } => (None, Some(*version)),
        };
        let last = last.filter(|(cell, bytes)| cell.check_length(bytes).is_ok());
        let (nonce, id) = (self.nonce, self.candidate.id.clone());
        let vacate = |last: Option<(Cell<'_>, &[u8])>, version, record: &mut Record| {
            if record.is_held_by_candidate(nonce, &id) {
                record.vacate();
                if let Some((cell, bytes)) = last {
                    record.write(cell, version, bytes);
                }
            } else if tried != Some(version) || is_off(Guard::LateWrite) {
                return Step::Leave(());
            } else {
                record.overwrites = record.overwrites.wrapping_add(1);
            }
            Step::Write(())
        };
        let (election, purpose) = (&self.election, Purpose::Leave);
        let update = election.update(purpose, known.clone(), |v, record| vacate(last, v, record));
        match update.await {
            // The document may have no room for the last words. The candidate resigns in any case.
            Err(error) if error.kind() == ErrorKind::Unfit && last.is_some() => {
                election.update(purpose, known, |v, record| vacate(None, v, record)).await?;
            }
            other => _ = other?,
        }
        Ok(())
    }
}

#[async_trait]
impl Seat for RecordSeat {
    fn doubt(&self) -> Option<Doubt> {
        match self.holder.mark() {
            Some((_, _, Some(_))) => {
                Some(Doubt::Store(LONGEST_LEASE.saturating_sub(self.holder.span())))
            }
            _ => self.held.map(|(_, ttl)| Doubt::Leader(ttl)),
        }
    }

    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error> {
        let standing = match self.state {
            State::Gone(why) => self.gone(why),
            State::Leading { .. } => self.renew(now).await?,
            State::Out | State::Trying { .. } => self.contend(now).await?,
        };
        Ok(standing.with(&self.control))
    }

    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        self.vacate(last).await?;
        if self.has_entered {
            self.election.remove_waiter(self.nonce, Purpose::Leave).await?;
        }
        let first = match &self.state {
            State::Leading { known, .. } => {
                known.record.holder.as_ref().map(|holder| holder.arrival)
            }
            _ => self.waiter.as_ref().and_then(|ours| ours.waiter.rank),
        };
        self.arrived = self.arrived.or(first);
        self.rank = None;
        self.start_over();
        Ok(())
    }

    async fn read(&mut self, _now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error> {
        if !cell.is_watched() {
            let bytes = read(&self.election, cell).await?.bytes;
            return Ok(WatchedCell { bytes, wake: never() });
        }
        // Watched cells are in the record. The wake watches from the version of the record.
        let owned = if cell == Cell::Control { Cell::Control } else { Cell::Once };
        let known = self.election.record(Purpose::LeaderCell).await?;
        let Versioned { bytes, version } = known.record.cell(owned);
        let wake =
            self.wake_by_record(known.version, move |record| record.cell(owned).version != version);
        Ok(WatchedCell { bytes, wake })
    }

    async fn write(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        _durability: Durability,
    ) -> Result<Written, Error> {
        cell.check_length(bytes)?;
        let State::Leading { known, .. } = &self.state else {
            return Ok(Written::Gone("our entry does not lead".into()));
        };
        let known = Known::clone(known);
        let owns = self.ownership(now, known.record.token);
        let write = |version, record: &mut Record| {
            if owns(record) {
                Step::Write(Written::Yes(record.write(cell, version, bytes)))
            } else {
                Step::Leave(Written::Gone("our entry does not lead".into()))
            }
        };
        let (written, now_known) =
            self.election.update(Purpose::LeaderCell, Some(known), write).await?;
        if let (Written::Yes(_), State::Leading { known, .. }) = (&written, &mut self.state) {
            **known = now_known;
        }
        Ok(written)
    }

    fn ticket(&self) -> Option<Ticket> {
        ticket::of(self.nonce)
    }
}

/// Decides on the record whether a document is news. A missing record counts as an empty one.
fn of_record(
    is_news: impl Fn(&Record) -> bool + Send + 'static,
) -> impl Fn(Option<&Document>) -> bool + Send + 'static {
    move |found| match found {
        Some(Document::Record(record)) => is_news(record),
        _ => is_news(&Record::default()),
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
