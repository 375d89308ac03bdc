//! The documents of a simulated store, as elect's adapter asks for them.

use std::sync::Arc;

use async_trait::async_trait;
use elect_api::{Candidate, ElectionName, Error, Profile};
use elect_record::{
    Document, Documents, IsNews, Listing, Name, Purpose, Record, Removed, Stored, Swapped,
};

use super::message::{Ask, Envelope, Op, Reply, Request};
use super::transport::{Link, Transport, send, unexpected};
use crate::switches::judge_records;

/// A connection to them.
pub(super) struct SimDocuments {
    transport: Arc<dyn Transport>,
    profile: Profile,
    /// The id of the candidate that asks; empty where it is nobody in particular.
    client: String,
}

impl SimDocuments {
    pub(super) fn new(transport: Arc<dyn Transport>, profile: Profile) -> Self {
        judge_records();
        Self { transport, profile, client: String::new() }
    }

    async fn ask(&self, election: &ElectionName, op: Op, ask: Ask) -> Result<Reply, Error> {
        let transport = Arc::clone(&self.transport);
        let link = Link { transport, election: election.clone(), client: self.client.clone() };
        link.ask(op, ask).await
    }
}

#[async_trait]
impl Documents for SimDocuments {
    fn profile(&self) -> Profile {
        self.profile.clone()
    }

    fn asked_by(&self, candidate: &Candidate) -> Option<Box<dyn Documents>> {
        let (transport, profile) = (Arc::clone(&self.transport), self.profile.clone());
        Some(Box::new(Self { transport, profile, client: candidate.id.clone() }))
    }

    async fn read(
        &self,
        election: &ElectionName,
        name: Name,
        purpose: Purpose,
    ) -> Result<Option<Stored>, Error> {
        match self.ask(election, purpose.into(), Ask::ReadDocument(name)).await? {
            Reply::Document(found) => Ok(found.map(|found| *found)),
            reply => Err(unexpected(&reply)),
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
        let document = Box::new(document.clone());
        let ask = Ask::SwapDocument { name, expected, document };
        match self.ask(election, purpose.into(), ask).await? {
            Reply::Swapped(swapped) => Ok(swapped),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn remove(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        purpose: Purpose,
    ) -> Result<Removed, Error> {
        match self.ask(election, purpose.into(), Ask::RemoveDocument(name, version)).await? {
            Reply::Removed(removed) => Ok(removed),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn list(&self, election: &ElectionName, purpose: Purpose) -> Result<Listing, Error> {
        match self.ask(election, purpose.into(), Ask::ListDocuments).await? {
            Reply::Documents(listing) => Ok(*listing),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        let client = self.client.clone();
        let envelope = Envelope { client, op: Op::Survey, request: Request::Records };
        match send(&*self.transport, envelope).await? {
            Reply::Records(records) => Ok(records),
            reply => Err(unexpected(&reply)),
        }
    }

    async fn wait(
        &self,
        election: &ElectionName,
        name: Name,
        mut version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        loop {
            let found =
                match self.ask(election, Op::Watch, Ask::AwaitDocument(name, version)).await? {
                    Reply::Document(found) => found,
                    reply => return Err(unexpected(&reply)),
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
            let changes =
                match self.ask(election, Op::Watch, Ask::AwaitAnyDocument(revision)).await? {
                    Reply::Changes(changes) => changes,
                    reply => return Err(unexpected(&reply)),
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

impl From<Purpose> for Op {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Look => Self::Look,
            Purpose::Enter => Self::Enter,
            Purpose::Renew => Self::Renew,
            Purpose::Leave => Self::Leave,
            Purpose::Redeem => Self::Redeem,
            Purpose::Note => Self::Note,
            Purpose::Control => Self::Orders,
            Purpose::Data => Self::Data,
            Purpose::Survey => Self::Survey,
        }
    }
}
