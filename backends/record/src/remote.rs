//! Documents that are somewhere else, asked for in messages.

use async_trait::async_trait;
use elect_api::{Candidate, ElectionName, Error, ErrorKind, Profile};
use serde::{Deserialize, Serialize};

use crate::{
    Document, Documents, IsNews, Listing, Name, Purpose, Record, Removed, Stored, Swapped,
};

/// What is asked of the documents of an election.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// What a document says.
    Read(Name),
    /// Write one, if it has this version; 0 is that of one which does not exist.
    Swap(Name, u64, Box<Document>),
    /// Remove one, if it has this version.
    Remove(Name, u64),
    /// The record and the waiters.
    List,
    /// Answer once a document has another version than this.
    Await(Name, u64),
    /// Answer once one was written or removed after this revision.
    AwaitAny(u64),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// What a document says, if it is there.
    Found(Option<Box<Stored>>),
    /// Whether it is written.
    Swapped(Swapped),
    /// Whether it is gone.
    Removed(Removed),
    /// The record and the waiters.
    Listed(Box<Listing>),
    /// What was written or removed, by which revision, in this order.
    Changed(Vec<(u64, Name, Option<Document>)>),
}

/// Documents that are somewhere else: one message asks, and another one answers. What implements this implements
/// [`Documents`], too.
pub trait Remote: Send + Sync {
    /// As [`Documents::profile`].
    fn profile(&self) -> Profile;

    /// As [`Documents::asked_by`].
    fn asked_by(&self, candidate: &Candidate) -> Option<Box<dyn Documents>> {
        let _ = candidate;
        None
    }

    /// The answer to this; `None` is the purpose of a watch.
    ///
    /// # Errors
    /// As the method of [`Documents`] that asks.
    ///
    /// # Cancellation
    /// As there.
    fn ask(
        &self,
        election: &ElectionName,
        purpose: Option<Purpose>,
        ask: Ask,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;

    /// As [`Documents::records`]; there are none where nobody asks for more than one election.
    ///
    /// # Errors
    /// As there.
    fn records(&self) -> impl Future<Output = Result<Vec<(ElectionName, Record)>, Error>> + Send {
        async { Ok(Vec::new()) }
    }
}

fn unexpected() -> Error {
    Error::new(ErrorKind::Unfit, "another answer than that to the question")
}

#[async_trait]
impl<R: Remote> Documents for R {
    fn profile(&self) -> Profile {
        Remote::profile(self)
    }

    fn asked_by(&self, candidate: &Candidate) -> Option<Box<dyn Documents>> {
        Remote::asked_by(self, candidate)
    }

    async fn read(
        &self,
        election: &ElectionName,
        name: Name,
        purpose: Purpose,
    ) -> Result<Option<Stored>, Error> {
        match self.ask(election, Some(purpose), Ask::Read(name)).await? {
            Reply::Found(found) => Ok(found.map(|found| *found)),
            _ => Err(unexpected()),
        }
    }

    async fn swap(
        &self,
        election: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        purpose: Purpose,
    ) -> Result<Swapped, Error> {
        let ask = Ask::Swap(name, expected, Box::new(document.clone()));
        match self.ask(election, Some(purpose), ask).await? {
            Reply::Swapped(swapped) => Ok(swapped),
            _ => Err(unexpected()),
        }
    }

    async fn remove(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        purpose: Purpose,
    ) -> Result<Removed, Error> {
        match self.ask(election, Some(purpose), Ask::Remove(name, version)).await? {
            Reply::Removed(removed) => Ok(removed),
            _ => Err(unexpected()),
        }
    }

    async fn list(&self, election: &ElectionName, purpose: Purpose) -> Result<Listing, Error> {
        match self.ask(election, Some(purpose), Ask::List).await? {
            Reply::Listed(listing) => Ok(*listing),
            _ => Err(unexpected()),
        }
    }

    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        Remote::records(self).await
    }

    async fn wait(
        &self,
        election: &ElectionName,
        name: Name,
        mut version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        loop {
            let Reply::Found(found) = self.ask(election, None, Ask::Await(name, version)).await?
            else {
                return Err(unexpected());
            };
            if is_news(name, found.as_ref().map(|found| &found.document)) {
                return Ok(());
            }
            version = found.map_or(0, |found| found.version);
        }
    }

    async fn wait_for_any(
        &self,
        election: &ElectionName,
        mut revision: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        loop {
            let Reply::Changed(changes) = self.ask(election, None, Ask::AwaitAny(revision)).await?
            else {
                return Err(unexpected());
            };
            for (changed, name, document) in changes {
                if is_news(name, document.as_ref()) {
                    return Ok(());
                }
                revision = revision.max(changed);
            }
        }
    }
}
