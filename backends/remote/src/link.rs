//! The session in use with a database, and the place where the next one is opened.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elect_api::{Error, ErrorKind, StoreId};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{Identity, Place, Renewed, Tries};

/// The longest time for the answer to a request that was dropped.
const LATE_ANSWER: Duration = Duration::from_millis(500);

/// How sessions with one kind of database are opened.
pub trait Opener: Send + Sync + 'static {
    /// What a URL and the files that it names say. Two are equal if the files hold the same.
    type Address: PartialEq + Send + Sync + 'static;
    /// A connection that has logged in.
    type Session: Session;

    /// Reads a URL, and the files that it names.
    ///
    /// # Errors
    /// `Unfit` or `Denied`, with a message that names the wrong part.
    fn parse(url: &str) -> Result<Self::Address, Error>;

    /// The places of an address, to be tried in this order.
    fn places(address: &Self::Address) -> &[Place];

    /// The id of the store that the URL states.
    fn store(address: &Self::Address) -> Option<StoreId>;

    /// Opens a session with a server that accepts writes and is the store that `identity` expects.
    ///
    /// # Errors
    /// Why the server cannot be used; never `Ambiguous`.
    fn open(
        &self,
        address: &Self::Address,
        place: &Place,
        identity: &Identity,
    ) -> impl Future<Output = Result<Self::Session, Error>> + Send;
}

/// A connection that has logged in.
pub trait Session: Send + Sync {
    /// Whether it can still be used. It may ask the server, if an earlier answer is missing.
    fn is_alive(&self) -> impl Future<Output = bool> + Send;

    /// Ends the connection without a word.
    fn close(&self);
}

/// The way to a database: one session at a time, with the first place that accepts writes.
///
/// The first request opens a session. A request that was dropped before its answer makes the session suspect, and the
/// next request closes it if that answer does not come at last. So a dead connection takes one attempt.
pub struct Link<O: Opener>(Arc<Inner<O>>);

struct Inner<O: Opener> {
    opener: O,
    url: String,
    addresses: Renewed<O::Address>,
    identity: Identity,
    /// The place to begin with. An attempt that is cut off leaves the next one here.
    place: AtomicUsize,
    session: Mutex<Option<Arc<O::Session>>>,
    /// Held by the request that checks the session, or opens another.
    opening: tokio::sync::Mutex<()>,
    opened: Notify,
}

impl<O: Opener> Link<O> {
    /// Reads the URL. Nothing is sent.
    ///
    /// # Errors
    /// As [`Opener::parse`].
    pub fn new(url: &str, opener: impl FnOnce(&O::Address) -> O) -> Result<Self, Error> {
        let address = O::parse(url)?;
        Ok(Self(Arc::new(Inner {
            opener: opener(&address),
            url: url.to_owned(),
            identity: Identity::new(O::store(&address)),
            addresses: Renewed::new(address),
            place: AtomicUsize::new(0),
            session: Mutex::new(None),
            opening: tokio::sync::Mutex::new(()),
            opened: Notify::new(),
        })))
    }

    /// What opens the sessions.
    pub fn opener(&self) -> &O {
        &self.0.opener
    }

    /// The address as it served last.
    pub fn address(&self) -> Arc<O::Address> {
        self.0.addresses.known()
    }

    /// Which store is meant.
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// The session in use, or a new one.
    ///
    /// # Errors
    /// Why no place can be used; never `Ambiguous`.
    ///
    /// # Cancellation
    /// The next attempt begins with the next place.
    pub async fn session(&self) -> Result<Arc<O::Session>, Error> {
        // The task goes on while the caller is not polled, so no caller holds up others. It ends with the caller.
        let mut task = JoinSet::new();
        let inner = Arc::clone(&self.0);
        task.spawn(async move { inner.session().await });
        task.join_next().await.and_then(Result::ok).unwrap_or_else(|| {
            Err(Error::new(ErrorKind::Unreachable, "the attempt to connect was ended"))
        })
    }

    /// The session in use, if there is one. It may be dead.
    pub fn present(&self) -> Option<Arc<O::Session>> {
        self.0.present()
    }

    /// Ends when the next session is opened.
    pub fn opened(&self) -> Notified<'_> {
        self.0.opened.notified()
    }
}

impl<O: Opener> Inner<O> {
    async fn session(&self) -> Result<Arc<O::Session>, Error> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(session) = self.present() {
            if session.is_alive().await {
                return Ok(session);
            }
            session.close();
        }
        let session = Arc::new(self.open().await?);
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&session));
        self.opened.notify_waiters();
        Ok(session)
    }

    fn present(&self) -> Option<Arc<O::Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens a session with the first place that accepts writes.
    async fn open(&self) -> Result<O::Session, Error> {
        let url = self.url.clone();
        // Certificates of the system are many, and files may be slow.
        let read = tokio::task::spawn_blocking(move || O::parse(&url)).await;
        let read = read.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::Unreachable, "cannot read the settings").because(error))
        });
        let Tries { first, second, unread } = self.addresses.tries(|_| read);
        let refusal = match self.open_at_any(&first).await {
            Ok(session) => {
                self.addresses.keep(&first);
                return Ok(session);
            }
            Err(refusal) => refusal,
        };
        match (second, unread) {
            (Some(second), _) if refusal.kind() == ErrorKind::Denied => {
                self.open_at_any(&second).await.map_err(|_| refusal)
            }
            // The files were usable before, and may be again.
            (None, Some(unread)) => Err(unread.with_kind(ErrorKind::Unreachable)),
            _ => Err(refusal),
        }
    }

    async fn open_at_any(&self, address: &O::Address) -> Result<O::Session, Error> {
        let places = O::places(address);
        let begin = self.place.load(Ordering::Relaxed);
        let mut refusal: Option<Error> = None;
        for place in (0..places.len()).map(|step| (begin + step) % places.len()) {
            self.place.store((place + 1) % places.len(), Ordering::Relaxed);
            match self.opener.open(address, &places[place], &self.identity).await {
                Ok(session) => {
                    self.place.store(place, Ordering::Relaxed);
                    return Ok(session);
                }
                Err(error) => {
                    // What a person has to mend is worth more than what may pass.
                    let is_worse =
                        refusal.as_ref().is_none_or(|known| known.kind() == ErrorKind::Unreachable);
                    if is_worse {
                        refusal = Some(error);
                    }
                }
            }
        }
        Err(refusal.unwrap_or_else(|| Error::new(ErrorKind::Unfit, "the URL names no place")))
    }
}

/// What a session knows of its connection.
#[derive(Debug, Default)]
pub struct Pulse {
    /// A request was dropped before its answer.
    is_suspect: AtomicBool,
    /// The session is given up. The connection ends a moment later.
    is_over: AtomicBool,
}

impl Pulse {
    /// Waits for the answer to a request; `None` if it does not come within `limit`.
    ///
    /// # Cancellation
    /// The session is suspect, as after `None`.
    pub async fn answer<T>(&self, limit: Duration, request: impl Future<Output = T>) -> Option<T> {
        let unanswered = Unanswered(&self.is_suspect);
        let answer = timeout(limit, request).await.ok()?;
        std::mem::forget(unanswered);
        Some(answer)
    }

    /// Whether the session can still be used. A request that was dropped may hold up the next one, so if the session is
    /// suspect, the answer to `check` is awaited for a moment.
    pub async fn is_there(&self, check: impl Future<Output = bool>) -> bool {
        if self.is_over() || !self.is_suspect.swap(false, Ordering::Relaxed) {
            return !self.is_over();
        }
        let is_there = self.answer(LATE_ANSWER, check).await.unwrap_or(false);
        if !is_there {
            self.is_suspect.store(true, Ordering::Relaxed);
        }
        is_there
    }

    /// Whether the session is given up.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Notes that the session is given up.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Makes the session suspect, unless it is forgotten.
struct Unanswered<'a>(&'a AtomicBool);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
