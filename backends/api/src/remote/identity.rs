//! The identity of a store: which store it is that answers.
//!
//! An address does not settle that. A name may later lead to another cluster, and a list may name hosts of two
//! clusters. So elect gives each store an id, once. A process that has met one store takes part in no other.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Error, ErrorKind};

use super::Url;

/// The number of digits of an id.
const DIGITS: usize = 16;

/// The id that elect gives a store: 64 random bits in hexadecimal, kept beside its elections.
///
/// A copy of the store has the same id, for example one that was restored from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreId(String);

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

impl StoreId {
    /// The option of a URL that names an id.
    pub const OPTION: &str = "store-id";

    /// A new id that no store has. Its bits come from the kernel.
    pub fn fresh() -> Self {
        Self(format!("{:016x}", RandomState::new().build_hasher().finish()))
    }

    /// The id that a URL names.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if the option's value is not an id.
    pub fn of(url: &Url) -> Result<Option<Self>, Error> {
        let read = |text: &str| {
            Self::read(text.as_bytes()).ok_or_else(|| {
                let what = format!(
                    "the option {} has {DIGITS} hexadecimal digits, as `elect doctor` prints them",
                    Self::OPTION
                );
                Error::new(ErrorKind::Unfit, what)
            })
        };
        url.option(Self::OPTION).map(read).transpose()
    }

    /// The id in the text of a store; `None` if the text is not an id.
    pub fn read(text: &[u8]) -> Option<Self> {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        let is_id = text.len() == DIGITS && text.iter().all(is_digit);
        is_id.then(|| String::from_utf8_lossy(text).into_owned()).map(Self)
    }

    /// The digits of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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

    /// Whether to ask a store for its id at all.
    pub fn is_readable(&self) -> bool {
        self.wanted.is_some() || !matches!(*self.lock(), Known::Unreadable)
    }

    /// Notes that the store refuses to show its id. Returns whether that is an error: it is if the URL names an id.
    /// Otherwise ids are not compared.
    pub fn is_refused(&self) -> bool {
        let mut known = self.lock();
        if self.wanted.is_none() && matches!(*known, Known::Nothing) {
            *known = Known::Unreadable;
        }
        self.wanted.is_some()
    }

    /// Checks the id `found` of the store that `who` names, as in `etcd at HOST:PORT`. If no id is expected yet, this
    /// one is expected from now on.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if another id is expected, or if the store has none although one is expected.
    pub fn admit(&self, who: &str, found: Option<&StoreId>) -> Result<(), Error> {
        let mut known = self.lock();
        let ours = match (&self.wanted, &*known) {
            (Some(id), _) => Some((id, format!("the URL names the store {id}"))),
            (None, Known::Store(id, at)) => Some((id, format!("{at} is the store {id}"))),
            (None, _) => None,
        };
        match (ours, found) {
            (None, None) => Ok(()),
            (None, Some(found)) => {
                *known = Known::Store(found.clone(), who.to_owned());
                Ok(())
            }
            (Some((ours, _)), Some(found)) if ours == found => Ok(()),
            (Some((_, whose)), Some(found)) => Err(another(&format!(
                "{who} is another store, {found}: {whose}; with both, two could lead at once"
            ))),
            (Some((_, whose)), None) => Err(another(&format!(
                "{who} has no store id, so it is new, emptied, or another store: {whose} \
                 (a run whose URL has no {} gives it one)",
                StoreId::OPTION
            ))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn another(what: &str) -> Error {
    Error::new(ErrorKind::Unfit, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> StoreId {
        StoreId::read(text.as_bytes()).expect("an id")
    }

    const A: &str = "00000000000000a1";
    const B: &str = "00000000000000b2";

    #[test]
    fn ids_are_random_and_read_as_they_are_written() {
        let (one, other) = (StoreId::fresh(), StoreId::fresh());
        assert_ne!(one, other);
        assert_eq!(id(one.as_str()), one);
        for bad in ["", "a1", "00000000000000A1", "00000000000000a1 ", "000000000000000g"] {
            assert_eq!(StoreId::read(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_url_may_name_one() {
        let of = |query: &str| {
            let url = Url::parse(&format!("etcd://a{query}"), 1, &[StoreId::OPTION]);
            StoreId::of(&url.expect("a good URL"))
        };
        assert_eq!(of("").expect("none"), None);
        assert_eq!(of(&format!("?store-id={A}")).expect("one"), Some(id(A)));
        assert!(of("?store-id=a1").expect_err("too short").to_string().contains("16"));
    }

    #[test]
    fn the_first_store_is_ours_and_no_other() {
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
        let error = identity.admit("etcd at d", None).expect_err("none");
        assert!(error.to_string().contains("etcd at d has no store id"), "{error}");
    }

    #[test]
    fn the_urls_store_is_ours_from_the_start() {
        let identity = Identity::new(Some(id(A)));
        identity.admit("etcd at a", None).expect_err("no id yet");
        identity.admit("etcd at a", Some(&id(B))).expect_err("another");
        identity.admit("etcd at a", Some(&id(A))).expect("it is");
        assert!(identity.is_refused() && identity.is_readable());
    }

    #[test]
    fn who_may_not_ask_compares_nothing() {
        let identity = Identity::new(None);
        assert!(identity.is_readable() && !identity.is_refused() && !identity.is_readable());
        assert_eq!(identity.expected(), None);
    }
}
