//! The documents of a [`Table`].

use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, ElectionName, Error, ErrorKind, Examination, Profile};

use super::body::{self, document};
use super::known::{Known, Seen, Versions, control};
use super::pauses::{self, Pauses};
use super::{Epoch, Found, Heard, Key, LONGEST_LEASE, Put, Range, Table};
use crate::guards::{Guard, is_off};
use crate::{
    Document, Documents, IsNews, Listed, Listing, Name, Purpose, Record, Removed, Stored, Swapped,
};

/// The first pause after a wake without news, where candidates poll. The connection of a leader that
/// dies ends a moment before its guardian gives the lease up.
const PAUSE_AFTER_WAKE: Duration = Duration::from_millis(25);
/// The time after which a new leader first asks for notices. Short commands end before. The leader may learn of a
/// request that much later.
const DELAY: Duration = Duration::from_millis(500);

/// The documents of all elections in a table.
pub struct TableDocuments<T> {
    table: T,
    pauses: Pauses,
    known: Mutex<Known>,
}

type Notice<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

impl<T: Table> TableDocuments<T> {
    /// The documents in this table.
    pub fn new(table: T) -> Self {
        let pauses = Pauses::of(&table.profile());
        Self { table, pauses, known: Mutex::default() }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Known) -> R) -> R {
        f(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads a row.
    async fn read_row(
        &self,
        election: &ElectionName,
        name: Name,
    ) -> Result<(Option<Stored>, Seen), Error> {
        let key_of = document(name);
        let heard = self.table.heard(key(election, &key_of));
        let Found { epoch, row } = self.table.get(key(election, &key_of)).await?;
        let stored = row.as_ref().map(|row| body::read(election, name, &row.body)).transpose()?;
        let seen = Seen::of(stored.as_ref(), row, epoch, heard);
        self.with(|known| {
            known.saw(election, seen.version);
            // Of waiters, which are many, only those are remembered that this process writes.
            if !matches!(name, Name::Waiter(_)) {
                known.rows.insert((election.clone(), name), seen.clone());
            }
        });
        Ok((stored, seen))
    }

    /// The document in the newest state of its row, with the doubt that the epoch throws on it.
    async fn document(&self, election: &ElectionName, name: Name) -> Result<Option<Stored>, Error> {
        let (stored, seen) = self.read_row(election, name).await?;
        match stored {
            Some(stored) => Ok(Some(doubted(stored, &seen.epoch))),
            None if name == Name::Record && !seen.epoch.name.is_empty() => {
                // A missing record has an epoch, too.
                let is_young = self.is_young(&seen.epoch).await?;
                let Epoch { name, .. } = seen.epoch;
                let mut record = Record { doubt: Some(name), ..Record::default() };
                if !is_young {
                    record.believe();
                }
                Ok(Some(Stored { version: 0, document: Document::Record(record) }))
            }
            None => Ok(None),
        }
    }

    /// The row on which a write builds, as it was read or written last; `None` if it has to be read first.
    ///
    /// It is not read anew: after a loss the row may have the same version as before in another epoch.
    async fn seen(&self, election: &ElectionName, name: Name) -> Result<Option<Seen>, Error> {
        let last = self.with(|known| known.rows.get(&(election.clone(), name)).cloned());
        match (last, name) {
            (Some(seen), _) => Ok(Some(seen)),
            // The waiters of others are not remembered, and have nothing to do with the lease.
            (None, Name::Waiter(_)) => Ok(Some(self.read_row(election, name).await?.1)),
            (None, _) => Ok(None),
        }
    }

    /// Whether the epoch may have begun so recently that a forgotten leader still leads. The store's own row says that
    /// some candidate has waited in this epoch for as long as a lease lasts.
    async fn is_young(&self, epoch: &Epoch) -> Result<bool, Error> {
        if epoch.age >= LONGEST_LEASE || is_off(Guard::Doubt) {
            return Ok(false);
        }
        let found = self.table.get(waited()).await?;
        Ok(found.row.is_none_or(|row| row.body.head != epoch.name))
    }

    /// Notes that a candidate has waited in this epoch. Only saves others the wait, so no failure matters.
    async fn note_wait(&self, epoch: &Epoch) {
        let body = super::Body { head: epoch.name.clone(), ..super::Body::default() };
        if let Ok(Found { epoch: now, row }) = self.table.get(waited()).await
            && now.name == epoch.name
        {
            let tag = row.map(|row| row.tag);
            let _ = self.table.put(waited(), &epoch.name, tag.as_ref(), &body).await;
        }
    }

    /// Checks a range again and again, as often as the table's notices or the pauses say, until a check shows news.
    /// The pauses grow from the `first`. The renewals of others are no news, so pauses grow in spite of them.
    async fn watch<'n, F>(
        &self,
        range: Range<'_>,
        first: Duration,
        notice: impl Fn() -> Notice<'n> + Send,
        mut check: impl FnMut() -> F + Send,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<bool, Error>> + Send,
    {
        let mut pause = first;
        let mut wake = notice();
        loop {
            let mut check = pin!(check());
            // The notices are asked for before the check, so that no change between the check and the wait is missed.
            let mut told = None;
            let is_news = loop {
                tokio::select! {
                    biased;
                    outcome = &mut wake, if told.is_none() => told = Some(outcome),
                    is_news = &mut check => break is_news?,
                }
            };
            if is_news {
                return Ok(());
            }
            // A table need not tell of renewals, which surveys show.
            let is_told = self.table.tells() && !matches!(range, Range::Candidates(_));
            tokio::select! {
                biased;
                outcome = &mut wake, if told.is_none() => told = Some(outcome),
                () = tokio::time::sleep(pause), if told.is_none() && !is_told => {
                    pause = (pause * 2).min(self.pauses.longest.max(first));
                }
                else => {}
            }
            if let Some(outcome) = told {
                outcome?;
                wake = notice();
                if !self.table.tells() {
                    pause = PAUSE_AFTER_WAKE;
                }
            }
        }
    }

    /// Watches a document from a version on, by these notices, of which `is_of` picks the mark. What was read since the
    /// last notice is not read again. If no notices come, a watch `is_lazy` if it may poll seldom.
    async fn wait_for<'n>(
        &self,
        (election, name, version): (&ElectionName, Name, u64),
        is_lazy: bool,
        is_news: IsNews<'_>,
        is_of: fn(Heard) -> Option<u64>,
        notice: impl Fn() -> Notice<'n> + Send,
    ) -> Result<(), Error> {
        let key_of = document(name);
        let row = (election.clone(), name);
        let last = |known: &mut Known| known.rows.get(&row).cloned();
        let heard = || is_of(self.table.heard(key(election, &key_of)));
        let mut first = self.pauses.first;
        // Only a leader or a waiter waits for changes of a row of its own.
        let is_ours = self.with(last).is_some_and(|seen| seen.is_ours);
        if !self.table.tells() && (is_lazy || is_ours) {
            first = self.pauses.lazy;
            tokio::time::sleep(first).await;
        } else if !self.table.tells() && self.pauses.is_billed {
            // What was read before this call is new enough.
            tokio::time::sleep(first).await;
        } else if is_ours && heard().is_none() {
            tokio::time::sleep(DELAY).await;
        }
        let state = Mutex::new((version, is_news));
        let check = || async {
            let (seen, heard) = (self.with(last), heard());
            let version = state.lock().unwrap_or_else(PoisonError::into_inner).0;
            let seen = seen.filter(|seen| seen.version == version);
            if heard.is_some() && seen.is_some_and(|seen| is_of(seen.heard) == heard) {
                return Ok(false);
            }
            let found = self.document(election, name).await?;
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (version, is_news) = &mut *state;
            let newest = found.as_ref().map_or(0, |stored| stored.version);
            if newest == *version {
                return Ok(false);
            }
            *version = newest;
            let document = found.as_ref().filter(|_| newest > 0).map(|stored| &stored.document);
            Ok(is_news(name, document))
        };
        self.watch(Range::Row(key(election, &key_of)), first, notice, check).await
    }

    /// The record and the waiters, with the version of each document.
    async fn listing(&self, election: &ElectionName) -> Result<(Listing, Versions), Error> {
        let heard = self.table.heard(key(election, Key::LEADER));
        let found = self.table.scan(Range::Candidates(election.as_str())).await?;
        let (mut listing, mut versions) = (Listing::default(), Versions::new());
        for (_, document, row) in found.rows {
            if document == Key::LEADER {
                let stored = body::read(election, Name::Record, &row.body)?;
                let seen = Seen::of(Some(&stored), Some(row), found.epoch.clone(), heard);
                versions.insert(Name::Record, stored.version);
                self.with(|known| known.rows.insert((election.clone(), Name::Record), seen));
                if let Stored { version, document: Document::Record(record) } =
                    doubted(stored, &found.epoch)
                {
                    listing.record = Some((version, record));
                }
            } else if let Some(nonce) = body::nonce(&document)
                && let Ok(stored) = body::read(election, Name::Waiter(nonce), &row.body)
                && let Document::Waiter(waiter) = stored.document
            {
                versions.insert(Name::Waiter(nonce), stored.version);
                listing.waiters.push(Listed { nonce, version: stored.version, waiter });
            }
        }
        self.with(|known| {
            known.saw(election, versions.values().copied().max().unwrap_or_default());
        });
        if listing.record.is_none() {
            let missing = self.document(election, Name::Record).await?;
            if let Some(Stored { version, document: Document::Record(record) }) = missing {
                listing.record = Some((version, record));
            }
        }
        Ok((listing, versions))
    }
}

#[async_trait]
impl<T: Table> Documents for TableDocuments<T> {
    fn profile(&self) -> Profile {
        self.table.profile()
    }

    fn grant(&self, ttl: Duration) -> Duration {
        if self.table.may_lose() { ttl.min(LONGEST_LEASE) } else { ttl }
    }

    async fn read(
        &self,
        election: &ElectionName,
        name: Name,
        _purpose: Purpose,
    ) -> Result<Option<Stored>, Error> {
        self.document(election, name).await
    }

    async fn swap(
        &self,
        election: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        purpose: Purpose,
    ) -> Result<Swapped, Error> {
        let seen = self.seen(election, name).await?;
        let Some(seen) = seen.filter(|seen| seen.version == expected) else {
            return Ok(Swapped::No);
        };
        let mut is_doubted = false;
        let mut is_waited_for = false;
        if let Document::Record(record) = document {
            // What the writer knows of the lease must be of the epoch that the write asserts.
            if *record.doubt.as_ref().unwrap_or(&record.epoch) != seen.epoch.name {
                return Ok(Swapped::No);
            }
            is_doubted = record.doubt.is_some();
            // Only a candidate that has waited takes a lease in doubt.
            let may_be_taken = expected == 0 || seen.is_doubted && purpose == Purpose::Enter;
            is_waited_for = may_be_taken && !is_doubted && seen.epoch.age < LONGEST_LEASE;
        }
        let version = self.with(|known| known.next(election, expected));
        let mut body = body::of(version, document)?;
        body.has_same_cells = expected > 0 && body.cells == seen.cells;
        body.is_renewal = expected > 0 && purpose == Purpose::Renew;
        let control = control(document);
        body.has_request = control != seen.control;
        body.leads = leads(document, purpose);
        let key_of = body::document(name);
        let heard = self.table.heard(key(election, &key_of));
        let put =
            self.table.put(key(election, &key_of), &seen.epoch.name, seen.tag.as_ref(), &body);
        match put.await? {
            Put::Done(tag) => {
                let Seen { epoch, .. } = seen;
                if is_waited_for {
                    self.note_wait(&epoch).await;
                }
                let (tag, cells) = (Some(tag), body.cells);
                let seen =
                    Seen { version, tag, epoch, is_doubted, cells, is_ours: true, control, heard };
                self.with(|known| known.rows.insert((election.clone(), name), seen));
                Ok(Swapped::Yes(version))
            }
            Put::Conflict => {
                self.with(|known| known.rows.remove(&(election.clone(), name)));
                Ok(Swapped::No)
            }
        }
    }

    async fn remove(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        _purpose: Purpose,
    ) -> Result<Removed, Error> {
        let seen = self.seen(election, name).await?;
        self.with(|known| known.rows.remove(&(election.clone(), name)));
        let tag = match seen {
            Some(Seen { tag: None, .. }) => return Ok(Removed::Yes),
            Some(Seen { version: newest, tag: Some(tag), .. }) if newest == version => tag,
            _ => return Ok(Removed::No),
        };
        let is_gone = self.table.delete(key(election, &document(name)), &tag).await?;
        Ok(if is_gone { Removed::Yes } else { Removed::No })
    }

    async fn list(&self, election: &ElectionName, purpose: Purpose) -> Result<Listing, Error> {
        let (mut listing, versions) = self.listing(election).await?;
        if purpose == Purpose::Survey {
            listing.revision = self.with(|known| {
                known.listed += 1;
                known.listings.insert(election.clone(), (known.listed, versions));
                known.listed
            });
        }
        Ok(listing)
    }

    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        let mut records = Vec::new();
        for (election, _, row) in self.table.scan(Range::Leaders).await?.rows {
            let Ok(election) = election.parse::<ElectionName>() else { continue };
            if let Ok(Stored { document: Document::Record(record), .. }) =
                body::read(&election, Name::Record, &row.body)
            {
                records.push((election, record));
            }
        }
        Ok(records)
    }

    fn wakes_all(&self) -> bool {
        // Polls cost more than notices do.
        self.table.wakes_all() || !self.table.tells()
    }

    async fn hush(&self) {
        self.table.hush().await;
    }

    async fn wait(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let key_of = document(name);
        let range = Range::Row(key(election, &key_of));
        let notice = || self.table.changed(range);
        let document = (election, name, version);
        self.wait_for(document, false, is_news, |heard| heard.row, notice).await
    }

    async fn wait_for_turn(
        &self,
        election: &ElectionName,
        version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let notice = || self.table.vacated(election.as_str());
        let record = (election, Name::Record, version);
        tokio::select! {
            biased;
            // The candidate that is next reads the row anyway, so no read before that decides whether it should.
            told = notice() => told,
            found = self.wait_for(record, false, is_news, |heard| heard.row, notice) => found,
        }
    }

    async fn wait_for_request(
        &self,
        election: &ElectionName,
        version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let row = key(election, Key::LEADER);
        let notice = || self.table.requested(row);
        let record = (election, Name::Record, version);
        self.wait_for(record, true, is_news, |heard| heard.requests, notice).await
    }

    async fn wait_for_any(
        &self,
        election: &ElectionName,
        revision: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let listing = self.with(|known| known.listings.get(election).cloned());
        let known = listing.filter(|(number, _)| *number == revision);
        let state = Mutex::new((known.unwrap_or_default().1, is_news));
        let check = || async {
            let (listing, versions) = self.listing(election).await?;
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (before, is_news) = &mut *state;
            let before = std::mem::replace(before, versions.clone());
            if before == versions {
                return Ok(false);
            }
            let mut is_enough = false;
            for name in before.keys().filter(|name| !versions.contains_key(name)) {
                is_enough |= is_news(*name, None);
            }
            if let Some((_, record)) = listing.record {
                is_enough |= is_news(Name::Record, Some(&Document::Record(record)));
            }
            for Listed { nonce, waiter, .. } in listing.waiters {
                is_enough |= is_news(Name::Waiter(nonce), Some(&Document::Waiter(waiter)));
            }
            Ok(is_enough)
        };
        let range = Range::Candidates(election.as_str());
        self.watch(range, self.pauses.first, || self.table.changed(range), check).await
    }

    async fn prepare(&self) -> Result<(), Error> {
        self.table.prepare().await.map_err(|error| match error.kind() {
            // The table is there or not, and the next attempt finds out.
            ErrorKind::Ambiguous => error.with_kind(ErrorKind::Unreachable),
            _ => error,
        })
    }

    async fn create(&self) -> Result<Option<String>, Error> {
        self.table.create().await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        let mut examination = self.table.examine(clock).await?;
        examination.findings.extend(pauses::note(&self.table.profile()));
        Ok(examination)
    }
}

/// The document with the doubt that the epoch of the answer throws on it.
fn doubted(mut stored: Stored, epoch: &Epoch) -> Stored {
    if let Document::Record(record) = &mut stored.document
        && record.epoch != epoch.name
        && !is_off(Guard::Doubt)
    {
        record.doubt = Some(epoch.name.clone());
    }
    stored
}

fn key<'a>(election: &'a ElectionName, document: &'a str) -> Key<'a> {
    Key { election: election.as_str(), document }
}

/// Whether the writer leads after a write for this purpose; `None` if the write does not decide that.
fn leads(document: &Document, purpose: Purpose) -> Option<bool> {
    match (document, purpose) {
        (Document::Record(Record { holder: None, .. }), _) => Some(false),
        (Document::Record(_), Purpose::Enter | Purpose::Renew | Purpose::LeaderCell) => Some(true),
        _ => None,
    }
}

/// The row that names the newest epoch in which a candidate has waited.
fn waited() -> Key<'static> {
    Key { election: Key::STORE, document: "waited" }
}
