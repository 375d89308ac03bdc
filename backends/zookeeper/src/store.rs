use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Cadence, Candidate, Clock, ElectionName, Ending, Error, Examination, Lease, NoteName, Order,
    Ordered, Orders, Profile, Seat, Store, Survey, Ticket, Token, Wake,
};
use tokio::sync::Mutex;
use zookeeper_client::Client;

use crate::dial::dial;
use crate::directory::Directory;
use crate::forget::{forget, forget_directory, has_directory};
use crate::guid::Guid;
use crate::seat::ZkSeat;
use crate::settings::{Settings, expect_no_candidate};
use crate::{changes, examine, orders, removal, sheet, survey};

/// For the session that looks and redeems. It has no entry, so that nobody waits for its end.
const LOOKING: Duration = Duration::from_secs(10);

/// Renewals go out every S/16. A proof anchors at a request that was acknowledged before the next
/// renewal, and confirmed by one at least S/4 after that: 1/16 + 4/16.
const CADENCE: Cadence = Cadence { anchor_lag_48ths: 15, renew_48ths: 3 };

/// The elections in one directory of an ensemble.
pub(crate) struct ZkStore {
    settings: Arc<Settings>,
    /// The session that looks. It never has an entry.
    looking: Mutex<Option<Client>>,
    /// There was no such directory when we looked: with its last election it goes, too.
    is_new: AtomicBool,
}

impl ZkStore {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            looking: Mutex::new(None),
            is_new: AtomicBool::new(false),
        }
    }

    fn directory(&self, election: &ElectionName) -> Directory {
        Directory::new(Arc::clone(&self.settings), election)
    }

    async fn look(&self) -> Result<Client, Error> {
        let mut looking = self.looking.lock().await;
        if let Some(client) = looking.as_ref().filter(|client| !client.state().is_terminated()) {
            return Ok(client.clone());
        }
        let client = dial(Arc::clone(&self.settings), LOOKING, looking.is_none()).await?;
        *looking = Some(client.clone());
        Ok(client)
    }
}

#[async_trait]
impl Store for ZkStore {
    fn profile(&self) -> Profile {
        Profile {
            scheme: crate::SCHEME,
            location: self.settings.location.clone(),
            lease: Lease::Timed(CADENCE),
            order: Order::Queue,
        }
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        expect_no_candidate(election.as_str())?;
        Ok(Box::new(ZkSeat::new(Arc::clone(&self.settings), election, candidate.clone(), ttl)))
    }

    async fn redeem(&self, election: &ElectionName, ticket: &Ticket) -> Result<(), Error> {
        let guid = Guid::of_ticket(ticket)?;
        let removed = self.directory(election).remove_all(&self.look().await?, &[guid]).await;
        removed.map_err(|error| self.settings.explain(error))
    }

    async fn forget(&self, election: &ElectionName) -> Result<(), Error> {
        let client = self.look().await?;
        let forgotten = forget(&client, &self.settings, election).await;
        forgotten.map_err(|error| self.settings.explain(error))?;
        if self.is_new.load(Ordering::Relaxed) {
            forget_directory(&client, &self.settings).await?;
        }
        Ok(())
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        let client = self.look().await?;
        let survey = survey::survey(&client, &self.directory(election)).await;
        let survey = survey.map_err(|error| self.settings.explain(error))?;
        if survey.leader.is_none() && !has_directory(&client, &self.settings).await? {
            self.is_new.store(true, Ordering::Relaxed);
        }
        Ok(survey)
    }

    async fn ending(&self, election: &ElectionName, token: Token) -> Result<Option<Ending>, Error> {
        let client = self.look().await?;
        let directory = self.directory(election);
        let ending = removal::ending(&client, &self.settings, &directory, token).await;
        ending.map_err(|error| self.settings.explain(error))
    }

    async fn remove(&self, election: &ElectionName, token: Token) -> Result<(), Error> {
        let client = self.look().await?;
        let removed = removal::remove(&client, &self.directory(election), token).await;
        removed.map_err(|error| self.settings.explain(error))
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let queue = self.settings.path_of(election);
        let mut sheets = vec![self.settings.path_of_orders(election)];
        sheets.extend(NoteName::vital().map(|name| self.settings.path_of_note(election, name)));
        let wake = changes::changed(&self.look().await?, &queue, &sheets).await;
        wake.map_err(|error| self.settings.explain(error))
    }

    async fn note(
        &self,
        election: &ElectionName,
        name: NoteName,
    ) -> Result<Option<Vec<u8>>, Error> {
        let path = self.settings.path_of_note(election, name);
        let text = sheet::content(&self.look().await?, &path).await;
        text.map_err(|error| self.settings.explain(error))
    }

    async fn orders(&self, election: &ElectionName) -> Result<Orders, Error> {
        let path = self.settings.path_of_orders(election);
        let orders = orders::read(&self.look().await?, &path).await;
        orders.map_err(|error| self.settings.explain(error))
    }

    async fn order(
        &self,
        election: &ElectionName,
        text: &[u8],
        version: u64,
    ) -> Result<Ordered, Error> {
        Orders::check_length(text)?;
        let path = self.settings.path_of_orders(election);
        let client = self.look().await?;
        let ordered = orders::write(&client, &self.settings, &path, text, version).await;
        ordered.map_err(|error| self.settings.explain(error))
    }

    async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
        let names = survey::elections(&self.look().await?, &self.settings).await;
        names.map_err(|error| self.settings.explain(error))
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.settings, clock).await)
    }
}
