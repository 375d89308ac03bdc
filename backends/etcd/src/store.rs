use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Cadence, Candidate, Clock, ElectionName, Ending, Error, ErrorKind, Examination, Lease,
    NoteName, Order, Ordered, Orders, Profile, Seat, Store, Survey, Ticket, Token, Wake,
};

use crate::address::Address;
use crate::fault::{Doing, Failure, is_lease_unknown};
use crate::layout::{Hall, LeaseId};
use crate::link::Link;
use crate::seat::EtcdSeat;
use crate::{changes, examine, note, orders, removal, survey};

/// The elections under one prefix of a cluster.
pub(crate) struct EtcdStore {
    location: String,
    prefix: String,
    link: Arc<Link>,
}

impl EtcdStore {
    pub(crate) fn new(address: Address) -> Result<Self, Error> {
        let link = Arc::new(Link::new(&address)?);
        Ok(Self { location: address.location, prefix: address.prefix, link })
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

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let hall = Hall::new(&self.prefix, election);
        Ok(Box::new(EtcdSeat::new(Arc::clone(&self.link), hall, candidate, ttl)))
    }

    async fn redeem(&self, election: &ElectionName, ticket: &Ticket) -> Result<(), Error> {
        let lease = LeaseId::redeemed(ticket)?;
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.attempt(hall.prefix()).await?;
        match attempt.client().lease_client().revoke(lease.get()).await {
            Err(cause) if !is_lease_unknown(&cause) => {
                Err(attempt.fail(&Failure { doing: Doing::Resign, cause }).await)
            }
            _ => {
                attempt.succeed();
                Ok(())
            }
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
        match survey::survey(&attempt.client(), &hall).await {
            Ok(survey) => {
                attempt.succeed();
                Ok(survey)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    async fn ending(&self, election: &ElectionName, token: Token) -> Result<Option<Ending>, Error> {
        let hall = Hall::new(&self.prefix, election);
        let attempt = self.link.casual_attempt(hall.prefix()).await?;
        match removal::ending(&attempt.client(), &hall, token).await {
            Ok(ending) => {
                attempt.succeed();
                Ok(ending)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
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
        match changes::changed(attempt.client(), hall).await {
            Ok(wake) => {
                attempt.succeed();
                Ok(wake)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
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
        match orders::read(&attempt.client(), &hall).await {
            Ok(orders) => {
                attempt.succeed();
                Ok(orders)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
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
        match orders::write(&attempt.client(), &hall, text, version).await {
            Ok(ordered) => {
                attempt.succeed();
                Ok(ordered)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
        let attempt = self.link.casual_attempt(&self.prefix).await?;
        match survey::elections(&attempt.client(), &self.prefix).await {
            Ok(names) => {
                attempt.succeed();
                Ok(names)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.link, clock).await)
    }
}
