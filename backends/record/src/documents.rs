use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Candidate, Clock, ElectionName, Error, Examination, Profile};
use serde::{Deserialize, Serialize};

use crate::{Data, Record, Waiter};

/// The interface of a document store: the documents of each election, changed by compare-and-swap.
///
/// Each method is one bounded attempt (law 1), and tells a lost reply from a refusal (law 3). Each write gives a
/// document a new version. Versions are greater than 0, and rise with each write of any document of the election. A
/// document that was removed and made anew has a greater version than before.
#[async_trait]
pub trait Documents: Send + Sync {
    /// Returns what the store is and can do: [`elect_api::Store::profile`]. If its order is a race, only the record and
    /// the data are requested, and never a list.
    fn profile(&self) -> Profile;

    /// The length of lease that a candidate gets if it requests `ttl`.
    fn grant(&self, ttl: Duration) -> Duration {
        ttl
    }

    /// The same documents, for requests in the name of this candidate. `None` if the store does not show which
    /// candidate asks.
    fn asked_by(&self, candidate: &Candidate) -> Option<Box<dyn Documents>> {
        let _ = candidate;
        None
    }

    /// Reads a document as it stands after the call; `None` if there is none.
    ///
    /// # Errors
    /// As [`elect_api::Store::open`]; `Unfit` if the store holds something there that elect did not write.
    async fn read(
        &self,
        election: &ElectionName,
        name: Name,
        purpose: Purpose,
    ) -> Result<Option<Stored>, Error>;

    /// Replaces the version `expected` of a document. 0 stands for a document that does not exist. With any other
    /// version, a missing document is not made.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Ambiguous`] if the document may have been written, or may still be; `Unreachable` if it
    /// is not; `Unfit` if it is too long.
    ///
    /// # Cancellation
    /// Dropping the future is an ambiguous outcome.
    async fn swap(
        &self,
        election: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        purpose: Purpose,
    ) -> Result<Swapped, Error>;

    /// Removes a document if it has this version. Returns [`Removed::No`] if it has another one, and [`Removed::Yes`]
    /// if there is none.
    ///
    /// # Errors
    /// As [`Documents::swap`].
    async fn remove(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        purpose: Purpose,
    ) -> Result<Removed, Error>;

    /// The record and the waiters of an election, each as it stands after the call. Damaged waiters are left out.
    ///
    /// # Errors
    /// As [`elect_api::Store::survey`]; `Unfit` if the store holds something in the place of the record that elect did
    /// not write.
    async fn list(&self, election: &ElectionName, purpose: Purpose) -> Result<Listing, Error>;

    /// The records of all elections.
    ///
    /// # Errors
    /// As [`elect_api::Store::list`].
    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error>;

    /// Watches a document from this version on. Shows each change to `is_news`, and returns once that returns true. A
    /// removed document is shown as `None`, and a damaged one is not shown. It is a hint (law 4): it may be late, leave
    /// out states between two others, or never come.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unreachable`] if the document cannot be watched, or no longer.
    ///
    /// # Cancellation
    /// Leaves nothing behind.
    async fn wait(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error>;

    /// Watches the record from this version on, as [`Documents::wait`] does, for a candidate that has no waiter before
    /// it. The store may do more for this one candidate than for all that watch a document.
    ///
    /// # Errors
    /// As [`Documents::wait`].
    ///
    /// # Cancellation
    /// Leaves nothing locked.
    async fn wait_for_turn(
        &self,
        election: &ElectionName,
        version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        self.wait(election, Name::Record, version, is_news).await
    }

    /// Watches the control cell of the record from this version of the record on, as [`Documents::wait`] does the
    /// record. Other changes of the record may be left out.
    ///
    /// # Errors
    /// As [`Documents::wait`].
    ///
    /// # Cancellation
    /// As [`Documents::wait`].
    async fn wait_for_request(
        &self,
        election: &ElectionName,
        version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        self.wait(election, Name::Record, version, is_news).await
    }

    /// Whether each change costs the store something for each candidate that watches any document. The many who wait
    /// far behind then watch none.
    fn wakes_all(&self) -> bool {
        false
    }

    /// Ends what the store still does for watches that are over.
    async fn hush(&self) {}

    /// Watches all documents of an election from this [`Listing::revision`] on, as [`Documents::wait`] does one.
    /// Changes of [`Name::Data`] may be left out.
    ///
    /// # Errors
    /// As [`Documents::wait`].
    ///
    /// # Cancellation
    /// As [`Documents::wait`].
    async fn wait_for_any(
        &self,
        election: &ElectionName,
        revision: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error>;

    /// Makes what a store needs before a candidate can enter, if it is missing. No entry exists after it.
    ///
    /// # Errors
    /// As [`elect_api::Store::open`].
    async fn prepare(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Makes what holds the documents, if it is missing: [`elect_api::Store::create`].
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

/// Decides whether the new state of a document is news. `None` stands for a removed document.
pub type IsNews<'a> = &'a mut (dyn FnMut(Name, Option<&Document>) -> bool + Send);

/// The name of a document within an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Name {
    /// The document that says who leads. It also holds the cells other than fences and values.
    Record,
    /// The document of the waiter with this nonce.
    Waiter(u64),
    /// Fences and values.
    Data,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "most documents are records")]
pub enum Document {
    /// The document [`Name::Record`].
    Record(Record),
    /// The document [`Name::Waiter`].
    Waiter(Waiter),
    /// The document [`Name::Data`].
    Data(Data),
}

/// A document that was found, with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Its version.
    pub version: u64,
    /// The content of the document.
    pub document: Document,
}

/// The outcome of a write of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Swapped {
    /// The document is written, and this is its version now.
    Yes(u64),
    /// The document is not written, and will not be, because it had another version.
    No,
}

/// The outcome of a removal of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Removed {
    /// The document does not exist.
    Yes,
    /// The document has another version.
    No,
}

/// The candidates of an election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The revision of the store, no later than the revision of any document here. For [`Documents::wait_for_any`].
    pub revision: u64,
    /// The record with its version; `None` if there is none.
    pub record: Option<(u64, Record)>,
    /// The waiters, in any order.
    pub waiters: Vec<Listed>,
}

/// A waiter of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The nonce of [`Name::Waiter`].
    pub nonce: u64,
    /// The version of the waiter's document.
    pub version: u64,
    /// The content of the waiter's document.
    pub waiter: Waiter,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Purpose {
    /// To see the leader and the waiters, as a candidate.
    Poll,
    /// To make an entry.
    Enter,
    /// To keep an entry, and to prove it.
    Renew,
    /// To give an entry up.
    Leave,
    /// To give up the entry of a candidate that crashed.
    Redeem,
    /// To read or to write a cell that leaders write.
    LeaderCell,
    /// To read or to write the control cell.
    Control,
    /// To read or to write fences and values.
    Data,
    /// To show an election to people.
    Survey,
}
