use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Candidate, Clock, ElectionName, Error, Examination, Fenced, Key, Lease, NoteName, Noted, Order,
    Ordered, Orders, Profile, Seat, Store, Survey, Token, Wake, check_value,
};

use crate::door::Door;
use crate::root::Root;
use crate::seat::FileSeat;
use crate::{changes, examine, fences, forget, note, orders, survey, url, values};

/// The elections under one directory of the local disk.
pub(crate) struct FileStore {
    root: Root,
    /// There was no such directory when we looked: with its last election it goes, too.
    is_new: AtomicBool,
}

impl FileStore {
    pub(crate) const fn new(root: Root) -> Self {
        Self { root, is_new: AtomicBool::new(false) }
    }
}

#[async_trait]
impl Store for FileStore {
    fn profile(&self) -> Profile {
        Profile {
            scheme: crate::SCHEME,
            location: url::of(&self.root.path),
            lease: Lease::Unlimited,
            order: Order::Queue,
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
            Door::default(),
        )))
    }

    async fn forget(&self, election: &ElectionName) -> Result<(), Error> {
        forget::forget(&self.root, election)?;
        if self.is_new.load(Ordering::Relaxed) {
            // Not if anybody else is in it.
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

    async fn note(
        &self,
        election: &ElectionName,
        name: NoteName,
    ) -> Result<Option<Vec<u8>>, Error> {
        note::look(&self.root, election, name)
    }

    async fn orders(&self, election: &ElectionName) -> Result<Orders, Error> {
        orders::read(&self.root, election)
    }

    async fn order(
        &self,
        election: &ElectionName,
        text: &[u8],
        version: u64,
    ) -> Result<Ordered, Error> {
        Orders::check_length(text)?;
        orders::write(&self.root, election, text, version).await
    }

    async fn fence(
        &self,
        election: &ElectionName,
        resource: &Key,
        token: Token,
    ) -> Result<Fenced, Error> {
        fences::pass(&self.root, election, resource, token).await
    }

    async fn put(
        &self,
        election: &ElectionName,
        token: Token,
        key: &Key,
        value: &[u8],
    ) -> Result<Noted, Error> {
        check_value(value)?;
        values::write(&self.root, election, token, key, value).await
    }

    async fn get(&self, election: &ElectionName, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        values::read(&self.root, election, key)
    }

    async fn elections(&self) -> Result<Vec<ElectionName>, Error> {
        survey::elections(&self.root)
    }

    async fn under_orders(&self) -> Result<Vec<ElectionName>, Error> {
        survey::under_orders(&self.root)
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.root, &clock))
    }
}
