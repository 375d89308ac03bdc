use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use elect_api::Store;

use super::Error;
use crate::config::{self, BackendUrl};

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
    let store = config::connect(&named).map_err(Error::invalid)?;
    let store: Arc<dyn Store> = Arc::from(store);
    open.retain(|_, store| store.strong_count() > 0);
    open.insert(url.to_owned(), Arc::downgrade(&store));
    Ok(store)
}
