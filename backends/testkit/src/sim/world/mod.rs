//! The state of a simulated store: a pure function of requests and of the store's time.

mod documents;
mod ends;
mod history;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use elect_api::{Cell, ElectionName};
use elect_record::Text;
use elect_simulation::queue::{Bid, Queue, Rounds};

use self::documents::Election;
use self::history::History;
use super::message::{Ask, Cause, Leadership, Name, Place, Reply, Request, Slip, When};
use super::{Kind, Options};
use crate::switches::{Part, is_off};

/// The whole state of a simulated store. It has no clock, no I/O and no chance. The same requests at the same
/// times give the same replies.
#[derive(Clone, Debug)]
pub struct World {
    options: Options,
    /// Rises with each change of a cell, and is never reset.
    revision: u64,
    /// Rises with each change of the store's own leader.
    term: u64,
    /// The queues of elections. A queue whose election is forgotten stays, so that its tokens rise.
    queues: BTreeMap<ElectionName, Queue>,
    /// The elections that were entered and not forgotten.
    known: BTreeSet<ElectionName>,
    /// When each entry of a queue was made, by its nonce.
    entered: BTreeMap<u64, Duration>,
    /// The documents of elections.
    folders: BTreeMap<ElectionName, Election>,
    cells: BTreeMap<ElectionName, BTreeMap<Name, Slip>>,
    history: History,
}

/// A leader as the history needs it.
struct Leads {
    token: u64,
    nonce: u64,
    candidate: String,
    lease_end: Duration,
}

impl World {
    /// Creates a store without any election.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            revision: 0,
            term: 1,
            queues: BTreeMap::new(),
            known: BTreeSet::new(),
            entered: BTreeMap::new(),
            folders: BTreeMap::new(),
            cells: BTreeMap::new(),
            history: History::default(),
        }
    }

    /// Carries out a request at `now`, which never goes back. Returns `None` while the event that the request
    /// waits for has not happened. The caller then repeats the request after every change.
    pub fn apply(&mut self, now: Duration, request: &Request) -> Option<Reply> {
        self.apply_by(None, now, request)
    }

    /// Carries out a request at a member that led in the term `led` and has stood still since. If it does not
    /// know of a later term yet, it keeps leases alive in its own records only.
    pub(super) fn apply_by(
        &mut self,
        led: Option<u64>,
        now: Duration,
        request: &Request,
    ) -> Option<Reply> {
        self.end_leases(now);
        let keeps_alive = led.is_none_or(|term| term == self.term);
        match request {
            Request::Elections => Some(Reply::Elections(self.known.iter().cloned().collect())),
            Request::UnderControl => {
                let asked =
                    self.cells.iter().filter(|(_, cells)| cells.contains_key(&Name::Control));
                Some(Reply::Elections(asked.map(|(election, _)| election.clone()).collect()))
            }
            Request::Remembered => {
                let kept = self.cells.iter().filter(|(_, cells)| !cells.is_empty());
                Some(Reply::Elections(kept.map(|(election, _)| election.clone()).collect()))
            }
            Request::Records => {
                let records = self.folders.iter().filter_map(|(election, folder)| {
                    Some((election.clone(), folder.record()?.clone()))
                });
                Some(Reply::Records(records.collect()))
            }
            Request::In(election, ask) if self.options.kind == Kind::Queue => {
                self.ask(now, election, ask, keeps_alive)
            }
            Request::In(election, Ask::Documents(ask)) => self.ask_documents(now, election, ask),
            Request::In(..) => Some(Reply::Unfit),
        }
    }

    fn ask(
        &mut self,
        now: Duration,
        election: &ElectionName,
        ask: &Ask,
        keeps_alive: bool,
    ) -> Option<Reply> {
        match ask {
            Ask::Survey => Some(self.survey(now, election)),
            Ask::Keys => {
                let cells = self.cells.get(election).map(|cells| cells.keys().cloned().collect());
                Some(Reply::Cells(cells.unwrap_or_default()))
            }
            Ask::Forget { fences } => Some(self.forget(now, election, *fences)),
            Ask::Remove(token) => {
                self.take_out(now, election, *token);
                Some(Reply::Left)
            }
            Ask::Digest => Some(Reply::Digest(self.digest(election))),
            Ask::AwaitChange(seen) => (self.digest(election) != *seen).then_some(Reply::Changed),
            Ask::Enter(_) | Ask::Renew(_) | Ask::RenewByWrite(_) | Ask::Leave(_) => {
                Some(self.ask_queue(now, election, ask, keeps_alive))
            }
            Ask::AwaitEnd { nonce, control } => {
                let is_over =
                    !self.has(election, *nonce) || self.control(election).version() != *control;
                is_over.then_some(Reply::Changed)
            }
            Ask::ReadCell(cell) => Some(Reply::Cell(self.slip(election, cell))),
            Ask::AwaitCell(cell, version) => {
                (self.slip(election, cell).version() != *version).then_some(Reply::Changed)
            }
            Ask::WriteCell { cell, when, text } => {
                Some(self.write_cell(election, cell, *when, text))
            }
            Ask::Part { nonce, cell, text } => {
                Some(match self.write_cell(election, cell, When::Ours(*nonce), text) {
                    Reply::Cell(_) => self.end(now, election, *nonce),
                    refusal => refusal,
                })
            }
            Ask::Documents(_) => Some(Reply::Unfit),
        }
    }

    fn forget(&mut self, now: Duration, election: &ElectionName, fences: bool) -> Reply {
        let others = self.nonces(election, |_, _| true).len();
        if others > 0 {
            return Reply::Ended { others, control: self.control(election) };
        }
        let mut cells = self.cells.get(election).into_iter().flat_map(BTreeMap::keys);
        let fence = cells.find_map(|cell| match cell {
            Name::Fence(resource) if !fences => Some(resource.clone()),
            _ => None,
        });
        if let Some(resource) = fence {
            return Reply::Fenced(resource);
        }
        self.wipe(now, election);
        Reply::Left
    }

    fn ask_documents(
        &mut self,
        now: Duration,
        election: &ElectionName,
        ask: &elect_record::Ask,
    ) -> Option<Reply> {
        let folder = self.folders.entry(election.clone());
        let folder = folder.or_insert_with(|| Election::after(self.revision));
        let reply = folder.answer(now, ask);
        if matches!(ask, elect_record::Ask::Swap(..)) {
            let leads = folder.leads().is_some();
            self.note(now, election, if leads { Cause::Replaced } else { Cause::Left });
        }
        reply.map(Reply::Documents)
    }

    /// Returns the nonce and the token of the leader.
    fn leader(&self, election: &ElectionName) -> (Option<u64>, Option<u64>) {
        let first = self.queues.get(election).and_then(|queue| queue.bids().next());
        (first.map(|(_, bid)| bid.nonce), first.map(|(token, _)| token))
    }

    /// Returns the nonces of the entries for which this is true, the leader's first.
    fn nonces(&self, election: &ElectionName, fits: impl Fn(u64, &Bid) -> bool) -> Vec<u64> {
        let all = self.queues.get(election).into_iter().flat_map(Queue::bids);
        all.filter(|(number, bid)| fits(*number, bid)).map(|(_, bid)| bid.nonce).collect()
    }

    /// Returns a hash of the entries, and of the cells whose changes are announced.
    fn digest(&self, election: &ElectionName) -> u64 {
        let nonces = self.nonces(election, |_, _| true);
        let mut hasher = DefaultHasher::new();
        let written = Cell::WATCHED.map(|cell| self.slip(election, &cell.into()).version());
        (nonces, written).hash(&mut hasher);
        hasher.finish()
    }

    fn slip(&self, election: &ElectionName, cell: &Name) -> Slip {
        self.cells.get(election).and_then(|cells| cells.get(cell)).cloned().unwrap_or_default()
    }

    fn write_cell(
        &mut self,
        election: &ElectionName,
        cell: &Name,
        when: When,
        text: &[u8],
    ) -> Reply {
        let (nonce, token) = self.leader(election);
        let present = self.slip(election, cell).version();
        let (leads, is_expected) = match when {
            When::Version(version) => (true, version == present),
            When::Ours(ours) => (nonce == Some(ours), true),
            When::Leads(theirs, version) => (token == Some(theirs), version == present),
        };
        if !leads {
            return Reply::Ended { others: 0, control: self.control(election) };
        }
        if !is_expected {
            return Reply::Overtaken;
        }
        self.revision += 1;
        let slip = Slip(Some(Text { version: self.revision, bytes: text.to_vec() }));
        self.cells.entry(election.clone()).or_default().insert(cell.clone(), slip.clone());
        Reply::Cell(slip)
    }

    /// Ends the leading entry, which has this nonce.
    fn end(&mut self, now: Duration, election: &ElectionName, nonce: u64) -> Reply {
        self.queue_of(election).end(nonce);
        self.note(now, election, Cause::Left);
        Reply::Left
    }

    /// Returns the control cell of an election.
    pub(super) fn control(&self, election: &ElectionName) -> Slip {
        self.slip(election, &Name::Control)
    }

    /// Returns whether an entry with this nonce is in the queue.
    pub(super) fn has(&self, election: &ElectionName, nonce: u64) -> bool {
        self.queues.get(election).is_some_and(|queue| queue.has(nonce))
    }

    fn queue_of(&mut self, election: &ElectionName) -> &mut Queue {
        let new = || Queue::new(Rounds::default()).telling_every(self.options.tells_every);
        self.queues.entry(election.clone()).or_insert_with(new)
    }

    fn ask_queue(
        &mut self,
        now: Duration,
        election: &ElectionName,
        ask: &Ask,
        keeps_alive: bool,
    ) -> Reply {
        self.known.insert(election.clone());
        let reply = match ask {
            Ask::Enter(bid) => {
                let granted = Bid { ttl: self.options.grant(bid.ttl), ..bid.clone() };
                let is_new = self.queue_of(election).enter(now, &granted);
                if is_new {
                    self.entered.insert(bid.nonce, now);
                } else if keeps_alive {
                    self.queue_of(election).renew(now, bid.nonce);
                }
                self.place(election, bid.nonce, is_new)
            }
            Ask::Renew(nonce) | Ask::RenewByWrite(nonce) => {
                if keeps_alive {
                    self.queue_of(election).renew(now, *nonce);
                }
                self.place(election, *nonce, false)
            }
            Ask::Leave(nonce) => {
                let others = self.leader(election).0.filter(|_| !self.has(election, *nonce));
                for gone in others.filter(|_| is_off(Part::TicketOwn)).iter().chain([nonce]) {
                    self.queue_of(election).end(*gone);
                }
                Reply::Left
            }
            _ => Reply::Unfit,
        };
        self.note(now, election, Cause::Left);
        reply
    }

    /// Returns the place of the entry with this nonce.
    fn place(&self, election: &ElectionName, nonce: u64, is_new: bool) -> Reply {
        let control = self.control(election);
        let place = self.queues.get(election).and_then(|queue| queue.place(nonce));
        let Some(place) = place else {
            return Reply::Ended { others: self.nonces(election, |_, _| true).len(), control };
        };
        let before = self.nonces(election, |number, _| number < place.token);
        let next = if is_off(Part::OneWake) { before.first() } else { before.last() };
        Reply::Placed(Place {
            token: place.token,
            ahead: place.ahead,
            before: next.copied(),
            ttl: place.ttl,
            control,
            is_new,
            term: self.options.shows_terms.then_some(self.term),
        })
    }

    /// Returns whether this request would create a second entry for a candidate in the same queue.
    pub(super) fn would_double(&mut self, now: Duration, request: &Request) -> bool {
        self.end_leases(now);
        let Request::In(election, Ask::Enter(bid)) = request else { return false };
        let is_known = |queue: &Queue| queue.has(bid.nonce) || queue.is_gone(bid.nonce);
        !self.queues.get(election).is_some_and(is_known) && self.queues(election, &bid.candidate.id)
    }

    /// Returns whether this candidate is in the queue.
    pub(super) fn queues(&self, election: &ElectionName, candidate: &str) -> bool {
        !self.nonces(election, |_, bid| bid.candidate.id == candidate).is_empty()
    }

    /// Gives the store another leader of its own.
    pub(super) fn begin_term(&mut self) {
        self.term += 1;
    }

    /// Returns the number of the store's present term, from 1 on.
    pub(super) const fn term(&self) -> u64 {
        self.term
    }

    /// Returns all leaderships of all elections, in the order of leading.
    pub fn history(&self) -> &[Leadership] {
        self.history.tenures()
    }

    fn note(&mut self, now: Duration, election: &ElectionName, cause: Cause) {
        let leads = match self.queues.get(election).and_then(|queue| queue.leads()) {
            Some((token, bid, lease_end)) => {
                let Bid { nonce, candidate, .. } = bid;
                Some(Leads { token, nonce: *nonce, candidate: candidate.id.clone(), lease_end })
            }
            None => self.folders.get(election).and_then(Election::leads),
        };
        self.history.note(now, election, cause, leads);
    }

    fn survey(&self, now: Duration, election: &ElectionName) -> Reply {
        let queue = self.queues.get(election).cloned();
        let queue = queue.unwrap_or_else(|| Queue::new(Rounds::default()));
        let entered = self.leader(election).0.and_then(|nonce| self.entered.get(&nonce));
        let led = self.history.tenures().iter().rfind(|led| led.election == *election);
        let led_after = led.zip(entered).map(|(led, entered)| led.from.saturating_sub(*entered));
        Reply::Survey(Box::new(queue), now, led_after.unwrap_or_default())
    }
}
