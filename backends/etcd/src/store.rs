use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Cadence, Candidate, Cell, Clock, ElectionName, Error, ErrorKind, Examination, Finding, If,
    Keys, Lease, Order, Profile, Removal, Scope, Seat, Store, Survey, Versioned, Wake, Written,
};

use crate::address::Address;
use crate::layout::{Keyspace, Mark};
use crate::lease::Leases;
use crate::link::Link;
use crate::removal::Kept;
use crate::seat::EtcdSeat;
use crate::withdrawal::withdraw;
use crate::{cells, changes, examine, removal, survey};

/// The elections under one prefix of a cluster.
pub(crate) struct EtcdStore {
    location: String,
    prefix: String,
    cautions: Vec<Finding>,
    link: Arc<Link>,
    leases: Arc<Leases>,
}

impl EtcdStore {
    pub(crate) fn new(address: Address) -> Result<Self, Error> {
        let link = Arc::new(Link::new(&address)?);
        Ok(Self {
            location: address.location,
            prefix: address.prefix,
            cautions: address.cautions,
            link,
            leases: Arc::default(),
        })
    }
}

#[async_trait]
impl Store for EtcdStore {
    fn profile(&self) -> Profile {
        let (location, lease) = (self.location.clone(), Lease::Timed(Cadence::LEASE));
        Profile {
            id: self.link.store_check().identity().expected(),
            cautions: self.cautions.clone(),
            checks_names: !self.link.is_clear,
            ..Profile::new(crate::SCHEME, location, lease, Order::Queue)
        }
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let keyspace = Keyspace::new(&self.prefix, election);
        let (link, leases) = (Arc::clone(&self.link), Arc::clone(&self.leases));
        Ok(Box::new(EtcdSeat::new(link, leases, keyspace, candidate, ttl)))
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        let keyspace = Keyspace::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(keyspace.prefix()).await?;
        let outcome = survey::survey(&attempt.client(), &keyspace).await;
        attempt.conclude(outcome).await
    }

    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
        let keyspace = Keyspace::new(&self.prefix, election);
        match what {
            Removal::Crashed(ticket) => {
                let mark = Mark::redeemed(ticket)?;
                let attempt = self.link.attempt(keyspace.prefix()).await?;
                let outcome = withdraw(&attempt.client(), &keyspace, mark, true).await;
                attempt.conclude(outcome).await
            }
            Removal::Leader { token, .. } => {
                let attempt = self.link.attempt(keyspace.prefix()).await?;
                let outcome = removal::remove(&attempt.client(), &keyspace, token).await;
                attempt.conclude(outcome).await
            }
            Removal::Everything { .. } | Removal::Scratch => {
                let fences = what.takes_fences();
                let attempt = self.link.attempt(keyspace.notes()).await?;
                let outcome = removal::forget(&attempt.client(), &keyspace, fences).await;
                match attempt.conclude(outcome).await? {
                    None => Ok(()),
                    Some(Kept::Fenced(resource)) => Err(Removal::refuse_fence(election, &resource)),
                    Some(Kept::Occupied) => {
                        let what = format!("a candidate is in the election {election}");
                        Err(Error::new(ErrorKind::Unreachable, what))
                    }
                }
            }
        }
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let keyspace = Keyspace::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(keyspace.prefix()).await?;
        let outcome = changes::changed(attempt.client(), keyspace).await;
        attempt.conclude(outcome).await
    }

    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
        let keyspace = Keyspace::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(keyspace.above(cell)).await?;
        let outcome = cells::read(&attempt.client(), &keyspace, cell).await;
        attempt.conclude(outcome.map(|found| found.cell)).await
    }

    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error> {
        cell.check(bytes, condition)?;
        let keyspace = Keyspace::new(&self.prefix, election);
        let attempt = self.link.attempt(keyspace.above(cell)).await?;
        let outcome = cells::write(&attempt.client(), &keyspace, cell, bytes, condition).await;
        attempt.conclude(outcome).await
    }

    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
        let attempt = self.link.casual_attempt(&self.prefix).await?;
        let outcome = survey::elections(&attempt.client(), &self.prefix, scope).await;
        attempt.conclude(outcome).await
    }

    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
        let keyspace = Keyspace::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(keyspace.data()).await?;
        let outcome = survey::keys(&attempt.client(), &keyspace).await;
        attempt.conclude(outcome).await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.link, clock).await)
    }
}
