use std::sync::{Arc, Mutex, PoisonError};

use elect_api::Error;
use elect_api::remote::{Credentials, Tls};

/// How members are talked to: who we are to them, and whom we trust.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) credentials: Option<Credentials>,
    /// `None` for connections in the clear.
    pub(crate) tls: Option<Tls>,
}

impl Access {
    /// The same, with what is in the files by now.
    ///
    /// # Errors
    /// As [`Credentials::again`] and [`Tls::again`].
    fn again(&self) -> Result<Self, Error> {
        Ok(Self {
            credentials: self.credentials.as_ref().map(Credentials::again).transpose()?,
            tls: self.tls.as_ref().map(Tls::again).transpose()?,
        })
    }
}

/// What the members took last, to be followed by what the files say now.
///
/// Files and servers are renewed one after the other, in any order: a member that does not take what is new may
/// still take what is old.
pub(crate) struct Accesses(Mutex<Arc<Access>>);

/// What to try with one member, in this order.
pub(crate) struct Tries {
    pub(crate) first: Arc<Access>,
    pub(crate) second: Option<Arc<Access>>,
    /// Why the files say nothing.
    pub(crate) unread: Option<Error>,
}

impl Accesses {
    pub(crate) fn new(first: Access) -> Self {
        Self(Mutex::new(Arc::new(first)))
    }

    /// What was taken last, or is to be tried first.
    pub(crate) fn known(&self) -> Arc<Access> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A member took this one.
    pub(crate) fn keep(&self, taken: &Arc<Access>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(taken);
    }

    /// Reads the files anew.
    pub(crate) fn tries(&self) -> Tries {
        let known = self.known();
        match known.again() {
            Ok(same) if same == *known => Tries { first: known, second: None, unread: None },
            Ok(fresh) => Tries { first: Arc::new(fresh), second: Some(known), unread: None },
            Err(error) => Tries { first: known, second: None, unread: Some(error) },
        }
    }
}
