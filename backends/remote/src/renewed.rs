//! Files that are read anew for each connection.

use std::sync::{Arc, Mutex, PoisonError};

use elect_api::Error;

/// The contents of files as servers last took them.
///
/// Files and servers are renewed one after the other, in any order. A server that does not take the new contents may
/// still take the old.
pub struct Renewed<T>(Mutex<Arc<T>>);

/// What to try at one server, in this order.
pub struct Tries<T> {
    /// What the files hold now, or what served last if they cannot be used.
    pub first: Arc<T>,
    /// What served last, if the files hold something else now.
    pub second: Option<Arc<T>>,
    /// Why the files cannot be used.
    pub unread: Option<Error>,
}

impl<T: PartialEq> Renewed<T> {
    /// Begins with what the files hold at first.
    pub fn new(first: T) -> Self {
        Self(Mutex::new(Arc::new(first)))
    }

    /// What a server took last, or what will be tried first.
    pub fn known(&self) -> Arc<T> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers that a server took this one.
    pub fn keep(&self, taken: &Arc<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(taken);
    }

    /// Reads the files anew by `again`.
    pub fn tries(&self, again: impl FnOnce(&T) -> Result<T, Error>) -> Tries<T> {
        let known = self.known();
        match again(&known) {
            Ok(same) if same == *known => Tries { first: known, second: None, unread: None },
            Ok(fresh) => Tries { first: Arc::new(fresh), second: Some(known), unread: None },
            Err(error) => Tries { first: known, second: None, unread: Some(error) },
        }
    }
}
