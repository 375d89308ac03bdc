//! The documents of a simulated store, for elect's record adapter.

use std::sync::Arc;

use elect_api::{Candidate, ElectionName, Error, Profile};
use elect_record::{Documents, Purpose, Record, Remote};

use super::message::{Ask, Envelope, Op, Reply, Request};
use super::transport::{ElectionClient, Transport, send, unexpected};
use crate::switches::judge_records;

/// A connection to the documents.
pub(super) struct SimDocuments {
    transport: Arc<dyn Transport>,
    profile: Profile,
    /// The id of the candidate that asks, or empty for any other client.
    client: String,
}

impl SimDocuments {
    pub(super) fn new(transport: Arc<dyn Transport>, profile: Profile) -> Self {
        judge_records();
        Self { transport, profile, client: String::new() }
    }
}

impl Remote for SimDocuments {
    fn profile(&self) -> Profile {
        self.profile.clone()
    }

    fn asked_by(&self, candidate: &Candidate) -> Option<Box<dyn Documents>> {
        let (transport, profile) = (Arc::clone(&self.transport), self.profile.clone());
        Some(Box::new(Self { transport, profile, client: candidate.id.clone() }))
    }

    async fn ask(
        &self,
        election: &ElectionName,
        purpose: Option<Purpose>,
        ask: elect_record::Ask,
    ) -> Result<elect_record::Reply, Error> {
        let transport = Arc::clone(&self.transport);
        let link =
            ElectionClient { transport, election: election.clone(), client: self.client.clone() };
        match link.ask(purpose.map_or(Op::Watch, Op::from), Ask::Documents(ask)).await? {
            Reply::Documents(reply) => Ok(reply),
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
}

impl From<Purpose> for Op {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Poll => Self::Poll,
            Purpose::Enter => Self::Enter,
            Purpose::Renew => Self::Renew,
            Purpose::Leave => Self::Leave,
            Purpose::Redeem => Self::Redeem,
            Purpose::LeaderCell => Self::LeaderCell,
            Purpose::Control => Self::Control,
            Purpose::Data => Self::Data,
            Purpose::Survey => Self::Survey,
        }
    }
}
