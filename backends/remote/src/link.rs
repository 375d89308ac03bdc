//! The session in use with a database, and the place where the next one is opened.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elect_api::{Cadence, Clock, Error, ErrorKind, Examination, Lease, Order, Profile, count_trip};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::{
    Address, Destination, Failure, Identity, Measured, Product, Refusal, Renewed, Respondent,
    Round, Tries, Variable, Witness, measure, unfit,
};

/// The longest time for a name, a connection, TLS and the login together. The engine cuts its own attempts sooner, as a
/// rule.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time for one answer, for callers that have no limit of their own.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time for the answer to a request that was dropped.
const LATE_ANSWER: Duration = Duration::from_millis(500);

/// Opens sessions with one kind of database.
pub trait Opener: Send + Sync + 'static {
    /// A connection that has logged in.
    type Session: Session;
    /// The answer of a server about its settings and its load.
    type State: Send;

    /// Reads a URL, and the files that it names.
    ///
    /// # Errors
    /// `Unfit` or `Denied`, with a message that names the wrong part.
    fn parse(url: &str, variable: Variable<'_>) -> Result<Address, Error>;

    /// Connects, logs in, and asks the server who it is. The caller ends this after 5 s.
    ///
    /// # Errors
    /// Why the server cannot be used.
    fn log_in(
        &self,
        address: &Address,
        destination: &Destination,
        witness: &Witness,
    ) -> impl Future<Output = Result<Self::Session, FailureOf<Self::Session>>> + Send;

    /// Checks that the server accepts writes, and is the store that `identity` expects.
    ///
    /// # Errors
    /// Why the server cannot be used; never `Ambiguous`.
    fn admit(&self, session: &Self::Session, identity: &Identity) -> Result<(), Error>;

    /// Asks a server about its settings and its load, for `elect doctor`.
    fn state(
        &self,
        session: &Self::Session,
    ) -> impl Future<Output = Result<Self::State, FailureOf<Self::Session>>> + Send;

    /// The lines of `elect doctor` about a server that has answered so.
    fn examine(
        &self,
        session: &Self::Session,
        state: Self::State,
    ) -> impl Future<Output = Respondent> + Send;
}

/// A connection that has logged in.
pub trait Session: Send + Sync {
    /// An answer that is an error.
    type Refusal: Refusal;

    /// The kind of database.
    const PRODUCT: Product;

    /// The place, for messages.
    fn place(&self) -> &str;

    /// The state of its connection, as far as it is known.
    fn pulse(&self) -> &Pulse;

    /// Returns whether the connection has not ended.
    fn is_connected(&self) -> bool;

    /// Asks the server whether it is there.
    fn check(&self) -> impl Future<Output = bool> + Send;

    /// Returns whether it is not given up, and its connection has not ended.
    fn is_open(&self) -> bool {
        self.is_connected() && !self.pulse().is_over.load(Ordering::Relaxed)
    }

    /// Ends the connection without a word.
    fn close(&self) {
        self.pulse().end();
    }

    /// The error of an answer that is well, and that this version of elect cannot read.
    fn odd(&self, doing: &str) -> Error {
        let name = Self::PRODUCT.at(self.place());
        unfit(format!("{doing}: {name} gives an answer that is not understood"))
    }

    /// The error of a statement that failed. `doing` says what it was for, as in `cannot read the row x/leader`. A
    /// server that takes no writes is left, so that the next request tries others.
    fn failed(&self, doing: &str, failure: &FailureOf<Self>, is_write: bool) -> Error {
        let what = format!("{doing} in {}", Self::PRODUCT.at(self.place()));
        let unreachable = |why| Error::new(ErrorKind::Unreachable, format!("{what}: {why}"));
        if failure.refusal().is_some_and(Refusal::is_of_a_replica) {
            self.pulse().leave();
        }
        let error = match failure {
            Failure::Refused(refusal) => refusal.error(what, ""),
            Failure::Silent => unreachable("no answer"),
            Failure::Odd(why) => unreachable("the answer is not understood").because(*why),
            Failure::Lost(why) => unreachable("the connection was lost").because(why.as_str()),
            Failure::Unsent | Failure::Way(_) => unreachable("the connection was lost"),
        };
        if is_write && failure.is_unclear() { error.with_kind(ErrorKind::Ambiguous) } else { error }
    }
}

/// Why such a session has no answer.
pub type FailureOf<S> = Failure<<S as Session>::Refusal>;

/// The way to a database: one session at a time, with the first place that accepts writes.
///
/// The first request opens a session. A request that was dropped before its answer makes the session suspect, and the
/// next request closes it if that answer does not come at last. So a dead connection takes one attempt.
pub struct Link<O: Opener>(Arc<Inner<O>>);

impl<O: Opener> Clone for Link<O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<O: Opener> {
    opener: O,
    url: String,
    addresses: Renewed<Address>,
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
    pub fn new(url: &str, opener: impl FnOnce(&Address) -> O) -> Result<Self, Error> {
        let address = parse::<O>(url)?;
        Ok(Self(Arc::new(Inner {
            opener: opener(&address),
            url: url.to_owned(),
            identity: Identity::new(address.store.clone()),
            addresses: Renewed::new(address),
            place: AtomicUsize::new(0),
            session: Mutex::new(None),
            opening: tokio::sync::Mutex::new(()),
            opened: Notify::new(),
        })))
    }

    /// The opener of the sessions.
    pub fn opener(&self) -> &O {
        &self.0.opener
    }

    /// The address as it served last.
    pub fn address(&self) -> Arc<Address> {
        self.0.addresses.known()
    }

    /// The profile of the store, whose leases candidates judge by their own clocks.
    pub fn profile(&self) -> Profile {
        let (address, lease) = (self.address(), Lease::Timed(Cadence::RECORD));
        let scheme = O::Session::PRODUCT.scheme;
        let profile = Profile::new(scheme, address.location.clone(), lease, Order::Queue);
        let (cautions, id) = (address.cautions.clone(), self.0.identity.expected());
        let checks_names = address.encryption.checks_names();
        Profile { cautions, id, checks_names, ..profile }
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

    /// Another session with the place in use, for the caller alone.
    ///
    /// # Errors
    /// Why that place cannot be used.
    ///
    /// # Cancellation
    /// Leaves nothing behind.
    pub async fn beside(&self) -> Result<O::Session, Error> {
        let (address, place) = (self.address(), self.0.place.load(Ordering::Relaxed));
        let session = self.0.log_in(&address, &address.destinations[place]).await?;
        self.0.opener.admit(&session, &self.0.identity).map(|()| session)
    }

    /// Asks all servers at once how they are.
    pub async fn examine(&self, clock: &Clock) -> Examination {
        let address = self.address();
        let ways: Vec<_> = address.destinations.iter().map(|place| &place.way).collect();
        let round = Round::visit(ways, |place, _| {
            let (inner, clock) = (Arc::clone(&self.0), Arc::clone(clock));
            let address = Arc::clone(&address);
            async move { inner.visit(&address, &address.destinations[place], &clock).await }
        });
        round.await.examination(O::Session::PRODUCT.name)
    }

    /// The session in use, if it is open.
    pub fn present(&self) -> Option<Arc<O::Session>> {
        self.0.present().filter(|session| session.is_open())
    }

    /// Ends when the next session is opened, from this call on.
    pub fn reopened(&self) -> impl Future<Output = ()> + use<'_, O> {
        self.0.opened.notified()
    }

    /// The session in use; `None` once another call has opened one, whose notices begin later. A caller need not be
    /// polled until then.
    pub async fn awaited(&self) -> Option<Arc<O::Session>> {
        let mut opened = pin!(self.0.opened.notified());
        // A session that is opened from here on is noticed.
        opened.as_mut().enable();
        let present = self.present();
        if present.is_none() {
            opened.await;
        }
        present
    }
}

impl<O: Opener> Inner<O> {
    async fn session(&self) -> Result<Arc<O::Session>, Error> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(session) = self.present() {
            if is_alive(&*session).await {
                return Ok(session);
            }
            session.close();
            if session.pulse().is_left.swap(false, Ordering::Relaxed) {
                // It would be the first one to be tried, and may still say that it takes writes.
                let destinations = self.addresses.known().destinations.len().max(1);
                let next = (self.place.load(Ordering::Relaxed) + 1) % destinations;
                self.place.store(next, Ordering::Relaxed);
            }
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
        let read = tokio::task::spawn_blocking(move || parse::<O>(&url)).await;
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
            // The server may still ask for what the files held before. Its refusal may look like a broken connection.
            (Some(second), _) => self.open_at_any(&second).await.map_err(|_| refusal),
            // The files were usable before, and may be again.
            (None, Some(unread)) => Err(unread.with_kind(ErrorKind::Unreachable)),
            (None, None) => Err(refusal),
        }
    }

    async fn open_at_any(&self, address: &Address) -> Result<O::Session, Error> {
        let destinations = &address.destinations;
        let begin = self.place.load(Ordering::Relaxed);
        let mut refusal: Option<Error> = None;
        for place in (0..destinations.len()).map(|step| (begin + step) % destinations.len()) {
            self.place.store((place + 1) % destinations.len(), Ordering::Relaxed);
            let opened = self.log_in(address, &destinations[place]).await;
            let admitted = opened
                .and_then(|session| self.opener.admit(&session, &self.identity).map(|()| session));
            match admitted {
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
        Err(refusal.unwrap_or_else(|| unfit("the URL names no place")))
    }

    async fn log_in(
        &self,
        address: &Address,
        destination: &Destination,
    ) -> Result<O::Session, Error> {
        let (name, witness) = (destination.way.to_string(), Witness::default());
        let opened = Box::pin(self.opener.log_in(address, destination, &witness));
        let opened = timeout(CONNECT_TIMEOUT, opened).await.unwrap_or(Err(Failure::Silent));
        let login = destination.login(&address.user, O::Session::PRODUCT.password);
        opened.map_err(|failure| O::Session::PRODUCT.unconnected(&name, &failure, &witness, &login))
    }

    async fn visit(
        &self,
        address: &Address,
        destination: &Destination,
        clock: &Clock,
    ) -> Result<(Duration, Respondent), Error> {
        let session = self.log_in(address, destination).await?;
        let measured = measure(clock, || self.opener.state(&session)).await;
        let silent = || {
            let name = O::Session::PRODUCT.at(session.place());
            let what = format!("{name} lets us in, and then does not answer");
            Error::new(ErrorKind::Unreachable, what)
        };
        let Measured { round_trip, last } = measured.map_err(|_| silent())?;
        let examined = timeout(crate::ANSWER_TIMEOUT, self.opener.examine(&session, last)).await;
        Ok((round_trip, examined.map_err(|_| silent())?))
    }
}

/// Returns whether a session can still be used. A request that was dropped may hold up the next one, so if the session
/// is suspect, the answer of the server is awaited for a moment.
async fn is_alive(session: &impl Session) -> bool {
    let Pulse { is_suspect, .. } = session.pulse();
    if !session.is_open() || !is_suspect.swap(false, Ordering::Relaxed) {
        return session.is_open();
    }
    count_trip("check");
    let is_there = session.pulse().answer(LATE_ANSWER, session.check()).await.unwrap_or(false);
    if !is_there {
        is_suspect.store(true, Ordering::Relaxed);
    }
    is_there
}

fn parse<O: Opener>(url: &str) -> Result<Address, Error> {
    O::parse(url, &|name| std::env::var(name).ok())
}

/// The state of a session's connection, which a task drives.
#[derive(Debug)]
pub struct Pulse {
    /// A request was dropped before its answer.
    is_suspect: AtomicBool,
    /// The session is given up. The connection ends a moment later.
    is_over: AtomicBool,
    /// The place took no writes, so that the next attempt begins with another one.
    is_left: AtomicBool,
    driver: AbortHandle,
}

impl Pulse {
    /// The pulse of a connection that this task drives. It ends the task when it is dropped.
    pub const fn of(driver: AbortHandle) -> Self {
        let [is_suspect, is_over, is_left] = [const { AtomicBool::new(false) }; 3];
        Self { is_suspect, is_over, is_left, driver }
    }

    /// Waits for the answer to a request, for 10 s at most.
    ///
    /// # Errors
    /// The failure of the request; `Silent` if no answer comes in time.
    ///
    /// # Cancellation
    /// The session is suspect, as after `Silent`.
    pub async fn ask<T, R>(
        &self,
        request: impl Future<Output = Result<T, Failure<R>>>,
    ) -> Result<T, Failure<R>> {
        self.answer(ANSWER_TIMEOUT, request).await.unwrap_or(Err(Failure::Silent))
    }

    async fn answer<T>(&self, limit: Duration, request: impl Future<Output = T>) -> Option<T> {
        let unanswered = Unanswered(&self.is_suspect);
        let answer = timeout(limit, request).await.ok()?;
        std::mem::forget(unanswered);
        Some(answer)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.driver.abort();
    }

    fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
        self.end();
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.end();
    }
}

/// Makes the session suspect, unless it is forgotten.
struct Unanswered<'a>(&'a AtomicBool);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
