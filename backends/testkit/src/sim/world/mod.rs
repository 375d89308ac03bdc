//! The state of a simulated store: a pure function of requests and of the store's time.

mod documents;
mod ends;
mod history;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use elect_api::{Cell, ElectionName};

use self::documents::Election;
use self::history::History;
use self::queue::Queue;
use super::message::{Ask, Cause, Leadership, Line, Name, Reply, Request, Slip, When};
use super::{Kind, Options, StoreTime};
use crate::switches::{Part, is_off};

/// The whole state of a simulated store. It has no clock, no I/O and no chance. The same requests at the same
/// times give the same replies.
#[derive(Clone, Debug)]
pub struct World {
    options: Options,
    /// Rises with each change of a queue or a cell, and is never reset.
    revision: u64,
    /// Rises with each change of the store's own leader.
    term: u64,
    /// The queues of elections.
    elections: BTreeMap<ElectionName, Queue>,
    /// The documents of elections.
    folders: BTreeMap<ElectionName, Election>,
    cells: BTreeMap<ElectionName, BTreeMap<Name, Slip>>,
    /// The nonces of entries that have ended, and of those that must never exist. As with sessions of a real
    /// store, an ended entry does not come back, however late a request for it arrives.
    ended: BTreeSet<u64>,
    history: History,
}

/// A leader as the history needs it.
struct Leads {
    token: u64,
    nonce: u64,
    candidate: String,
    lease_end: StoreTime,
}

impl World {
    /// Creates a store without any election.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            revision: 0,
            term: 1,
            elections: BTreeMap::new(),
            folders: BTreeMap::new(),
            cells: BTreeMap::new(),
            ended: BTreeSet::new(),
            history: History::default(),
        }
    }

    /// Carries out a request at `now`, which never goes back. Returns `None` while the event that the request
    /// waits for has not happened. The caller then repeats the request after every change.
    pub fn apply(&mut self, now: StoreTime, request: &Request) -> Option<Reply> {
        self.apply_by(None, now, request)
    }

    /// Carries out a request at a member that led in the term `led` and has stood still since. If it does not
    /// know of a later term yet, it keeps leases alive in its own records only.
    pub(super) fn apply_by(
        &mut self,
        led: Option<u64>,
        now: StoreTime,
        request: &Request,
    ) -> Option<Reply> {
        self.end_leases(now);
        let keeps_alive = led.is_none_or(|term| term == self.term);
        match request {
            Request::Elections => Some(Reply::Elections(self.elections.keys().cloned().collect())),
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
        now: StoreTime,
        election: &ElectionName,
        ask: &Ask,
        keeps_alive: bool,
    ) -> Option<Reply> {
        match ask {
            Ask::Survey => Some(Reply::Survey(self.line(now, election))),
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
                    !self.has(election, *nonce) || self.control(election).version != *control;
                is_over.then_some(Reply::Changed)
            }
            Ask::ReadCell(cell) => Some(Reply::Cell(self.slip(election, cell))),
            Ask::AwaitCell(cell, version) => {
                (self.slip(election, cell).version != *version).then_some(Reply::Changed)
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
            Ask::AwaitControl(version) => {
                (self.control(election).version != *version).then_some(Reply::Reordered)
            }
            Ask::Documents(_) => Some(Reply::Unfit),
        }
    }

    fn forget(&mut self, now: StoreTime, election: &ElectionName, fences: bool) -> Reply {
        let line = self.line(now, election);
        let others = line.waiting.len() + usize::from(line.leader.is_some());
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
        now: StoreTime,
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
        self.queue(election).map_or((None, None), |queue| (queue.nonces().next(), queue.first()))
    }

    /// Returns a hash of the entries, and of the cells whose changes are announced.
    fn digest(&self, election: &ElectionName) -> u64 {
        let nonces: Vec<u64> =
            self.queue(election).map(|queue| queue.nonces().collect()).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        let written = Cell::WATCHED.map(|cell| self.slip(election, &cell.into()).version);
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
        let present = self.slip(election, cell).version;
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
        let slip = Slip { version: self.revision, text: Some(text.to_vec()) };
        self.cells.entry(election.clone()).or_default().insert(cell.clone(), slip.clone());
        Reply::Cell(slip)
    }

    /// Ends the leading entry, which has this nonce.
    fn end(&mut self, now: StoreTime, election: &ElectionName, nonce: u64) -> Reply {
        self.ended.insert(nonce);
        self.revision += 1;
        if let Some(queue) = self.elections.get_mut(election) {
            queue.remove(nonce);
        }
        self.note(now, election, Cause::Left);
        Reply::Left
    }

    /// Returns the control cell of an election.
    pub(super) fn control(&self, election: &ElectionName) -> Slip {
        self.slip(election, &Name::Control)
    }

    /// Returns whether an entry with this nonce is in the queue.
    pub(super) fn has(&self, election: &ElectionName, nonce: u64) -> bool {
        self.queue(election).is_some_and(|queue| queue.has(nonce))
    }

    fn queue(&self, election: &ElectionName) -> Option<&Queue> {
        self.elections.get(election)
    }

    fn ask_queue(
        &mut self,
        now: StoreTime,
        election: &ElectionName,
        ask: &Ask,
        keeps_alive: bool,
    ) -> Reply {
        let control = self.control(election);
        let queue = self.elections.entry(election.clone()).or_default();
        let term = self.options.shows_terms.then_some(self.term);
        let reply = match ask {
            Ask::Enter(bid) if !self.ended.contains(&bid.nonce) && !queue.has(bid.nonce) => {
                self.revision += 1;
                queue.enter(self.revision, now, bid, self.options.grant(bid.ttl), (control, term))
            }
            Ask::Enter(super::message::Bid { nonce, .. })
            | Ask::Renew(nonce)
            | Ask::RenewByWrite(nonce) => {
                if keeps_alive {
                    queue.renew(now, *nonce, self.options.tells_every);
                }
                queue.find_place(*nonce, (control, term))
            }
            Ask::Leave(nonce) => {
                self.ended.insert(*nonce);
                let gone = if is_off(Part::TicketOwn) && !queue.has(*nonce) {
                    queue.nonces().next()
                } else {
                    Some(*nonce)
                };
                self.revision += u64::from(gone.is_some_and(|gone| queue.remove(gone).is_some()));
                Reply::Left
            }
            _ => Reply::Unfit,
        };
        self.note(now, election, Cause::Left);
        reply
    }

    /// Returns whether this request would create a second entry for a candidate in the same queue.
    pub(super) fn would_double(&mut self, now: StoreTime, request: &Request) -> bool {
        self.end_leases(now);
        let Request::In(election, Ask::Enter(bid)) = request else { return false };
        !self.ended.contains(&bid.nonce)
            && self.queue(election).is_some_and(|queue| {
                !queue.has(bid.nonce) && queue.has_candidate(&bid.candidate.id)
            })
    }

    /// Returns whether this candidate is in the queue.
    pub(super) fn queues(&self, election: &ElectionName, candidate: &str) -> bool {
        self.queue(election).is_some_and(|queue| queue.has_candidate(candidate))
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

    fn note(&mut self, now: StoreTime, election: &ElectionName, cause: Cause) {
        let leads = match self.elections.get_mut(election) {
            Some(queue) => queue.leads(now),
            None => self.folders.get(election).and_then(Election::leads),
        };
        self.history.note(now, election, cause, leads);
    }

    fn line(&self, now: StoreTime, election: &ElectionName) -> Line {
        let told = self.options.tells_every;
        self.queue(election).map(|queue| queue.line(now, told)).unwrap_or_default()
    }
}
