//! A waiter with many others before it, which usually makes no list. A thousand waiters that each list a thousand
//! documents at each poll are too much for a store.
//!
//! Once in a lease such a waiter renews its own document, at the version that it knows, and reads one other document.
//! It alternates between the document of the waiter right before it and the record, for requests of people. Between
//! that it repeats its last answer. It lists in these cases:
//!
//! - The waiter before it is gone, dead, or so far to the front that this one is near.
//! - One of the last waiters before it has led, so that it has come close.
//! - Its own document is not as it wrote it.
//! - The engine refreshes out of turn.
//! - Many leases have passed since the last list.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use elect_api::{Boottime, Cell, Error, Standing, Wake, first_of};

use super::waiting::NEAR;
use super::{RecordSeat, State};
use crate::documents::{Document, Name, Purpose};
use crate::election::{Election, Known, Watching};
use crate::line::{CLOSE, Position};
use crate::{Record, Waiter};

/// The number of leases after which it lists in any case. By then its place is out of date, and its watch may be lost.
const LIST_EVERY: u32 = 20;
/// The greatest number before a waiter that lists when no candidate seems to lead, and that wakes when the control cell
/// is written. Where each change costs the store something for each candidate that watches, waiters with more before
/// them watch nothing. They read the record instead, more often if fewer are before them.
const WATCHFUL: usize = CLOSE;

/// The knowledge of such a waiter.
pub(super) struct Far {
    /// The number of candidates before it, the leader included, and whether any of them lives.
    ahead: usize,
    alive: bool,
    /// The nonce of the waiter right before it.
    before: u64,
    listed: Boottime,
    /// The time of the last refresh, and of the last read of the record.
    asked: Boottime,
    record_read: Boottime,
    /// The time at which it next renews its document and reads one.
    due: Boottime,
    /// Whether the next document to read is the record.
    reads_record: bool,
    /// Watches the waiter before it.
    watch: Option<DocumentWatch>,
    /// Watches the control cell. Waiters in the rear of a crowd have no such watch.
    asking: Option<DocumentWatch>,
    /// The nonces of the waiters right before it. Once one of them leads, the candidate is close to the front.
    close: Vec<u64>,
}

impl Far {
    fn has_told(&self) -> bool {
        self.watches().any(DocumentWatch::has_told)
    }

    fn wake(&self) -> Wake {
        first_of(self.watches().map(DocumentWatch::wake).collect())
    }

    fn watches(&self) -> impl Iterator<Item = &DocumentWatch> {
        self.watch.iter().chain(&self.asking)
    }

    /// Whether the queue has moved so far that the candidate is close to the front.
    fn has_come_close(&self, record: &Record) -> bool {
        let leader = record.holder.as_ref().map(|holder| holder.nonce).or(record.last);
        leader.is_some_and(|nonce| self.close.contains(&nonce))
    }

    /// Whether it watches nothing, and it is time to read the record.
    fn is_record_due(&self, now: Boottime, ttl: Duration) -> bool {
        let ahead = u32::try_from(self.ahead / WATCHFUL).unwrap_or(u32::MAX);
        self.watch.is_none() && now.since(self.record_read) >= (ttl / 6).saturating_mul(ahead)
    }
}

impl RecordSeat {
    /// The answer after a list, if the waiter needs no further list for now; else `None`.
    pub(super) fn stand_back(
        &mut self,
        now: Boottime,
        known: &Known,
        position: &Position,
        (ahead, alive): (usize, bool),
    ) -> Option<Standing> {
        let is_steady = alive && position.is_listed && !self.may_have_to_act(ahead);
        let is_idle = matches!(self.state, State::Out) && self.waiter.is_some();
        let (before, version) = position.before?;
        let is_doubtful = self.is_alarmed && !self.line.lives(before);
        if position.ahead < NEAR || !is_steady || !is_idle || is_doubtful {
            return None;
        }
        self.is_alarmed = false;
        // In a crowd that arrives at once, each waiter gets a random moment.
        let due = *self.due.get_or_insert_with(|| now + self.ttl.mul_f64(fastrand::f64()));
        let (election, is_close) = (&self.election, ahead <= WATCHFUL);
        let watches = is_close || !election.documents.wakes_all();
        let watch = watches.then(|| DocumentWatch::of_waiter(election, before, version));
        let asking = is_close.then(|| {
            DocumentWatch::new(election.watch_requests(known.version, self.control.version))
        });
        let (listed, asked, record_read, reads_record) = (now, now, now, false);
        let close = if watches { Vec::new() } else { position.close.clone() };
        let far = Far {
            ahead,
            alive,
            before,
            listed,
            asked,
            record_read,
            due,
            reads_record,
            watch,
            asking,
            close,
        };
        let wake = far.wake();
        self.far = Some(far);
        Some(Standing::Waiting { ahead, alive, wake })
    }

    /// The answer without a list; `None` if a list is needed.
    pub(super) async fn stand_by(&mut self, now: Boottime) -> Result<Option<Standing>, Error> {
        let ttl = self.ttl;
        let Some(far) = &mut self.far else { return Ok(None) };
        let is_asked_in_turn = now.since(far.asked) >= ttl / 12;
        let is_new = now.since(far.listed) < ttl.saturating_mul(LIST_EVERY);
        if !is_asked_in_turn || !is_new || far.has_told() {
            return Ok(None);
        }
        let (is_due, is_record_due) = (far.due <= now, far.is_record_due(now, ttl));
        if is_due && !self.renew_and_check_one(now).await?
            || is_record_due && !self.check_record(now).await?
        {
            return Ok(None);
        }
        let Some(far) = &mut self.far else { return Ok(None) };
        if far.watch.is_none() {
            self.election.documents.hush().await;
        }
        far.asked = now;
        let (ahead, alive, wake) = (far.ahead, far.alive, far.wake());
        Ok(Some(Standing::Waiting { ahead, alive, wake }))
    }

    /// Whether, as far as one or two leases show, no candidate leads. The waiters before this one may then be dead as
    /// well, for example with their machine. Only the first waiters act on this, so that no crowd does.
    fn may_have_to_act(&self, ahead: usize) -> bool {
        ahead <= WATCHFUL && (self.holder.is_still() || self.vacant_since.is_some())
    }

    /// Reads the record. Returns false if a list is needed.
    async fn check_record(&mut self, now: Boottime) -> Result<bool, Error> {
        let known = self.election.record(Purpose::Poll).await?;
        self.control = known.record.cell(Cell::Control);
        self.is_vacant(now, &known);
        let Some(far) = &mut self.far else { return Ok(false) };
        far.record_read = now;
        let (ahead, is_close) = (far.ahead, far.has_come_close(&known.record));
        Ok(!is_close && !self.may_have_to_act(ahead))
    }

    /// Renews this candidate's waiter and reads one document. Returns false if a list is needed.
    async fn renew_and_check_one(&mut self, now: Boottime) -> Result<bool, Error> {
        let Some(Far { before, reads_record, .. }) = self.far else { return Ok(false) };
        if !self.renew_waiter(now).await? {
            return Ok(false);
        }
        if reads_record {
            if !self.check_record(now).await? {
                return Ok(false);
            }
        } else {
            let found = self.election.waiter(before, Purpose::Poll).await?;
            let Some((version, waiter)) = found.filter(|(_, waiter)| !has_near_behind(waiter))
            else {
                return Ok(false);
            };
            if self.line.is_dead(now, before, &waiter) {
                self.is_alarmed = true;
                self.line.doubt();
                return Ok(false);
            }
            if let Some(watch) = self.far.as_mut().and_then(|far| far.watch.as_mut())
                && watch.is_lost()
            {
                *watch = DocumentWatch::of_waiter(&self.election, before, version);
            }
        }
        let due = now + self.ttl;
        self.due = Some(due);
        if let Some(far) = &mut self.far {
            (far.due, far.reads_record) = (due, !reads_record);
        }
        Ok(true)
    }
}

/// Returns whether the waiter behind this one is so near the front that it polls each time.
fn has_near_behind(waiter: &Waiter) -> bool {
    let near = u64::try_from(NEAR).unwrap_or(u64::MAX);
    waiter.ahead.is_some_and(|ahead| ahead.saturating_add(1) < near)
}

/// A watch of a document, which outlives the wakes that are made from it.
struct DocumentWatch(Arc<Mutex<SeenState>>);

enum SeenState {
    /// No news yet.
    Open(Watching),
    /// There is news: the waiter is gone, or so far to the front that this candidate is near; or the control cell has
    /// changed.
    Told,
    /// The watch has failed.
    Lost,
}

impl DocumentWatch {
    /// Watches the waiter with this nonce, from this version on.
    fn of_waiter(election: &Election, nonce: u64, version: u64) -> Self {
        let is_news = |found: Option<&Document>| match found {
            Some(Document::Waiter(waiter)) => has_near_behind(waiter),
            _ => true,
        };
        Self::new(election.watch(Name::Waiter(nonce), version, is_news))
    }

    fn new(told: Watching) -> Self {
        Self(Arc::new(Mutex::new(SeenState::Open(told))))
    }

    fn state(&self) -> MutexGuard<'_, SeenState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_told(&self) -> bool {
        matches!(*self.state(), SeenState::Told)
    }

    fn is_lost(&self) -> bool {
        matches!(*self.state(), SeenState::Lost)
    }

    /// Ends when there is news.
    fn wake(&self) -> Wake {
        let watch = Self(Arc::clone(&self.0));
        Box::pin(std::future::poll_fn(move |context| {
            let mut state = watch.state();
            if let SeenState::Open(told) = &mut *state
                && let Poll::Ready(told) = told.as_mut().poll(context)
            {
                *state = if told.is_ok() { SeenState::Told } else { SeenState::Lost };
            }
            if matches!(*state, SeenState::Told) { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}
