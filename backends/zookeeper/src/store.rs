use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::remote::StoreId;
use elect_api::{
    Cadence, Candidate, Clock, ElectionName, Ending, Error, Examination, Fenced, Finding, Key,
    Lease, NoteName, Noted, Order, Ordered, Orders, Profile, Seat, Store, Survey, Ticket, Token,
    Wake, check_value,
};

use crate::directory::Directory;
use crate::forget::{forget, forget_directory, has_directory};
use crate::guid::Guid;
use crate::look::Look;
use crate::seat::ZkSeat;
use crate::sessions::Sessions;
use crate::settings::{Settings, expect_no_candidate};
use crate::{changes, examine, fences, orders, removal, sheet, survey, values};

/// Renewals go out every S/16. A proof anchors at a request that was acknowledged before the next
/// renewal, and confirmed by one at least S/4 after that: 1/16 + 4/16.
const CADENCE: Cadence = Cadence { anchor_lag_48ths: 15, renew_48ths: 3 };

/// The elections in one directory of an ensemble.
pub(crate) struct ZkStore {
    settings: Arc<Settings>,
    sessions: Arc<Sessions>,
    /// There was no such directory when we looked: with its last election it goes, too.
    is_new: AtomicBool,
}

impl ZkStore {
    pub(crate) fn new(settings: Settings) -> Self {
        let settings = Arc::new(settings);
        let sessions = Arc::new(Sessions::new(Arc::clone(&settings)));
        Self { settings, sessions, is_new: AtomicBool::new(false) }
    }

    fn directory(&self, election: &ElectionName) -> Directory {
        Directory::new(Arc::clone(&self.settings), election)
    }

    async fn look(&self) -> Result<Look, Error> {
        self.sessions.look().await
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

    fn id(&self) -> Option<StoreId> {
        self.settings.identity.expected()
    }

    fn cautions(&self) -> Vec<Finding> {
        self.settings.cautions.clone()
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        expect_no_candidate(election.as_str())?;
        let sessions = Arc::clone(&self.sessions);
        Ok(Box::new(ZkSeat::new(&self.settings, sessions, election, candidate.clone(), ttl)))
    }

    async fn redeem(&self, election: &ElectionName, ticket: &Ticket) -> Result<(), Error> {
        let guid = Guid::of_ticket(ticket)?;
        let look = self.look().await?;
        let removed = self.directory(election).remove_all(&look, &[guid]).await;
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
        let look = self.look().await?;
        let text = sheet::content(&look, &path).await;
        text.map_err(|error| self.settings.explain(error))
    }

    async fn orders(&self, election: &ElectionName) -> Result<Orders, Error> {
        let path = self.settings.path_of_orders(election);
        let look = self.look().await?;
        let orders = orders::read(&look, &path).await;
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

    async fn fence(
        &self,
        election: &ElectionName,
        resource: &Key,
        token: Token,
    ) -> Result<Fenced, Error> {
        let path = self.settings.path_of_fence(election, resource);
        let look = self.look().await?;
        let outcome = fences::pass(&look, &self.settings, &path, token).await;
        outcome.map_err(|error| self.settings.explain(error))
    }

    async fn put(
        &self,
        election: &ElectionName,
        token: Token,
        key: &Key,
        value: &[u8],
    ) -> Result<Noted, Error> {
        check_value(value)?;
        let (path, directory) =
            (self.settings.path_of_value(election, key), self.directory(election));
        let client = self.look().await?;
        let written = values::write(&client, &self.settings, &directory, token, &path, value).await;
        written.map_err(|error| self.settings.explain(error))
    }

    async fn get(&self, election: &ElectionName, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        let path = self.settings.path_of_value(election, key);
        let look = self.look().await?;
        let value = sheet::content(&look, &path).await;
        value.map_err(|error| self.settings.explain(error))
    }

    async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
        let look = self.look().await?;
        let names = survey::elections(&look, &self.settings).await;
        names.map_err(|error| self.settings.explain(error))
    }

    async fn under_orders(&self) -> Result<Vec<ElectionName>, Error> {
        let look = self.look().await?;
        let names = survey::under_orders(&look, &self.settings).await;
        names.map_err(|error| self.settings.explain(error))
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.settings, clock).await)
    }
}
