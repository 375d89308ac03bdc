//! The Leases of a namespace as [`Documents`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Cadence, Clock, ElectionName, Error, ErrorKind, Examination, Lease, Order, Profile, stamp,
};
use elect_record::{
    Document, Documents, IsNews, Listed, Listing, Name, Purpose, Record, Removed, Stored, Swapped,
};
use hyper::Method;
use serde_json::{Value, json};

use crate::address::{Address, escaped, expect_namespace};
use crate::api::Api;
use crate::client::Access;
use crate::error::Verb;
use crate::events::Events;
use crate::watch::{Selector, Watches};
use crate::{SCHEME, examine, lease, name};

/// client-go counts whole seconds, and elect renews six times in a lease.
const LEAST_TTL: Duration = Duration::from_secs(6);
/// The number of waiters in one page of a list. Waiters are short, and the next leader waits for the list.
const WAITERS: usize = 1000;
/// The number of records in one page of a list: records may be long.
const RECORDS: usize = 100;
/// The Leases of a namespace.
pub(crate) struct Leases {
    api: Arc<Api>,
    profile: Profile,
    /// The Leases that this store may write, each as it was last read or written: an update sends the whole Lease.
    seen: Mutex<HashMap<String, Value>>,
    watches: Watches,
    events: Events,
}

impl Leases {
    pub(crate) fn new(address: &Address, access: Access) -> Result<Self, Error> {
        let namespace = address.namespace.clone().or_else(|| access.namespace().map(str::to_owned));
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        expect_namespace(&namespace)
            .map_err(|error| error.and(format!("{} has it", access.source())))?;
        let location = address.location(&namespace);
        let mut profile =
            Profile::new(SCHEME, location, Lease::Timed(Cadence::RECORD), address.order);
        profile.cautions = access.cautions();
        let api = Arc::new(Api::new(access, namespace));
        let (watches, events) = (Watches::new(Arc::clone(&api)), Events::new(Arc::clone(&api)));
        Ok(Self { api, profile, seen: Mutex::default(), watches, events })
    }

    /// Remembers a Lease, unless a newer one is remembered.
    fn see(&self, found: &Value) -> Result<u64, Error> {
        let version = lease::version(found)?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let name = lease::name(found);
        let is_newer = |other: &Value| lease::version(other).is_ok_and(|other| other > version);
        if !seen.get(name).is_some_and(is_newer) {
            seen.insert(name.to_owned(), found.clone());
        }
        Ok(version)
    }

    fn forget(&self, name: &str) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    async fn get(&self, name: &str) -> Result<Option<Value>, Error> {
        match self.api.ask(Verb::Get, Method::GET, name, "", None).await? {
            Ok(found) => Ok(Some(found)),
            Err(404) => Ok(None),
            Err(status) => Err(self.api.odd(Verb::Get, name, status)),
        }
    }

    /// Returns the Lease with this version, including other programs' changes; `None` if it has another version.
    async fn with_version(&self, name: &str, version: u64) -> Result<Option<Value>, Error> {
        let has_it = |found: &Value| lease::version(found).is_ok_and(|known| known == version);
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(seen) = seen.filter(has_it) {
            return Ok(Some(seen));
        }
        Ok(self.get(name).await?.filter(has_it))
    }
}

#[async_trait]
impl Documents for Leases {
    fn profile(&self) -> Profile {
        self.profile.clone()
    }

    fn grant(&self, ttl: Duration) -> Duration {
        let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
        Duration::from_secs(seconds).max(LEAST_TTL)
    }

    async fn read(
        &self,
        election: &ElectionName,
        name: Name,
        purpose: Purpose,
    ) -> Result<Option<Stored>, Error> {
        let Some(found) = self.get(&name::of(election, name)?).await? else { return Ok(None) };
        // The waiters of other candidates are only read, never written.
        if purpose != Purpose::Survey && !matches!(name, Name::Waiter(_)) {
            self.see(&found)?;
        }
        lease::document(name, &found).map(Some)
    }

    async fn swap(
        &self,
        election: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        _purpose: Purpose,
    ) -> Result<Swapped, Error> {
        let (called, label) = (name::of(election, name)?, name::label(election));
        let now = stamp::read(stamp::display()).unwrap_or(std::time::UNIX_EPOCH);
        let before = if expected == 0 {
            None
        } else {
            match self.with_version(&called, expected).await? {
                Some(before) => Some(before),
                None => return Ok(Swapped::No),
            }
        };
        let body = lease::written(before.as_ref(), &called, &label, document, now)?;
        let (verb, method) = match before {
            None => (Verb::Create, Method::POST),
            // The update names version and uid, so it does not create a deleted Lease again.
            Some(_) => (Verb::Update, Method::PUT),
        };
        let Ok(written) = self.api.ask(verb, method, &called, "", Some(&body)).await? else {
            self.forget(&called);
            return Ok(Swapped::No);
        };
        // The Lease is written, although the answer is unclear.
        let unclear = |error: Error| error.with_kind(ErrorKind::Ambiguous);
        let version = self.see(&written).map_err(unclear)?;
        if name == Name::Record {
            self.events.tell(before.as_ref(), &written, now).await;
        }
        Ok(Swapped::Yes(version))
    }

    async fn remove(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        _purpose: Purpose,
    ) -> Result<Removed, Error> {
        let called = name::of(election, name)?;
        let condition = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": version.to_string()},
        });
        let asked = self.api.ask(Verb::Delete, Method::DELETE, &called, "", Some(&condition));
        if asked.await? == Err(409) {
            return Ok(Removed::No);
        }
        self.forget(&called);
        Ok(Removed::Yes)
    }

    async fn list(&self, election: &ElectionName, purpose: Purpose) -> Result<Listing, Error> {
        let base = name::of(election, Name::Record)?;
        let query = Selector::Label(name::label(election)).query();
        let (mut waiters, mut record) = (Vec::new(), None);
        let show = |lease: Value| {
            if lease::name(&lease) == base {
                record = Some(lease);
            } else if let Some(nonce) = name::nonce(&base, lease::name(&lease))
                && let (Some(waiter), Ok(version)) = (lease::waiter(&lease), lease::version(&lease))
            {
                waiters.push(Listed { nonce, version, waiter });
            }
        };
        let revision = self.api.list(&query, WAITERS, show).await?;
        let mut listing = Listing { revision, waiters, ..Listing::default() };
        // A record that another program made has no label yet.
        let record = match record {
            Some(record) => Some(record),
            None => self.get(&base).await?,
        };
        if let Some(found) = record {
            if purpose != Purpose::Survey {
                self.see(&found)?;
            }
            listing.record = Some((lease::version(&found)?, lease::record(&found)?));
        }
        Ok(listing)
    }

    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        // The Leases of fences and values may be long.
        let query = format!("labelSelector=%21{}", escaped(lease::DATA));
        let mut records = Vec::new();
        let show = |lease: Value| {
            if let Some(election) = name::election(lease::name(&lease))
                && let Ok(record) = lease::record(&lease)
            {
                records.push((election, record));
            }
        };
        self.api.list(&query, RECORDS, show).await?;
        Ok(records)
    }

    async fn wait(
        &self,
        election: &ElectionName,
        name: Name,
        version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let called = name::of(election, name)?;
        let mut tell = |_: &str, lease: Option<&Value>| tell(is_news, name, lease);
        self.watches.wait(&called, version, &mut tell).await;
        Ok(())
    }

    async fn wait_for_any(
        &self,
        election: &ElectionName,
        revision: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let (base, label) = (name::of(election, Name::Record)?, name::label(election));
        // A record that another program made has no label yet.
        let news = Mutex::new(is_news);
        let name_of = |called: &str| {
            let waiter = name::nonce(&base, called).map(Name::Waiter);
            waiter.or((called == base).then_some(Name::Record))
        };
        let mut by_name = |called: &str, lease: Option<&Value>| {
            let mut news = news.lock().unwrap_or_else(PoisonError::into_inner);
            name_of(called).is_some_and(|name| tell(*news, name, lease))
        };
        let mut by_label = by_name;
        tokio::select! {
            () = self.watches.wait(&base, revision, &mut by_name) => {}
            () = self.watches.wait_for_any(&label, revision, &mut by_label) => {}
        }
        Ok(())
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        Ok(examine::examine(&self.api, self.profile.order == Order::Queue, LEAST_TTL, &clock).await)
    }
}

/// Passes on the present state of a document. A damaged document counts as unchanged.
fn tell(is_news: IsNews<'_>, name: Name, lease: Option<&Value>) -> bool {
    match lease.map(|lease| lease::document(name, lease)) {
        None => is_news(name, None),
        Some(Ok(found)) => is_news(name, Some(&found.document)),
        Some(Err(_)) => false,
    }
}
