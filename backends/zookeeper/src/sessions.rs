use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use elect_api::{Boottime, Error};

use crate::client::Client;
use crate::dialer::Dialer;
use crate::login::Login;
use crate::look::Look;
use crate::session::Session;
use crate::settings::Settings;
use crate::task::lock;

/// For a session that only looks and redeems. It has no entry, so that nobody waits for its end.
const LOOKING: Duration = Duration::from_secs(10);

/// The sessions of one store: that of its seats, one for each TTL that they ask for, which whoever looks uses
/// too; and only where no seat has one, one that looks.
pub(crate) struct Sessions {
    settings: Arc<Settings>,
    by_ttl: Mutex<HashMap<Duration, Arc<SharedSession>>>,
    glances: Dialer<()>,
    looking: Mutex<Option<Look>>,
}

/// What the seats have in common that ask for the same TTL.
pub(crate) struct SharedSession {
    dialer: Dialer<Boottime>,
    /// The last session. It is theirs: with the last seat that is in it, it ends.
    session: Mutex<Weak<Session>>,
}

impl Sessions {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self {
            by_ttl: Mutex::default(),
            glances: Dialer::new(Arc::clone(&settings), LOOKING),
            looking: Mutex::default(),
            settings,
        }
    }

    /// Who we are, if we are anybody.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.settings.login.as_ref()
    }

    /// That of the seats that ask for this TTL.
    pub(crate) fn shared(&self, ttl: Duration) -> Arc<SharedSession> {
        let new = || SharedSession {
            dialer: Dialer::new(Arc::clone(&self.settings), ttl),
            session: Mutex::default(),
        };
        Arc::clone(lock(&self.by_ttl).entry(ttl).or_insert_with(|| Arc::new(new())))
    }

    /// The session that these seats share, as the call that began at `now` has it: made, if there is none.
    ///
    /// # Cancellation
    /// The attempt to get one goes on, and belongs to the next call.
    pub(crate) async fn session(
        &self,
        shared: &SharedSession,
        now: Boottime,
    ) -> Result<Arc<Session>, Error> {
        let make = |client, since| {
            let session = Arc::new(Session::new(Arc::clone(&self.settings), &client, since));
            *lock(&shared.session) = Arc::downgrade(&session);
            // It looks with this one from now on.
            lock(&self.looking).take();
            session
        };
        shared.dialer.get(now, || shared.session(), make).await
    }

    /// For whoever looks.
    pub(crate) async fn look(&self) -> Result<Look, Error> {
        let make = |client: Client, ()| {
            self.look_by_seats().unwrap_or_else(|| {
                let look = Look::new(client, Arc::default());
                *lock(&self.looking) = Some(look.clone());
                look
            })
        };
        self.glances.get((), || self.look_at_hand(), make).await
    }

    fn look_at_hand(&self) -> Option<Look> {
        let serves = |look: &Look| {
            let is_known = self.login().is_none_or(|login| look.is_up_to_date(login));
            is_known && !look.state().is_terminated() && !look.has_fallen()
        };
        let own = || lock(&self.looking).clone().filter(serves);
        self.look_by_seats().or_else(own)
    }

    fn look_by_seats(&self) -> Option<Look> {
        let by_ttl = lock(&self.by_ttl);
        by_ttl.values().find_map(|shared| shared.session()?.look().ok())
    }
}

impl SharedSession {
    /// The session that there is, if it will do for whoever comes.
    fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).upgrade().filter(|session| session.is_open())
    }

    /// Ends the attempt to get one, if nobody waits for it.
    pub(crate) fn hang_up(&self) {
        self.dialer.hang_up();
    }
}
