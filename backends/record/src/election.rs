use std::pin::Pin;
use std::sync::Arc;

use elect_api::{Cell, ElectionName, Error, ErrorKind, Order, Versioned, Wake, Written};

use crate::documents::{Document, Documents, Listing, Name, Purpose, Removed, Stored, Swapped};
use crate::{Data, Record, Waiter};

/// The number of attempts to make a change while other programs write. After that the caller is told to try later.
pub(crate) const TRIES: usize = 8;

/// The documents of one election.
#[derive(Clone)]
pub(crate) struct Election {
    pub(crate) documents: Arc<dyn Documents>,
    /// The order of the store.
    pub(crate) order: Order,
    pub(crate) name: ElectionName,
}

/// The record as it was read or written last. Version 0 stands for a missing record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) version: u64,
    pub(crate) record: Record,
}

/// A watch that is under way.
pub(crate) type Watching = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// The decision about a document, with a result for the caller.
pub(crate) enum Step<T> {
    /// Write the changed document.
    Write(T),
    /// Leave the document as it is.
    Leave(T),
}

impl Election {
    /// Returns whether waiting candidates have documents.
    pub(crate) fn queues(&self) -> bool {
        self.order == Order::Queue
    }

    /// The record and the waiters. If the order is a race, only the record is read.
    pub(crate) async fn list(&self, purpose: Purpose) -> Result<Listing, Error> {
        if self.queues() {
            return self.documents.list(&self.name, purpose).await;
        }
        let Known { version, record } = self.record(purpose).await?;
        // A missing record may be doubted.
        Ok(Listing { revision: version, record: Some((version, record)), waiters: Vec::new() })
    }

    /// Reads the record as it stands after the call.
    pub(crate) async fn record(&self, purpose: Purpose) -> Result<Known, Error> {
        match self.documents.read(&self.name, Name::Record, purpose).await? {
            None => Ok(Known::default()),
            Some(Stored { version, document: Document::Record(record) }) => {
                Ok(Known { version, record })
            }
            Some(_) => Err(self.misplaced("the record")),
        }
    }

    /// Reads the record as it stands after the call, and makes it first if there is none. So the next write replaces a
    /// version, and gets a greater one than any text of an earlier record.
    pub(crate) async fn record_to_write(&self, purpose: Purpose) -> Result<Known, Error> {
        let known = self.record(purpose).await?;
        if known.version > 0 {
            return Ok(known);
        }
        let new = Known { version: 0, record: self.new_record(known.record).await? };
        match self.swap(&new, &new.record, purpose).await? {
            Swapped::Yes(version) => Ok(Known { version, ..new }),
            Swapped::No => self.record(purpose).await,
        }
    }

    /// The content of a new record in the place of the missing one. If the old one was removed by hand, fences and
    /// values may still exist.
    pub(crate) async fn new_record(&self, missing: Record) -> Result<Record, Error> {
        let (version, data) = self.data().await?;
        Ok(Record { token: data.epoch, has_epochs: version > 0, ..missing })
    }

    /// Changes the record that is `known`. If it has changed meanwhile, the change is applied again to the new content.
    /// `change` gets the version that is replaced.
    ///
    /// # Errors
    /// As [`Documents::swap`], and `Unreachable` if other programs write the record all the time.
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

    /// Writes the record in place of the known version.
    pub(crate) async fn swap(
        &self,
        known: &Known,
        record: &Record,
        purpose: Purpose,
    ) -> Result<Swapped, Error> {
        let document = Document::Record(record.clone());
        self.documents.swap(&self.name, Name::Record, known.version, &document, purpose).await
    }

    /// The waiter with this nonce, and its version; `None` if there is none.
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
                // A late write of that candidate came in between.
                Removed::No => {}
            }
        }
        Err(self.busy())
    }

    /// The fences and values, with their version. Version 0 stands for none.
    ///
    /// # Errors
    /// As [`Documents::read`], and `Unfit` if they are damaged.
    pub(crate) async fn data(&self) -> Result<(u64, Data), Error> {
        let (version, data) = self.data_or_damage().await?;
        self.expect_whole(&data)?;
        Ok((version, data))
    }

    /// Checks that fences and values are not damaged. Damaged ones never count as none, because a stale token would
    /// then pass.
    pub(crate) fn expect_whole(&self, data: &Data) -> Result<(), Error> {
        let Some(damage) = &data.damage else { return Ok(()) };
        let name = &self.name;
        let way_out = format!(
            "the fences and values of {name} are kept there: restore it from a backup, or stop all candidates and lose \
             them with elect forget --yes --fences {name}"
        );
        Err(Error::new(ErrorKind::Unfit, damage.as_str()).and(way_out).of_a_text())
    }

    /// The fences and values as [`Election::data`] returns them, but damaged ones too: then [`Data::damage`] is set.
    pub(crate) async fn data_or_damage(&self) -> Result<(u64, Data), Error> {
        match self.documents.read(&self.name, Name::Data, Purpose::Data).await? {
            None => Ok((0, Data::default())),
            Some(Stored { version, document: Document::Data(data) }) => Ok((version, data)),
            Some(_) => Err(self.misplaced("fences and values")),
        }
    }

    /// Changes fences and values as [`Election::update`] changes the record. Damaged ones are changed only if they may
    /// be lost.
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

    /// Checks that the record is not doubted. A leader that the store has forgotten may still lead, and only candidates
    /// can find out.
    pub(crate) fn expect_no_doubt(&self, record: &Record) -> Result<(), Error> {
        if record.doubt.is_none() {
            return Ok(());
        }
        let what = format!(
            "the store may have lost who leads {}: trying again helps once a leader has renewed its lease, or a \
             candidate has won",
            self.name
        );
        Err(Error::new(ErrorKind::Unreachable, what))
    }

    /// Watches a document from this version on. Ends when it has changed in a way that is news, or when the watch
    /// fails.
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

    /// Watches the record as [`Election::watch`] does, for a candidate that has no waiter before it.
    pub(crate) fn watch_turn(
        &self,
        version: u64,
        is_news: impl Fn(Option<&Document>) -> bool + Send + 'static,
    ) -> Watching {
        let election = self.clone();
        Box::pin(async move {
            let mut is_news = move |_, found: Option<&Document>| is_news(found);
            election.documents.wait_for_turn(&election.name, version, &mut is_news).await
        })
    }

    /// Watches the control cell, from this version of the record and of the cell on.
    pub(crate) fn watch_requests(&self, version: u64, control: u64) -> Watching {
        let election = self.clone();
        Box::pin(async move {
            let mut is_news = move |_, found: Option<&Document>| {
                matches!(found, Some(Document::Record(record))
                    if record.cell(Cell::Control).version != control)
            };
            election.documents.wait_for_request(&election.name, version, &mut is_news).await
        })
    }

    /// The watch of [`Election::watch`] as a wake. A failed watch never ends it.
    pub(crate) fn wake(
        &self,
        name: Name,
        version: u64,
        is_news: impl Fn(Option<&Document>) -> bool + Send + 'static,
    ) -> Wake {
        wake(self.watch(name, version, is_news))
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

/// A watch as a wake. A failed watch never ends it.
pub(crate) fn wake(watch: Watching) -> Wake {
    Box::pin(async move {
        // If the wake ended here, the engine would repeat its request without a pause while the store does not
        // answer.
        if watch.await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Reads a cell, from the record or from the data.
pub(crate) async fn read(election: &Election, cell: Cell<'_>) -> Result<Versioned, Error> {
    if let Some(name) = Data::name(cell) {
        let (_, data) = election.data().await?;
        return Ok(data.texts.get(&name).map(crate::Text::versioned).unwrap_or_default());
    }
    let purpose = if cell == Cell::Control { Purpose::Control } else { Purpose::LeaderCell };
    Ok(election.record(purpose).await?.record.cell(cell))
}

/// Writes the control cell, if it still has the version `expected`.
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
