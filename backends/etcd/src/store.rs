use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::remote::StoreId;
use elect_api::{
    Cadence, Candidate, Clock, ElectionName, Ending, Error, ErrorKind, Examination, Fenced,
    Finding, Key, Lease, NoteName, Noted, Order, Ordered, Orders, Profile, Seat, Store, Survey,
    Ticket, Token, Wake, check_value,
};

use crate::address::Address;
use crate::layout::{Hall, Mark};
use crate::lease::Leases;
use crate::link::{Attempt, Link};
use crate::seat::{EtcdSeat, Trouble};
use crate::withdrawal::withdraw;
use crate::{changes, examine, fences, note, orders, removal, survey, values};

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
        Profile {
            scheme: crate::SCHEME,
            location: self.location.clone(),
            lease: Lease::Timed(Cadence { anchor_lag_48ths: 0, renew_48ths: 8 }),
            order: Order::Queue,
        }
    }

    fn id(&self) -> Option<StoreId> {
        self.link.badge().identity().expected()
    }

    fn cautions(&self) -> Vec<Finding> {
        self.cautions.clone()
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let hall = Hall::new(&self.prefix, election);
        let (link, leases) = (Arc::clone(&self.link), Arc::clone(&self.leases));
        Ok(Box::new(EtcdSeat::new(link, leases, hall, candidate, ttl)))
    }

    async fn redeem(&self, election: &ElectionName, ticket: &Ticket) -> Result<(), Error> {
        let mark = Mark::redeemed(ticket)?;
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.attempt(hall.prefix()).await?;
        match withdraw(&attempt.client(), &hall, mark, true).await {
            Ok(()) => {
                attempt.succeed();
                Ok(())
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    async fn forget(&self, election: &ElectionName) -> Result<(), Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.attempt(hall.notes()).await?;
        match survey::forget(&attempt.client(), &hall).await {
            Ok(is_empty) => {
                attempt.succeed();
                if is_empty {
                    return Ok(());
                }
                let what = format!("somebody is in the election {election}");
                Err(Error::new(ErrorKind::Unreachable, what))
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(hall.prefix()).await?;
        let outcome = survey::survey(&attempt.client(), &hall).await;
        conclude(attempt, outcome).await
    }

    async fn ending(&self, election: &ElectionName, token: Token) -> Result<Option<Ending>, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(hall.prefix()).await?;
        let outcome = removal::ending(&attempt.client(), &hall, token).await;
        conclude(attempt, outcome).await
    }

    async fn remove(&self, election: &ElectionName, token: Token) -> Result<(), Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.attempt(hall.prefix()).await?;
        match removal::remove(&attempt.client(), &hall, token).await {
            Ok(()) => {
                attempt.succeed();
                Ok(())
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(hall.prefix()).await?;
        let outcome = changes::changed(attempt.client(), hall).await;
        conclude(attempt, outcome).await
    }

    async fn note(
        &self,
        election: &ElectionName,
        name: NoteName,
    ) -> Result<Option<Vec<u8>>, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(hall.notes()).await?;
        match note::read(&attempt.client(), &hall, name).await {
            Ok(found) => {
                attempt.succeed();
                Ok(found.text)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    async fn orders(&self, election: &ElectionName) -> Result<Orders, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(hall.notes()).await?;
        let outcome = orders::read(&attempt.client(), &hall).await;
        conclude(attempt, outcome).await
    }

    async fn order(
        &self,
        election: &ElectionName,
        text: &[u8],
        version: u64,
    ) -> Result<Ordered, Error> {
        Orders::check_length(text)?;
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.attempt(hall.notes()).await?;
        let outcome = orders::write(&attempt.client(), &hall, text, version).await;
        conclude(attempt, outcome).await
    }

    async fn fence(
        &self,
        election: &ElectionName,
        resource: &Key,
        token: Token,
    ) -> Result<Fenced, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.attempt(hall.data()).await?;
        let outcome = fences::pass(&attempt.client(), &hall, resource, token).await;
        conclude(attempt, outcome).await
    }

    async fn put(
        &self,
        election: &ElectionName,
        token: Token,
        key: &Key,
        value: &[u8],
    ) -> Result<Noted, Error> {
        check_value(value)?;
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.attempt(hall.data()).await?;
        let outcome = values::write(&attempt.client(), &hall, token, key, value).await;
        conclude(attempt, outcome).await
    }

    async fn get(&self, election: &ElectionName, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(hall.data()).await?;
        let outcome = values::read(&attempt.client(), &hall, key).await;
        conclude(attempt, outcome).await
    }

    async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
        let attempt = self.link.casual_attempt(&self.prefix).await?;
        let outcome = survey::elections(&attempt.client(), &self.prefix).await;
        conclude(attempt, outcome).await
    }

    async fn under_orders(&self) -> Result<Vec<ElectionName>, Error> {
        let attempt = self.link.casual_attempt(&self.prefix).await?;
        let outcome = survey::under_orders(&attempt.client(), &self.prefix).await;
        conclude(attempt, outcome).await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.link, clock).await)
    }
}

/// The end of an attempt: what came of it.
async fn conclude<T>(attempt: Attempt, outcome: Result<T, impl Into<Trouble>>) -> Result<T, Error> {
    match outcome.map_err(Into::into) {
        Ok(answer) => {
            attempt.succeed();
            Ok(answer)
        }
        Err(Trouble::Failed(failure)) => Err(attempt.fail(&failure).await),
        Err(Trouble::Odd(error)) => {
            attempt.succeed();
            Err(error)
        }
        Err(Trouble::Foreign(error)) => Err(attempt.refuse(error)),
    }
}
