//! The identity of a store: which store it is that answers.
//!
//! An address does not tell that. A name may later lead to another cluster, and a list may name hosts of two
//! clusters. So elect gives each store an id, once. A process that has met one store takes part in no other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use elect_api::{Error, StoreId};

use crate::unfit;

/// The store in which a process takes part: the one that the URL's option names, or else the first store in which the
/// process has entered an election.
#[derive(Debug, Default)]
pub struct Identity {
    wanted: Option<StoreId>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
enum Known {
    /// No id was found yet.
    #[default]
    Nothing,
    /// The store with this id, which was found at this address.
    Store(StoreId, String),
    /// The store refuses to let this process read the id.
    Unreadable,
}

/// The advice where another store answers.
const ANOTHER: &str = "if it replaces that one, stop all candidates before you start them there, without store-id in the URL";
/// The advice for a store without an id. elect itself adds the id to the URL when it campaigns again.
const ANEW: &str =
    "if it is meant to be new, start elect again, for one run without store-id in the URL";

impl Identity {
    /// An identity that expects the id of the URL, if the URL names one.
    pub const fn new(wanted: Option<StoreId>) -> Self {
        Self { wanted, known: Mutex::new(Known::Nothing) }
    }

    /// The id that every answer must have; `None` while any id is accepted.
    pub fn expected(&self) -> Option<StoreId> {
        match (&self.wanted, &*self.lock()) {
            (Some(id), _) | (None, Known::Store(id, _)) => Some(id.clone()),
            (None, Known::Nothing | Known::Unreadable) => None,
        }
    }

    /// Returns whether to ask a store for its id at all.
    pub fn is_readable(&self) -> bool {
        self.wanted.is_some() || !matches!(*self.lock(), Known::Unreadable)
    }

    /// Notes that the store refuses to show its id. Returns whether that is an error: it is if the URL names an id.
    /// Otherwise ids are not compared.
    pub fn note_refusal(&self) -> bool {
        let mut known = self.lock();
        if self.wanted.is_none() && matches!(*known, Known::Nothing) {
            *known = Known::Unreadable;
        }
        self.wanted.is_some()
    }

    /// Checks the id `found` of the store that `place` names, as in `etcd at HOST:PORT`. If no id is expected yet, this
    /// one is expected from now on.
    ///
    /// # Errors
    /// `Unfit` if another id is expected, or if the store has none although one is expected.
    pub fn admit(&self, place: &str, found: Option<&StoreId>) -> Result<(), Error> {
        let mut known = self.lock();
        let ours = match (&self.wanted, &*known) {
            (Some(id), _) => Some((id, format!("the URL names the store {id}"))),
            (None, Known::Store(id, at)) if at == place => {
                Some((id, format!("it was the store {id} when this process met it")))
            }
            (None, Known::Store(id, at)) => Some((id, format!("{at} is the store {id}"))),
            (None, _) => None,
        };
        match (ours, found) {
            (None, None) => Ok(()),
            (None, Some(found)) => {
                *known = Known::Store(found.clone(), place.to_owned());
                Ok(())
            }
            (Some((ours, _)), Some(found)) if ours == found => Ok(()),
            (Some((_, whose)), Some(found)) => Err(unfit(format!(
                "{place} is another store, {found}: {whose}; with both, two could lead at once; {ANOTHER}"
            ))),
            (Some((_, whose)), None) => Err(unfit(format!(
                "{place} has no store id, so it is new, emptied, or another store: {whose}; {ANEW}"
            ))),
        }
    }

    /// The same for a store that may forget its id, as one that saves nothing does when it starts again: only the id
    /// that the URL names is compared, and none is noted.
    ///
    /// # Errors
    /// As [`Identity::admit`].
    pub fn admit_pinned(&self, place: &str, found: Option<&StoreId>) -> Result<(), Error> {
        if self.wanted.is_some() { self.admit(place, found) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use elect_api::ErrorKind;

    use super::*;

    fn id(text: &str) -> StoreId {
        StoreId::read(text.as_bytes()).expect("an id")
    }

    const A: &str = "00000000000000a1";
    const B: &str = "00000000000000b2";

    #[test]
    fn the_first_store_seen_is_pinned() {
        let identity = Identity::new(None);
        assert_eq!(identity.expected(), None);
        identity.admit("etcd at a", None).expect("it gets one");
        identity.admit("etcd at a", Some(&id(A))).expect("the first");
        identity.admit("etcd at b", Some(&id(A))).expect("the same");
        assert_eq!(identity.expected(), Some(id(A)));
        let error = identity.admit("etcd at c", Some(&id(B))).expect_err("another");
        assert_eq!(error.kind(), ErrorKind::Unfit);
        for word in ["etcd at a is the store 00", "etcd at c is another store", A, B] {
            assert!(error.to_string().contains(word), "{error}");
        }
        let error = identity.admit("etcd at a", Some(&id(B))).expect_err("another in its place");
        assert!(error.to_string().contains("it was the store 00"), "{error}");
        let error = identity.admit("etcd at d", None).expect_err("none");
        assert!(error.to_string().contains("etcd at d has no store id"), "{error}");
    }

    #[test]
    fn the_store_named_in_the_url_is_pinned_from_the_start() {
        let identity = Identity::new(Some(id(A)));
        identity.admit("etcd at a", None).expect_err("no id yet");
        identity.admit("etcd at a", Some(&id(B))).expect_err("another");
        identity.admit("etcd at a", Some(&id(A))).expect("it is");
        assert!(identity.note_refusal() && identity.is_readable());
    }

    #[test]
    fn without_the_right_to_ask_no_identity_is_compared() {
        let identity = Identity::new(None);
        assert!(identity.is_readable() && !identity.note_refusal() && !identity.is_readable());
        assert_eq!(identity.expected(), None);
    }
}
