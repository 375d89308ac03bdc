use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Candidate, Cell, Clock, ElectionName, Error, Examination, Finding, If, Keys, Lease, Order,
    Profile, Removal, Scope, Seat, Store, Survey, Versioned, Wake, Written,
};

use crate::file_mutex::FileMutex;
use crate::root::Root;
use crate::seat::FileSeat;
use crate::{cells, changes, examine, forget, survey, url};

/// The elections under one directory of the local disk.
pub(crate) struct FileStore {
    root: Root,
    /// Whether the directory did not exist at the first visit. Then it is removed with its last
    /// election.
    is_new: AtomicBool,
    /// A caution about the place of the directory.
    caution: Option<Finding>,
}

impl FileStore {
    pub(crate) const fn new(root: Root, caution: Option<Finding>) -> Self {
        Self { root, is_new: AtomicBool::new(false), caution }
    }
}

#[async_trait]
impl Store for FileStore {
    fn profile(&self) -> Profile {
        let location = url::of(&self.root.path);
        Profile {
            cautions: self.caution.iter().cloned().collect(),
            ..Profile::new(crate::SCHEME, location, Lease::Unlimited, Order::Queue)
        }
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        _ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        Ok(Box::new(FileSeat::new(
            self.root.clone(),
            election.clone(),
            candidate.clone(),
            FileMutex::default(),
        )))
    }

    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
        match what {
            // The death of the last process that holds a place frees it.
            Removal::Crashed(_) => return Ok(()),
            Removal::Leader { .. } => return Err(Removal::refuse(election)),
            Removal::Everything { .. } | Removal::Scratch => {}
        }
        forget::forget(&self.root, election, what.takes_fences())?;
        if self.is_new.load(Ordering::Relaxed) {
            // It fails, as it must, if the directory has other entries.
            let _ = fs::remove_dir(&self.root.path);
        }
        Ok(())
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        let survey = survey::survey(&self.root, election)?;
        if survey.leader.is_none() && !self.root.path.exists() {
            self.is_new.store(true, Ordering::Relaxed);
        }
        Ok(survey)
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        Ok(changes::changed(&self.root, election))
    }

    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
        cells::read(&self.root, election, cell)
    }

    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error> {
        cell.check(bytes, condition)?;
        cells::write(&self.root, election, cell, bytes, condition).await
    }

    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
        survey::elections(&self.root, scope)
    }

    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
        cells::keys(&self.root, election)
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.root, &clock))
    }
}
