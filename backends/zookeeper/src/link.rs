use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use elect_api::{Boottime, Error};

use crate::anchor::Calls;
use crate::client::Client;
use crate::dialer::no_session;
use crate::directory::Directory;
use crate::guid::Guid;
use crate::observer::Observer;
use crate::registry::Sharer;
use crate::session::Session;
use crate::sessions::{Sessions, SharedSession};

/// A seat's part in the session that it shares with the other seats of its store.
///
/// A seat stays in a session until it has found out itself that the session has ended, or has left it. So its proofs
/// never come from a session that replaced the old one.
pub(crate) struct SessionSeat {
    sessions: Arc<Sessions>,
    shared: Arc<SharedSession>,
    /// The number of the seat.
    number: u64,
    joined: Option<Joined>,
}

/// A seat's part in a session.
pub(crate) struct Joined {
    session: Arc<Session>,
    calls: Calls,
}

impl SessionSeat {
    pub(crate) fn new(sessions: Arc<Sessions>, timeout: Duration) -> Self {
        static SEATS: AtomicU64 = AtomicU64::new(0);
        let shared = sessions.shared(timeout);
        let number = SEATS.fetch_add(1, Ordering::Relaxed);
        Self { sessions, shared, number, joined: None }
    }

    /// Returns the session for the call that began at `now`. Makes it if there is none.
    ///
    /// # Cancellation
    /// The attempt to get one goes on, and the next call uses it.
    pub(crate) async fn session(&mut self, now: Boottime) -> Result<&mut Joined, Error> {
        if self.joined.is_none() {
            let session = self.sessions.session(&self.shared, now).await?;
            self.joined = Some(Joined { session, calls: Calls::default() });
        }
        let joined = self.joined.as_mut().ok_or_else(no_session)?;
        joined.session.begin(now, &mut joined.calls);
        if let (Some(login), Ok(client)) = (self.sessions.login(), joined.client()) {
            client.log_in(login).await;
        }
        Ok(joined)
    }

    /// Tells the other seats in the session which entries this one has, or may have.
    pub(crate) fn enrol(&self, client: &Client, asked: Boottime, at: &Directory, guids: Vec<Guid>) {
        if let Some(Joined { session, .. }) = &self.joined {
            let sharer = Sharer { asked, directory: at.clone(), guids };
            session.registry.enter(self.number, sharer, session.window, client);
        }
    }

    /// Returns a client to remove this seat's nodes: that of the session, if it lives, or else an observer's. The end
    /// of a session is still reported to the next call: another session must not prove the old entries.
    pub(crate) async fn any_client(&self) -> Result<Observer, Error> {
        if let Some(observer) =
            self.joined.as_ref().and_then(|joined| joined.session.observer().ok())
        {
            return Ok(observer);
        }
        self.sessions.observer().await
    }

    /// Returns how the session ended, if it did. Reports that once.
    pub(crate) fn take_end(&mut self) -> Option<String> {
        let end = self.joined.as_ref()?.client().err();
        if end.is_some() {
            self.joined = None;
        }
        end
    }

    /// Returns why the session may end early, if that is known.
    pub(crate) fn shortening(&self) -> Option<String> {
        self.joined.as_ref()?.session.shortening()
    }

    /// The present session.
    pub(crate) const fn established(&mut self) -> Option<&mut Joined> {
        self.joined.as_mut()
    }

    /// Leaves the session as [`SessionSeat::abandon`] does. The seat has no nodes left.
    pub(crate) async fn leave(&mut self) {
        self.strike();
        self.abandon().await;
    }

    /// Leaves the session after the server has confirmed that the seat has no nodes left. The last seat to leave closes
    /// it meanwhile, or it ends by itself. The call does not wait for that.
    pub(crate) fn part(&mut self) {
        self.strike();
        self.joined = None;
    }

    fn strike(&self) {
        match &self.joined {
            Some(Joined { session, .. }) => session.registry.strike(self.number),
            None => self.shared.hang_up(),
        }
    }

    /// Leaves the session, whatever nodes the seat still has there. The last seat to leave closes it, and returns when
    /// the server has received that.
    pub(crate) async fn abandon(&mut self) {
        if let Some(Joined { session, .. }) = self.joined.take()
            && let Some(session) = Arc::into_inner(session)
        {
            session.close().await;
        }
    }
}

impl Joined {
    /// Returns the client of the session.
    ///
    /// # Errors
    /// The reason why the session has ended.
    pub(crate) fn client(&self) -> Result<Client, String> {
        self.session.client()
    }

    /// The owner of this session's ephemeral nodes.
    pub(crate) fn id(&self) -> i64 {
        self.session.id
    }

    /// S, as the server granted it.
    pub(crate) fn window(&self) -> Duration {
        self.session.window
    }

    /// Records that a request of the call that began at `sent` was acknowledged.
    pub(crate) fn acknowledged(&mut self, sent: Boottime) {
        self.calls.acknowledged(sent);
    }

    /// Records that a quorum write of the call that began at `sent` was acknowledged.
    pub(crate) fn confirmed(&mut self, sent: Boottime) {
        self.session.confirmed(sent, &mut self.calls);
    }

    /// The instant from which the session is proven to run, for the call that began at `now`.
    pub(crate) fn proven(&self, now: Boottime) -> Boottime {
        self.session.proven().min(now)
    }
}
