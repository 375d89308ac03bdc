use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Candidate, Clock, ElectionName, Error, Examination, Profile};
use serde::{Deserialize, Serialize};

use crate::{Data, Record, Waiter};

/// What a store of this family offers: the documents of each election, which it changes by compare-and-swap.
///
/// Each method is one bounded attempt (law 1), and tells a lost reply from a refusal (law 3). A document has another
/// version after each write. Versions are greater than 0, and rise with each write of any document of an election:
/// one that is made anew has a greater one than it ever had before.
#[async_trait]
pub trait Documents: Send + Sync {
    /// What the store is and can do: [`elect_api::Store::profile`]. Where its order is a race it is asked for no document
    /// but the record and the data, and for no list of them.
    fn profile(&self) -> Profile;

    /// The length of lease that a candidate gets which asks for `ttl`.
    fn grant(&self, ttl: Duration) -> Duration {
        ttl
    }

    /// The same documents, as this candidate asks for them. `None` where a store does not tell who asks.
    fn asked_by(&self, candidate: &Candidate) -> Option<Box<dyn Documents>> {
        let _ = candidate;
        None
    }

    /// A document as it stands after the call; `None` if there is none.
    ///
    /// # Errors
    /// As [`elect_api::Store::open`]; `Unfit` if what is there is nothing of ours.
    async fn read(
        &self,
        election: &ElectionName,
        name: Name,
        purpose: Purpose,
    ) -> Result<Option<Stored>, Error>;

    /// Writes a document in place of the version `expected`; 0 is that of one which does not exist. One that is not there
    /// is not made in place of any other.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Ambiguous`] if it may have been written, or may yet be; `Unreachable` if it is not;
    /// `Unfit` if it is too long.
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

    /// Removes a document if it has this version; no, if it has another. It is gone where there is none.
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

    /// The record and the waiters of an election, each as it stands after the call. A waiter that is damaged is left out.
    ///
    /// # Errors
    /// As [`elect_api::Store::survey`]; `Unfit` if what is in the place of the record is nothing of ours.
    async fn list(&self, election: &ElectionName, purpose: Purpose) -> Result<Listing, Error>;

    /// The records of all elections.
    ///
    /// # Errors
    /// As [`elect_api::Store::list`].
    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error>;

    /// Shows `is_news` a document as it is after each change from this version on, and ends once that says so. `None` is
    /// one that is gone; one that is damaged is not shown. A hint (law 4): it may be late, leave out what came between
    /// two others, or never come.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unreachable`] if it cannot be watched, or not any more.
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

    /// The same for all documents of an election, from this [`Listing::revision`] on; [`Name::Data`] may be left out.
    ///
    /// # Errors
    /// As [`Documents::wait`].
    ///
    /// # Cancellation
    /// As there.
    async fn wait_for_any(
        &self,
        election: &ElectionName,
        revision: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error>;

    /// How the store is: [`elect_api::Store::examine`].
    ///
    /// # Errors
    /// As there.
    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        let _ = clock;
        Ok(Examination::default())
    }
}

/// Whether it is news that a document is like this now; `None` is one that is gone.
pub type IsNews<'a> = &'a mut (dyn FnMut(Name, Option<&Document>) -> bool + Send);

/// Which document of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Name {
    /// Who leads, and the cells but for fences and values.
    Record,
    /// That of the waiter with this nonce.
    Waiter(u64),
    /// Fences and values.
    Data,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Document {
    /// That of [`Name::Record`].
    Record(Record),
    /// That of [`Name::Waiter`].
    Waiter(Waiter),
    /// That of [`Name::Data`].
    Data(Data),
}

/// A document as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Its version.
    pub version: u64,
    /// What it says.
    pub document: Document,
}

/// What came of the writing of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Swapped {
    /// It is written, and has this version now.
    Yes(u64),
    /// It is not written, and will not be: it had another version.
    No,
}

/// What came of the removal of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Removed {
    /// It is not there.
    Yes,
    /// It has another version.
    No,
}

/// Who is in an election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// That of the store, no later than that of any document here: [`Documents::wait_for_any`] takes it.
    pub revision: u64,
    /// The record with its version; `None` where there is none.
    pub record: Option<(u64, Record)>,
    /// The waiters, in any order.
    pub waiters: Vec<Listed>,
}

/// A waiter of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// That of [`Name::Waiter`].
    pub nonce: u64,
    /// That of its document.
    pub version: u64,
    /// What its document says.
    pub waiter: Waiter,
}

/// What a request is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Purpose {
    /// To see who leads and who waits, as a candidate.
    Look,
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
    /// To read or to write what is asked of an election.
    Control,
    /// To read or to write fences and values.
    Data,
    /// To show an election to people.
    Survey,
}
