use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Cadence, Candidate, Cell, Clock, ElectionName, Error, Examination, If, Keys, Lease, Order,
    Profile, Removal, Scope, Seat, Store, Survey, Versioned, Wake, Written,
};

use crate::directory::Directory;
use crate::forget::{forget, forget_directory, has_directory};
use crate::guid::Guid;
use crate::seat::ZkSeat;
use crate::sessions::Sessions;
use crate::settings::{Settings, expect_no_candidate};
use crate::{cells, changes, examine, survey};

/// The elections in one directory of an ensemble.
pub(crate) struct ZkStore {
    settings: Arc<Settings>,
    sessions: Arc<Sessions>,
    /// The directory did not exist at the last survey. Then it is removed with its last election.
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
}

#[async_trait]
impl Store for ZkStore {
    fn profile(&self) -> Profile {
        let (location, lease) = (self.settings.location.clone(), Lease::Timed(Cadence::SESSION));
        Profile {
            id: self.settings.identity.expected(),
            cautions: self.settings.cautions.clone(),
            checks_names: self.settings.security.is_some(),
            ..Profile::new(crate::SCHEME, location, lease, Order::Queue)
        }
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

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        let client = self.sessions.observer().await?;
        let survey = survey::survey(&client, &self.directory(election)).await;
        let survey = survey.map_err(|error| self.settings.explain(error))?;
        if survey.leader.is_none() && !has_directory(&client, &self.settings).await? {
            self.is_new.store(true, Ordering::Relaxed);
        }
        Ok(survey)
    }

    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
        let directory = self.directory(election);
        let removed = match what {
            Removal::Crashed(ticket) => {
                let guid = Guid::of_ticket(ticket)?;
                directory.remove_all(&*self.sessions.observer().await?, &[guid]).await
            }
            Removal::Leader { token, .. } => {
                let client = self.sessions.observer().await?;
                match directory.led_by(&client, token).await {
                    Ok(Some(node)) => directory.remove(&client, &[node]).await,
                    other => other.map(drop),
                }
            }
            Removal::Everything { .. } | Removal::Scratch => {
                let fences = what.takes_fences();
                let client = self.sessions.observer().await?;
                let forgotten = forget(&client, &self.settings, election, fences).await;
                if forgotten.is_ok() && self.is_new.load(Ordering::Relaxed) {
                    return forget_directory(&client, &self.settings).await;
                }
                forgotten
            }
        };
        removed.map_err(|error| self.settings.explain(error))
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        let queue = self.settings.path_of(election);
        let cells = Cell::WATCHED.map(|cell| self.settings.path_of_cell(election, cell));
        let wake = changes::changed(&self.sessions.observer().await?, &queue, &cells).await;
        wake.map_err(|error| self.settings.explain(error))
    }

    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
        let path = self.settings.path_of_cell(election, cell);
        let client = self.sessions.observer().await?;
        let found = cells::read(&client, &path).await;
        found.map_err(|error| self.settings.explain(error))
    }

    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error> {
        cell.check(bytes, condition)?;
        let path = self.settings.path_of_cell(election, cell);
        let directory = self.directory(election);
        let client = self.sessions.observer().await?;
        let written = cells::write(&client, &directory, &path, bytes, condition).await;
        written.map_err(|error| self.settings.explain(error))
    }

    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
        let client = self.sessions.observer().await?;
        let names = survey::elections(&client, &self.settings, scope).await;
        names.map_err(|error| self.settings.explain(error))
    }

    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
        let client = self.sessions.observer().await?;
        let keys = survey::keys(&client, &self.settings, election).await;
        keys.map_err(|error| self.settings.explain(error))
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.settings, clock).await)
    }
}
