//! The engine for programs in Rust: what the crate shows to others, and nothing else.
//!
//! To the engine a program's own [`Work`](candidature::Work) is like a command that takes the whole of its grace to end,
//! as nobody can kill it. All campaigns of a process share one [`Engine`](engine::Engine), a thread, and those with
//! the same URL one store.

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

/// The store of a URL: the one that other campaigns use already, if there is one.
///
/// # Errors
/// [`Error::Invalid`] if the URL names none, or what it names beside the store cannot be used.
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

/// Why a campaign does not lead, or why its entry could not be removed. The text is for people: it says what was
/// tried, where, and the way out, and holds no secret of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for cannot be: the URL, a name, or times that do not go together. Trying again does not help.
    #[error("{0}")]
    Invalid(String),
    /// The store refuses, or cannot serve an election. Trying again does not help.
    #[error("{0}")]
    Refused(String),
    /// The store is out of reach: within 10 s it never answered, or took no entry, or it did not answer when leadership
    /// was given up. Trying again may help.
    #[error("{0}")]
    Unreached(String),
    /// This machine or what the store grants does not allow for leading: no thread or descriptor is left, its clock
    /// is slewed by more than [`Campaign::max_clock_drift`](crate::Campaign::max_clock_drift), or leases are so short
    /// that they could not be renewed.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(super) fn of_store(error: elect_api::Error) -> Self {
        let is_permanent = error.is_permanent();
        let what = format!("{:#}", anyhow::Error::from(error));
        if is_permanent { Self::Refused(what) } else { Self::Unreached(what) }
    }

    /// What was asked for cannot be.
    pub(super) fn invalid(why: impl Into<anyhow::Error>) -> Self {
        Self::Invalid(format!("{:#}", why.into()))
    }

    /// A task ended without a word.
    pub(super) fn stopped() -> Self {
        Self::Failed("the engine has stopped".to_owned())
    }
}
