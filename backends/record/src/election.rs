use std::pin::Pin;
use std::sync::Arc;

use elect_api::{Cell, ElectionName, Error, ErrorKind, Order, Versioned, Wake, Written};

use crate::documents::{Document, Documents, Listing, Name, Purpose, Removed, Stored, Swapped};
use crate::{Data, Record, Waiter};

/// So often a change is made again on what others have written meanwhile, before the caller is told to try later.
pub(crate) const TRIES: usize = 8;

/// The documents of one election.
#[derive(Clone)]
pub(crate) struct Election {
    pub(crate) documents: Arc<dyn Documents>,
    /// That of the store.
    pub(crate) order: Order,
    pub(crate) name: ElectionName,
}

/// A record as it was read or written last; of version 0 where there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) version: u64,
    pub(crate) record: Record,
}

/// A watch that is under way.
pub(crate) type Watching = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// What is to come of a document, and what to say of it.
pub(crate) enum Step<T> {
    /// It is written as it was changed.
    Write(T),
    /// It stays as it is.
    Leave(T),
}

impl Election {
    /// Whether those who wait have documents.
    pub(crate) fn queues(&self) -> bool {
        self.order == Order::Queue
    }

    /// Who is there; without a list, where the order is a race.
    pub(crate) async fn look(&self, purpose: Purpose) -> Result<Listing, Error> {
        if self.queues() {
            return self.documents.list(&self.name, purpose).await;
        }
        let Known { version, record } = self.record(purpose).await?;
        let record = (version > 0).then_some((version, record));
        Ok(Listing { revision: version, record, waiters: Vec::new() })
    }

    /// The record as it stands after the call.
    pub(crate) async fn record(&self, purpose: Purpose) -> Result<Known, Error> {
        match self.documents.read(&self.name, Name::Record, purpose).await? {
            None => Ok(Known::default()),
            Some(Stored { version, document: Document::Record(record) }) => {
                Ok(Known { version, record })
            }
            Some(_) => Err(self.misplaced("the record")),
        }
    }

    /// The record as it stands after the call. Where there is none it is made first: what is written in place of a version
    /// has one that no text of an earlier record had.
    pub(crate) async fn record_to_write(&self, purpose: Purpose) -> Result<Known, Error> {
        let known = self.record(purpose).await?;
        if known.version > 0 {
            return Ok(known);
        }
        let new = Known { version: 0, record: self.new_record().await? };
        match self.swap(&new, &new.record, purpose).await? {
            Swapped::Yes(version) => Ok(Known { version, ..new }),
            Swapped::No => self.record(purpose).await,
        }
    }

    /// What to make where there is no record. Where it was removed by hand, fences and values may be there all the same.
    pub(crate) async fn new_record(&self) -> Result<Record, Error> {
        let (version, data) = self.data().await?;
        Ok(Record { token: data.epoch, has_epochs: version > 0, ..Record::default() })
    }

    /// Changes the record in place of the one that is `known`, or of what it has become since: the change is made
    /// again then, on that. It gets the version that is replaced.
    ///
    /// # Errors
    /// As [`Documents::swap`], and `Unreachable` if others write it all the time.
    pub(crate) async fn update<T>(
        &self,
        purpose: Purpose,
        known: Option<Known>,
        mut change: impl FnMut(u64, &mut Record) -> Step<T> + Send,
    ) -> Result<(T, Known), Error> {
        let mut known = match known {
            Some(known) => known,
            None => self.record(purpose).await?,
        };
        for _ in 0..TRIES {
            let mut record = known.record.clone();
            let said = match change(known.version, &mut record) {
                Step::Leave(said) => return Ok((said, known)),
                Step::Write(said) => said,
            };
            if let Swapped::Yes(version) = self.swap(&known, &record, purpose).await? {
                return Ok((said, Known { version, record }));
            }
            known = self.record(purpose).await?;
        }
        Err(self.busy())
    }

    /// Writes the record in place of the one that is known.
    pub(crate) async fn swap(
        &self,
        known: &Known,
        record: &Record,
        purpose: Purpose,
    ) -> Result<Swapped, Error> {
        let document = Document::Record(record.clone());
        self.documents.swap(&self.name, Name::Record, known.version, &document, purpose).await
    }

    /// A waiter with its version, if it is there.
    pub(crate) async fn waiter(
        &self,
        nonce: u64,
        purpose: Purpose,
    ) -> Result<Option<(u64, Waiter)>, Error> {
        match self.documents.read(&self.name, Name::Waiter(nonce), purpose).await? {
            None => Ok(None),
            Some(Stored { version, document: Document::Waiter(waiter) }) => {
                Ok(Some((version, waiter)))
            }
            Some(_) => Err(self.misplaced("a waiter")),
        }
    }

    /// Removes a waiter, whatever its version.
    pub(crate) async fn remove_waiter(&self, nonce: u64, purpose: Purpose) -> Result<(), Error> {
        for _ in 0..TRIES {
            let Some((version, _)) = self.waiter(nonce, purpose).await? else { return Ok(()) };
            let name = Name::Waiter(nonce);
            match self.documents.remove(&self.name, name, version, purpose).await? {
                Removed::Yes => return Ok(()),
                // Something that it had sent before came in between.
                Removed::No => {}
            }
        }
        Err(self.busy())
    }

    /// Fences and values, with their version: 0 where there are none.
    ///
    /// # Errors
    /// As [`Documents::read`], and `Unfit` if they cannot be read.
    pub(crate) async fn data(&self) -> Result<(u64, Data), Error> {
        let (version, data) = self.data_or_damage().await?;
        self.expect_whole(&data)?;
        Ok((version, data))
    }

    /// That fences and values can be read. They are never taken for none: a stale token would pass.
    pub(crate) fn expect_whole(&self, data: &Data) -> Result<(), Error> {
        let Some(damage) = &data.damage else { return Ok(()) };
        let name = &self.name;
        let way_out = format!(
            "the fences and values of {name} are kept there: restore it from a backup, or stop all candidates and lose \
             them with elect forget --yes --fences {name}"
        );
        Err(Error::new(ErrorKind::Unfit, damage.as_str()).and(way_out).of_a_text())
    }

    /// The same, with [`Data::damage`].
    pub(crate) async fn data_or_damage(&self) -> Result<(u64, Data), Error> {
        match self.documents.read(&self.name, Name::Data, Purpose::Data).await? {
            None => Ok((0, Data::default())),
            Some(Stored { version, document: Document::Data(data) }) => Ok((version, data)),
            Some(_) => Err(self.misplaced("fences and values")),
        }
    }

    /// Changes fences and values as [`Election::update`] does the record; those that cannot be read, only if they may be
    /// lost.
    pub(crate) async fn update_data<T>(
        &self,
        tries: usize,
        may_be_lost: bool,
        mut change: impl FnMut(u64, &mut Data) -> Step<T> + Send,
    ) -> Result<T, Error> {
        for _ in 0..tries {
            let (version, mut data) = self.data_or_damage().await?;
            if !may_be_lost {
                self.expect_whole(&data)?;
            }
            let said = match change(version, &mut data) {
                Step::Leave(said) => return Ok(said),
                Step::Write(said) => said,
            };
            let document = Document::Data(data);
            let name = Name::Data;
            let swapped =
                self.documents.swap(&self.name, name, version, &document, Purpose::Data).await?;
            if let Swapped::Yes(_) = swapped {
                return Ok(said);
            }
        }
        Err(self.busy())
    }

    /// Ends when a document of this version has become another that is news, or nothing is told any more.
    pub(crate) fn watch(
        &self,
        name: Name,
        version: u64,
        is_news: impl Fn(Option<&Document>) -> bool + Send + 'static,
    ) -> Watching {
        let election = self.clone();
        Box::pin(async move {
            let mut is_news = move |_, found: Option<&Document>| is_news(found);
            election.documents.wait(&election.name, name, version, &mut is_news).await
        })
    }

    /// The same as a wake.
    pub(crate) fn wake(
        &self,
        name: Name,
        version: u64,
        is_news: impl Fn(Option<&Document>) -> bool + Send + 'static,
    ) -> Wake {
        let watch = self.watch(name, version, is_news);
        Box::pin(async move {
            // To end would have the engine ask again and again a store that does not answer.
            if watch.await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn misplaced(&self, what: &str) -> Error {
        let what = format!("there is something else where {what} of {} should be", self.name);
        Error::new(ErrorKind::Unfit, what).of_a_text()
    }

    fn busy(&self) -> Error {
        let what = format!("others write to {} all the time: trying again helps", self.name);
        Error::new(ErrorKind::Unreachable, what)
    }
}

/// Reads a cell, wherever it is kept.
pub(crate) async fn read(election: &Election, cell: Cell<'_>) -> Result<Versioned, Error> {
    if let Some(name) = Data::name(cell) {
        let (_, data) = election.data().await?;
        return Ok(data.texts.get(&name).map(crate::Text::versioned).unwrap_or_default());
    }
    let purpose = if cell == Cell::Control { Purpose::Control } else { Purpose::LeaderCell };
    Ok(election.record(purpose).await?.record.cell(cell))
}

/// Writes what is asked of an election in place of this version of it.
pub(crate) async fn write_control(
    election: &Election,
    bytes: &[u8],
    expected: u64,
) -> Result<Written, Error> {
    let change = |replaced, record: &mut Record| {
        if record.cell(Cell::Control).version != expected {
            return Step::Leave(Written::Overtaken);
        }
        Step::Write(Written::Yes(record.write(Cell::Control, replaced, bytes)))
    };
    let known = election.record_to_write(Purpose::Control).await?;
    Ok(election.update(Purpose::Control, Some(known), change).await?.0)
}
