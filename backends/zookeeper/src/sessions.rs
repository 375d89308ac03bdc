use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use elect_api::{Boottime, Error};

use crate::client::Client;
use crate::dialer::Dialer;
use crate::login::Login;
use crate::observer::Observer;
use crate::session::Session;
use crate::settings::Settings;
use crate::task::lock;

/// The timeout of a session that only reads and redeems tickets. It has no entry, so no candidate waits for its end.
const OBSERVER_TIMEOUT: Duration = Duration::from_secs(10);

/// The sessions of one store. The seats have one for each TTL, which observers use too. Observers have a separate one
/// only while no seat has a session.
pub(crate) struct Sessions {
    settings: Arc<Settings>,
    by_ttl: Mutex<HashMap<Duration, Arc<SharedSession>>>,
    observer_dialer: Dialer<()>,
    observer: Mutex<Option<Observer>>,
}

/// The part that all seats with the same TTL share.
pub(crate) struct SharedSession {
    dialer: Dialer<Boottime>,
    /// The last session. The seats own it, and it ends with the last of them.
    session: Mutex<Weak<Session>>,
}

impl Sessions {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self {
            by_ttl: Mutex::default(),
            observer_dialer: Dialer::new(Arc::clone(&settings), OBSERVER_TIMEOUT),
            observer: Mutex::default(),
            settings,
        }
    }

    /// The login, if there is one.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.settings.login.as_ref()
    }

    /// Returns the part that the seats with this TTL share.
    pub(crate) fn shared(&self, ttl: Duration) -> Arc<SharedSession> {
        let new = || SharedSession {
            dialer: Dialer::new(Arc::clone(&self.settings), ttl),
            session: Mutex::default(),
        };
        Arc::clone(lock(&self.by_ttl).entry(ttl).or_insert_with(|| Arc::new(new())))
    }

    /// Returns the session that these seats share, for the call that began at `now`. Makes it if there is none.
    ///
    /// # Cancellation
    /// The attempt to get one goes on, and the next call uses it.
    pub(crate) async fn session(
        &self,
        shared: &SharedSession,
        now: Boottime,
    ) -> Result<Arc<Session>, Error> {
        let make = |client, since| {
            let session = Arc::new(Session::new(Arc::clone(&self.settings), &client, since));
            *lock(&shared.session) = Arc::downgrade(&session);
            // Observers use this session from now on.
            lock(&self.observer).take();
            session
        };
        shared.dialer.get(now, || shared.session(), make).await
    }

    /// Returns a client for an observer.
    pub(crate) async fn observer(&self) -> Result<Observer, Error> {
        let make = |client: Client, ()| {
            self.observer_by_seats().unwrap_or_else(|| {
                let observer = Observer::new(client, Arc::default());
                *lock(&self.observer) = Some(observer.clone());
                observer
            })
        };
        self.observer_dialer.get((), || self.observer_at_hand(), make).await
    }

    fn observer_at_hand(&self) -> Option<Observer> {
        let serves = |observer: &Observer| {
            let is_known = self.login().is_none_or(|login| observer.is_up_to_date(login));
            is_known && !observer.state().is_terminated() && !observer.has_fallen()
        };
        let own = || lock(&self.observer).clone().filter(serves);
        self.observer_by_seats().or_else(own)
    }

    fn observer_by_seats(&self) -> Option<Observer> {
        let by_ttl = lock(&self.by_ttl);
        by_ttl.values().find_map(|shared| shared.session()?.observer().ok())
    }
}

impl SharedSession {
    /// Returns the present session, if new seats may join it.
    fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).upgrade().filter(|session| session.is_open())
    }

    /// Ends the attempt to get a session, if no call waits for it.
    pub(crate) fn hang_up(&self) {
        self.dialer.hang_up();
    }
}
