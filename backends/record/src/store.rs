use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Candidate, Cell, Clock, ElectionName, Ending, Entry, Error, ErrorKind, Examination, If, Judge,
    Keys, Leader, Lease, Order, Profile, Removal, Scope, Seat, Store, Survey, Token, Versioned,
    Wake, Written, stamp,
};

use crate::documents::{Document, Documents, Listed, Listing, Name, Purpose, Removed};
use crate::election::{Election, Step, read, write_control};
use crate::guards::{Guard, is_off};
use crate::seat::RecordSeat;
use crate::{Holder, Record, Waiter, data, ticket};

/// A store that keeps its elections in documents.
pub struct RecordStore {
    documents: Arc<dyn Documents>,
    order: Order,
}

impl RecordStore {
    /// The store of these documents.
    pub fn new(documents: impl Documents + 'static) -> Self {
        Self { order: documents.profile().order, documents: Arc::new(documents) }
    }

    fn election(&self, name: &ElectionName) -> Election {
        self.election_of(Arc::clone(&self.documents), name)
    }

    fn election_of(&self, documents: Arc<dyn Documents>, name: &ElectionName) -> Election {
        Election { documents, order: self.order, name: name.clone() }
    }

    /// Removes everything that is kept for an election without candidates.
    async fn forget(&self, name: &ElectionName, what: &Removal<'_>) -> Result<(), Error> {
        let (election, may_lose_fences) = (self.election(name), what.takes_fences());
        let listing = election.list(Purpose::Leave).await?;
        let record = listing.record.unwrap_or_default().1;
        // The store cannot have lost a leader of an election that no other candidate knows.
        if !matches!(what, Removal::Scratch) {
            election.expect_no_doubt(&record)?;
        }
        let waiting = waiters(&record, &listing.waiters).count();
        let (version, data) = election.data_or_damage().await?;
        if !may_lose_fences {
            election.expect_whole(&data)?;
        }
        let fence = data.first_fence().filter(|_| !may_lose_fences && waiting == 0);
        if let Some(fence) = fence {
            return Err(Removal::refuse_fence(name, fence.as_str()));
        }
        let forget = |version, record: &mut Record| match record.holder {
            _ if waiting > 0 => Step::Leave(waiting),
            Some(_) => Step::Leave(1),
            None if version == 0 => Step::Leave(0),
            None => {
                record.forget();
                Step::Write(0)
            }
        };
        let (others, known) = election.update(Purpose::Leave, None, forget).await?;
        if others > 0 {
            let what = format!("{others} are in the election {name}");
            return Err(Error::new(ErrorKind::Unreachable, what));
        }
        // A fence that was set meanwhile stays, and the record must say again that there is one. If there never was a
        // fence or a value, none is under way either.
        if (version > 0 || known.record.has_epochs)
            && let Some(fence) =
                data::forget(&election, known.record.token, may_lose_fences).await?
        {
            data::announce(&election).await?;
            return Err(Removal::refuse_fence(name, fence.as_str()));
        }
        // The remaining waiters do not count, and belong to no candidate.
        for Listed { nonce, version, .. } in listing.waiters {
            self.documents.remove(name, Name::Waiter(nonce), version, Purpose::Leave).await?;
        }
        Ok(())
    }

    /// Removes the documents that a forgotten election leaves. One that may not be removed stays, as it does in any
    /// other election.
    async fn erase(&self, name: &ElectionName) -> Result<(), Error> {
        for document in [Name::Data, Name::Record] {
            let Some(found) = self.documents.read(name, document, Purpose::Leave).await? else {
                continue;
            };
            let version = match &found.document {
                Document::Record(Record { holder: Some(_), .. }) => 0,
                _ => found.version,
            };
            match self.documents.remove(name, document, version, Purpose::Leave).await {
                Ok(Removed::Yes) => {}
                Ok(Removed::No) => {
                    let what = format!("another candidate is in the election {name}");
                    return Err(Error::new(ErrorKind::Unreachable, what));
                }
                Err(error) if error.kind() == ErrorKind::Denied => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Store for RecordStore {
    fn profile(&self) -> Profile {
        let mut profile = self.documents.profile();
        if let Lease::Timed(cadence) = &mut profile.lease {
            cadence.judge = Judge::Candidates;
        }
        profile
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let documents = match self.documents.asked_by(candidate) {
            Some(documents) => Arc::from(documents),
            None => Arc::clone(&self.documents),
        };
        documents.prepare().await?;
        let election = self.election_of(documents, election);
        Ok(Box::new(RecordSeat::new(election, candidate.clone(), ttl)))
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        let Listing { record, waiters: all, .. } =
            self.election(election).list(Purpose::Survey).await?;
        let record = record.unwrap_or_default().1;
        let mut waiting: Vec<_> = waiters(&record, &all).collect();
        waiting.sort_by_key(|listed| (listed.waiter.rank, listed.nonce));
        let waiting = waiting.into_iter().map(|Listed { waiter, .. }| {
            let rank = waiter.rank.unwrap_or_default();
            let arrival = waiter.arrived.unwrap_or(rank);
            Entry::new(waiter.candidate.clone(), stamp::read(waiter.joined), arrival)
        });
        let waiting = waiting.collect();
        let token = Token::new(record.token);
        Ok(Survey { leader: record.holder.map(|holder| leader(holder, token)), waiting })
    }

    async fn remove(&self, name: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
        let election = self.election(name);
        match what {
            Removal::Crashed(ticket) => redeem(&election, ticket::nonce(ticket)?).await,
            Removal::Leader { token, mark } => evict(&election, token, mark).await,
            Removal::Everything { .. } => self.forget(name, &what).await,
            Removal::Scratch => {
                self.forget(name, &what).await?;
                self.erase(name).await
            }
        }
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let election = self.election(election);
        let listing = election.list(Purpose::Survey).await?;
        Ok(Box::pin(async move {
            if wait_for_change(&election, listing).await.is_err() {
                std::future::pending::<()>().await;
            }
        }))
    }

    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
        read(&self.election(election), cell).await
    }

    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error> {
        cell.check(bytes, condition)?;
        let election = self.election(election);
        match condition {
            If::Leads(token) => data::write_value(&election, cell, bytes, token).await,
            If::Version(version) if cell == Cell::Control => {
                write_control(&election, bytes, version).await
            }
            If::Version(version) => data::write_fence(&election, cell, bytes, version).await,
        }
    }

    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
        let mut records = self.documents.records().await?;
        records.retain(|(_, record)| match scope {
            Scope::Entered => record.entered,
            Scope::Asked => record.control.is_some(),
            Scope::Kept => record.keeps_something(),
        });
        let mut names: Vec<_> = records.into_iter().map(|(name, _)| name).collect();
        names.sort();
        Ok(names)
    }

    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
        let (_, data) = self.election(election).data().await?;
        Ok(data.keys())
    }

    async fn create(&self) -> Result<Option<String>, Error> {
        self.documents.create().await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        self.documents.examine(clock).await
    }
}

/// Waits until the election looks different from this.
async fn wait_for_change(election: &Election, seen: Listing) -> Result<(), Error> {
    let revision = seen.revision;
    let version = seen.record.as_ref().map_or(0, |(version, _)| *version);
    let mut shown = Shown::of(seen);
    let before = shown.clone();
    let mut is_news = move |name, found: Option<&Document>| {
        shown.follow(name, found);
        shown != before
    };
    let (documents, name) = (&election.documents, &election.name);
    if election.queues() {
        documents.wait_for_any(name, revision, &mut is_news).await
    } else {
        documents.wait(name, Name::Record, version, &mut is_news).await
    }
}

/// The visible state of an election, without renewals.
#[derive(Clone, PartialEq, Eq)]
struct Shown {
    /// The nonce and the token of the leader.
    holder: Option<(u64, u64)>,
    /// The nonce of the previous holder.
    last: Option<u64>,
    cells: [u64; Cell::WATCHED.len()],
    /// The nonces of the other candidates that have a rank.
    waiting: BTreeSet<u64>,
}

impl Shown {
    fn of(listing: Listing) -> Self {
        let record = listing.record.unwrap_or_default().1;
        let mut shown = Self {
            holder: None,
            last: None,
            cells: <[u64; Cell::WATCHED.len()]>::default(),
            waiting: BTreeSet::new(),
        };
        shown.follow_record(&record);
        for Listed { nonce, waiter, .. } in listing.waiters {
            shown.follow_waiter(nonce, Some(&waiter));
        }
        shown
    }

    /// Takes in the new state of a document.
    fn follow(&mut self, name: Name, found: Option<&Document>) {
        match (name, found) {
            (Name::Record, Some(Document::Record(record))) => self.follow_record(record),
            (Name::Record, _) => self.follow_record(&Record::default()),
            (Name::Waiter(nonce), Some(Document::Waiter(waiter))) => {
                self.follow_waiter(nonce, Some(waiter));
            }
            (Name::Waiter(nonce), _) => self.follow_waiter(nonce, None),
            (Name::Data, _) => {}
        }
    }

    fn follow_record(&mut self, record: &Record) {
        self.holder = record.holder.as_ref().map(|holder| (holder.nonce, record.token));
        self.last = record.last;
        self.cells = Cell::WATCHED.map(|cell| record.cell(cell).version);
        // The present or the last leader may leave a waiter behind. It is not visible, because the record says that
        // this candidate does not wait.
        self.waiting.retain(|nonce| record.counts(*nonce));
    }

    fn follow_waiter(&mut self, nonce: u64, found: Option<&Waiter>) {
        let counts =
            self.holder.is_none_or(|(holder, _)| holder != nonce) && self.last != Some(nonce);
        if counts && found.is_some_and(|waiter| waiter.rank.is_some()) {
            self.waiting.insert(nonce);
        } else {
            self.waiting.remove(&nonce);
        }
    }
}

/// The waiters that count.
fn waiters<'a>(record: &'a Record, all: &'a [Listed]) -> impl Iterator<Item = &'a Listed> {
    all.iter().filter(|listed| record.counts(listed.nonce) && listed.waiter.rank.is_some())
}

fn leader(holder: Holder, token: Token) -> Leader {
    let renewed = holder.renewed.and_then(stamp::read);
    let ending = Ending::Judged { within: holder.ttl(), mark: holder.beat, renewed };
    let Holder { candidate, joined, since, arrival, .. } = holder;
    let entry = Entry::new(candidate, stamp::read(joined), arrival);
    // The store has no clock for leases, so a survey shows no remaining time.
    Leader { since: stamp::read(since), ending: Some(ending), ..Leader::new(entry, token) }
}

/// Removes the leader's entry with this token. If it was judged to be over by this mark, and its holder has renewed it
/// since, it stays. Otherwise its holder would lead beside the next leader.
async fn evict(election: &Election, token: Token, mark: Option<u64>) -> Result<(), Error> {
    let vacate = |_, record: &mut Record| match &record.holder {
        Some(holder) if record.token == token.get() => {
            if mark.is_some_and(|mark| mark != holder.beat) {
                return Step::Leave(false);
            }
            record.vacate();
            Step::Write(true)
        }
        _ => Step::Leave(true),
    };
    let (is_gone, _) = election.update(Purpose::Leave, None, vacate).await?;
    if is_gone {
        return Ok(());
    }
    let what = format!(
        "who leads {} has renewed its lease just now, so it lives, and its entry is not removed: trying again looks anew",
        election.name
    );
    Err(Error::new(ErrorKind::Unfit, what))
}

/// Gives up the entry with this nonce for a candidate that crashed. An entry whose write is under way never comes to
/// exist, because that write expects the version of the record that this call replaces.
async fn redeem(election: &Election, nonce: u64) -> Result<(), Error> {
    if election.queues() {
        election.remove_waiter(nonce, Purpose::Redeem).await?;
    }
    let vacate = |version, record: &mut Record| {
        if version == 0 {
            return Step::Leave(());
        }
        if record.is_held_by(nonce) || is_off(Guard::TicketOwn) {
            record.vacate();
        } else {
            record.overwrites = record.overwrites.wrapping_add(1);
        }
        Step::Write(())
    };
    election.update(Purpose::Redeem, None, vacate).await?;
    Ok(())
}
