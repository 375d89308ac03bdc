//! Documents that are kept elsewhere, and requested by messages.

use async_trait::async_trait;
use elect_api::{Candidate, ElectionName, Error, ErrorKind, Profile};
use serde::{Deserialize, Serialize};

use crate::{
    Document, Documents, IsNews, Listing, Name, Purpose, Record, Removed, Stored, Swapped,
};

/// A request to the documents of an election.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Read a document.
    Read(Name),
    /// Write a document, if it has this version; 0 stands for a document that does not exist.
    Swap(Name, u64, Box<Document>),
    /// Remove a document, if it has this version.
    Remove(Name, u64),
    /// List the record and the waiters.
    List,
    /// Answer once a document has another version than this.
    Await(Name, u64),
    /// Answer once a document was written or removed after this revision.
    AwaitAny(u64),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The document, if it exists.
    Found(Option<Box<Stored>>),
    /// The outcome of the write.
    Swapped(Swapped),
    /// The outcome of the removal.
    Removed(Removed),
    /// The record and the waiters.
    Listed(Box<Listing>),
    /// The documents that were written or removed, with the revisions of the changes, in this order.
    Changed(Vec<(u64, Name, Option<Document>)>),
}

/// Documents that are kept elsewhere: each request is one message, and each answer is another. A type that
/// implements this trait implements [`Documents`] too.
pub trait Remote: Send + Sync {
    /// As [`Documents::profile`].
    fn profile(&self) -> Profile;

    /// As [`Documents::asked_by`].
    fn asked_by(&self, candidate: &Candidate) -> Option<Box<dyn Documents>> {
        let _ = candidate;
        None
    }

    /// Sends a request and returns the answer. The purpose is `None` for a watch.
    ///
    /// # Errors
    /// As the method of [`Documents`] that sends the request.
    ///
    /// # Cancellation
    /// As the method of [`Documents`] that sends the request.
    fn ask(
        &self,
        election: &ElectionName,
        purpose: Option<Purpose>,
        ask: Ask,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;

    /// As [`Documents::records`]. The default returns none, for callers that use one election only.
    ///
    /// # Errors
    /// As [`Documents::records`].
    fn records(&self) -> impl Future<Output = Result<Vec<(ElectionName, Record)>, Error>> + Send {
        async { Ok(Vec::new()) }
    }
}

fn unexpected() -> Error {
    Error::new(ErrorKind::Unfit, "the answer does not match the question")
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
