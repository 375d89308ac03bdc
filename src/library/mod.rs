//! The library: everything that the crate offers to programs in Rust, and nothing else.
//!
//! To the engine, the [`Work`](candidature::Work) of a program is like a command that takes its whole grace to end, as
//! it cannot be killed. All campaigns of a process share one [`Engine`](engine::Engine), which is a thread. Campaigns
//! with the same URL share one store.

mod campaign;
mod candidature;
mod engine;
mod leadership;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use elect_api::Store;

use crate::stores::{self, BackendUrl};

pub use campaign::Campaign;
pub use leadership::Leadership;
pub use leadership::Validity;

/// The stores in use, by URL.
type Open = BTreeMap<String, Weak<dyn Store>>;

/// Returns the store of a URL. If other campaigns use it already, it is shared.
///
/// # Errors
/// [`Error::Invalid`] if the URL names no store, or if another thing that it names cannot be used.
pub(super) fn store_of(url: &str) -> Result<Arc<dyn Store>, Error> {
    static OPEN: Mutex<Open> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(store) = open.get(url).and_then(Weak::upgrade) {
        return Ok(store);
    }
    let Ok(named) = url.parse::<BackendUrl>();
    let store = stores::connect(&named).map_err(Error::invalid)?;
    let store: Arc<dyn Store> = Arc::from(store);
    open.retain(|_, store| store.strong_count() > 0);
    open.insert(url.to_owned(), Arc::downgrade(&store));
    Ok(store)
}

/// The reason why a campaign does not lead, or why its entry could not be removed. The text is for people. It says what
/// was tried, where, and how to solve the problem. It holds no secret of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL, a name or a combination of times is not valid. Trying again does not help.
    #[error("{0}")]
    Invalid(String),
    /// The store refuses, or cannot serve an election. Trying again does not help.
    #[error("{0}")]
    Refused(String),
    /// The store is out of reach. Within 10 s it never answered, or took no entry, or it did not answer when leadership
    /// was given up. Trying again may help.
    #[error("{0}")]
    Unreached(String),
    /// This machine, or the lease that the store grants, does not permit leading. Either no thread or descriptor is
    /// left, or the clock is slewed by more than [`Campaign::max_clock_drift`](crate::Campaign::max_clock_drift). Or
    /// the lease is too short to be renewed.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(super) fn of_store(error: elect_api::Error) -> Self {
        let is_permanent = error.is_permanent();
        let what = format!("{:#}", anyhow::Error::from(error));
        if is_permanent { Self::Refused(what) } else { Self::Unreached(what) }
    }

    /// Wraps an error of invalid input.
    pub(super) fn invalid(why: impl Into<anyhow::Error>) -> Self {
        Self::Invalid(format!("{:#}", why.into()))
    }

    /// Returns the error for a task that ended without a result.
    pub(super) fn stopped() -> Self {
        Self::Failed("the engine has stopped".to_owned())
    }
}
