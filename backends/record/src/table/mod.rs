//! A *table*: the small interface of a store that has nothing but compare-and-swap.
//!
//! A store that implements [`Table`] costs some hundred lines. [`TableDocuments`] makes [`Documents`](crate::Documents)
//! of it: keys, bodies, versions, epochs, and polling where the store has no notices. The store proves what this trait
//! says by one line, `elect_testkit::table_laws!`, on its own server.
//!
//! # Tags and versions
//!
//! A row has a *tag*, which the store gives to each write, and by which [`Table::put`] compares. Two writes of one row
//! never have the same tag. A document has a *version*, which stands in the body. It rises with each write of any
//! document of an election: it is the time of the writer's clock in microseconds, but more than any version that the
//! writer has seen.
//!
//! # Epochs
//!
//! Some stores lose writes that they have acknowledged, for example if an asynchronous replica takes over. An *epoch*
//! names the history that a reply comes from, and changes with each such loss. Each record says in which epoch its
//! lease was last proven, and [`Table::put`] writes only in the epoch in which the row was read. A record of another
//! epoch is [doubted](crate::Record::doubt). The adapter waits for [`LONGEST_LEASE`] before it takes such a record,
//! since the store may have forgotten a leader. So the promise holds if the old primary accepts no write any more.

/// How to make elect use another store.
#[doc = include_str!("add_a_store.md")]
///
/// # A whole table
///
/// The tests of this crate run its laws.
///
/// ```ignore
#[doc = include_str!("../../tests/table/toy.rs")]
/// ```
pub mod add_a_store {
    #[allow(unused_imports, reason = "the page names them")]
    use super::Table;
}

mod body;
mod documents;
mod known;
mod memory;
mod pauses;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Clock, Error, ErrorKind, Examination, Profile};

pub use self::documents::TableDocuments;
pub use self::memory::MemoryTable;
pub use self::pauses::Bill;

/// The longest lease in a table that may lose acknowledged writes. A forgotten leader leads no longer than this.
pub const LONGEST_LEASE: Duration = Duration::from_secs(60);

/// A store of rows, each changed by compare-and-swap.
///
/// Each method is one bounded attempt. It returns `Unreachable` if no request was sent, or if the answer says that
/// nothing happened. It returns `Ambiguous` if a write may have happened: never for a read. It returns `Denied` if the
/// store refuses the caller, and `Unfit` if the store can never serve. After an error the next call makes a new
/// connection if it needs one.
///
/// # Cancellation
/// A dropped future leaves nothing locked. A dropped write may still happen, as after `Ambiguous`.
#[async_trait]
pub trait Table: Send + Sync {
    /// What the store is and can do: [`elect_api::Store::profile`].
    fn profile(&self) -> Profile;

    /// Whether the store may lose writes that it has acknowledged. If so, [`Epoch::name`] changes with each loss.
    fn may_lose(&self) -> bool;

    /// Whether [`Table::changed`] tells of changes. If not, candidates poll.
    fn tells(&self) -> bool {
        false
    }

    /// Reads a row as it stands after the call.
    ///
    /// # Errors
    /// As the trait says.
    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        let Rows { epoch, rows } = self.scan(Range::Row(key)).await?;
        Ok(Found { epoch, row: rows.into_iter().next().map(|(_, _, row)| row) })
    }

    /// Writes a row in one step with the comparison: the row has the tag `expected` (`None`: there is no row), and the
    /// store's epoch has the name `epoch`.
    ///
    /// # Errors
    /// As the trait says; `Unfit` if the row is too long.
    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error>;

    /// Removes a row if it has this tag. Returns whether the row is gone: false if it has another tag.
    ///
    /// # Errors
    /// As the trait says.
    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error>;

    /// The rows in this range, each as it stands after the call, in any order.
    ///
    /// # Errors
    /// As the trait says.
    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error>;

    /// Returns when a row in this range may have changed. A read that is sent after the first poll shows a change, or
    /// the change wakes this call, whichever client made it. It may return late, and now and then without a change. A
    /// table need not tell of renewals ([`Body::is_renewal`]), nor of [`Range::Leaders`]. A table that does not
    /// [tell](Table::tells) never returns.
    ///
    /// # Errors
    /// `Unreachable` if there are no notices, or no longer, so that a change may be missed.
    ///
    /// # Cancellation
    /// Leaves nothing behind.
    async fn changed(&self, range: Range<'_>) -> Result<(), Error> {
        let _ = range;
        std::future::pending().await
    }

    /// Returns when the leader of an election may have given its place up, or lost its connection. Only a candidate
    /// calls this that does not lead, and has no waiter before it. A table that does not [tell](Table::tells) may miss
    /// any change here, and may return without one, though not again and again: the candidate polls beside this call.
    ///
    /// # Errors
    /// As [`Table::changed`].
    ///
    /// # Cancellation
    /// Leaves nothing locked.
    async fn vacated(&self, election: &str) -> Result<(), Error> {
        self.changed(Range::Row(Key { election, document: Key::LEADER })).await
    }

    /// Returns when the requests in a row may have changed ([`Body::has_request`]), or the row was removed. A table
    /// that has one kind of notices wakes for each change of the row.
    ///
    /// # Errors
    /// As [`Table::changed`].
    ///
    /// # Cancellation
    /// As [`Table::changed`].
    async fn requested(&self, key: Key<'_>) -> Result<(), Error> {
        self.changed(Range::Row(key)).await
    }

    /// Marks of the notices of this row so far. If a mark is the same as before a request that showed the row, a client
    /// that waits for the next notice need not read the row first.
    fn heard(&self, key: Key<'_>) -> Heard {
        let _ = key;
        Heard::default()
    }

    /// Whether each notice costs the store something for each client that listens, to whatever. The many who wait far
    /// behind then do not listen.
    fn wakes_all(&self) -> bool {
        false
    }

    /// Stops listening to what no call waits for.
    async fn hush(&self) {}

    /// Makes what holds the rows before a candidate enters, if it is missing.
    ///
    /// # Errors
    /// As the trait says.
    async fn prepare(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Makes what holds the rows, if it is missing, even if it costs something. Returns what it has made, for people.
    ///
    /// # Errors
    /// As [`elect_api::Store::create`].
    async fn create(&self) -> Result<Option<String>, Error> {
        self.prepare().await.map(|()| None)
    }

    /// The examination of the store: [`elect_api::Store::examine`].
    ///
    /// # Errors
    /// As [`elect_api::Store::examine`].
    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        let _ = clock;
        Ok(Examination::default())
    }
}

/// The key of a row. Both parts are ASCII, and have no `/`. Keys differ if one byte differs, so case counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a> {
    /// The name of an election; [`Key::STORE`] for the one row that belongs to none.
    pub election: &'a str,
    /// The document: [`Key::LEADER`], [`Key::DATA`], or a waiter's, which comes after both in the order of bytes.
    pub document: &'a str,
}

impl Key<'_> {
    /// The document that says who leads.
    pub const LEADER: &'static str = "leader";
    /// The document of fences and values. It comes before [`Key::LEADER`], so that a range of candidates leaves it out.
    pub const DATA: &'static str = "data";
    /// Stands in the place of an election's name for what the store as a whole keeps. No election has this name.
    pub const STORE: &'static str = "-";
}

/// A range of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range<'a> {
    /// The leader's row of an election and those of its waiters: the documents from [`Key::LEADER`] on.
    Candidates(&'a str),
    /// One row.
    Row(Key<'a>),
    /// The leader's rows of all elections.
    Leaders,
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.election, self.document)
    }
}

impl Range<'_> {
    /// What a read of it is called in an error, as in `cannot read the row x/leader`.
    pub fn doing(&self) -> String {
        match self {
            Self::Candidates(election) => format!("cannot read the rows of {election}"),
            Self::Row(key) => format!("cannot read the row {key}"),
            Self::Leaders => "cannot list elections".to_owned(),
        }
    }

    /// Whether a row is in the range.
    pub fn contains(&self, key: Key<'_>) -> bool {
        match self {
            Range::Candidates(election) => key.election == *election && key.document >= Key::LEADER,
            Range::Row(row) => *row == key,
            Range::Leaders => key.document == Key::LEADER,
        }
    }
}

/// The tag of a row: the store's own, never read by elect. It stands for one write. It never returns for the same key,
/// neither when the row is made anew nor after the store has lost the write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub String);

impl Tag {
    /// The number in the tag, for a store whose tags are numbers.
    ///
    /// # Errors
    /// `Unfit` if it is none.
    pub fn number(&self) -> Result<i64, Error> {
        let what = || format!("{:?} is no tag", self.0);
        self.0.parse().map_err(|_| Error::new(ErrorKind::Unfit, what()))
    }
}

/// The content of a row: two lines of text with no character below U+0020, which come back byte for byte. In the rows
/// of documents each is JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// What each renewal changes, some hundred bytes.
    pub head: String,
    /// The cells, up to some hundred kilobytes; empty if there are none. A store takes at least one cell of the
    /// [greatest length](elect_api::Cell::LONGEST), of which JSON makes up to six times as many bytes.
    pub cells: String,
    /// Whether the row has these cells already, if [`Table::put`] finds the expected tag. A store that can leave them
    /// alone does so. False in rows that were read.
    pub has_same_cells: bool,
    /// Whether the write only renews a lease. A table need not tell of it.
    pub is_renewal: bool,
    /// Whether the write changes what people ask of an election. False in rows that were read.
    pub has_request: bool,
    /// Whether the writer leads the election after this write. `None` if the write does not decide that, and in rows
    /// that were read. A table may hold something of the server's for a leader.
    pub leads: Option<bool>,
}

impl Body {
    /// Both lines as one text, for a store that keeps one value for each row.
    pub fn joined(&self) -> String {
        format!("{}\n{}", self.head, self.cells)
    }

    /// The content of a row that was written as one text.
    pub fn split(text: &str) -> Self {
        let (head, cells) = text.split_once('\n').unwrap_or((text, ""));
        Self { head: head.to_owned(), cells: cells.to_owned(), ..Self::default() }
    }
}

/// A row that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The tag of its last write.
    pub tag: Tag,
    /// Its content.
    pub body: Body,
}

/// The answer to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The epoch of the answer.
    pub epoch: Epoch,
    /// The row, if there is one.
    pub row: Option<Row>,
}

/// A row with its election and document.
pub type NamedRow = (String, String, Row);

/// The answer to a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The epoch of the answer.
    pub epoch: Epoch,
    /// The rows.
    pub rows: Vec<NamedRow>,
}

/// Marks of the notices of a row: each changes with a notice, and never returns. `None` while the table does not
/// listen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The mark of the notices for [`Table::changed`].
    pub row: Option<u64>,
    /// The mark of the notices for [`Table::requested`].
    pub requests: Option<u64>,
}

/// The history that a reply comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The name of the epoch. Empty in a store that never loses a write that it has acknowledged.
    pub name: String,
    /// For how long the epoch has lasted at least. Zero if the store does not know.
    pub age: Duration,
}

impl Epoch {
    /// The epoch of a store that never loses a write that it has acknowledged.
    pub const fn only() -> Self {
        Self { name: String::new(), age: Duration::MAX }
    }
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// The row is written, and this is its tag.
    Done(Tag),
    /// The row is not written, and will not be: it has another tag, or the store another epoch.
    Conflict,
}
