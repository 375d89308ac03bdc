use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use elect_api::{Boottime, Error};

use crate::anchor::Calls;
use crate::client::Client;
use crate::dialer::no_session;
use crate::directory::Directory;
use crate::guid::Guid;
use crate::look::Look;
use crate::registry::Sharer;
use crate::session::Session;
use crate::sessions::{Sessions, SharedSession};

/// A seat's way to the servers: the session that it is in, which it shares with the other seats of its store.
///
/// A seat that is in a session stays in it until it has found out itself that it has ended, or has let it
/// go: so what it proves is never the work of a session that took its place.
pub(crate) struct SessionSeat {
    sessions: Arc<Sessions>,
    shared: Arc<SharedSession>,
    /// Which of the seats it is.
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

    /// The session, as the call that began at `now` has it: made, if there is none.
    ///
    /// # Cancellation
    /// The attempt to get one goes on, and belongs to the next call.
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

    /// Tells the other seats in the session what this one has in it, or may have.
    pub(crate) fn enrol(&self, client: &Client, asked: Boottime, at: &Directory, guids: Vec<Guid>) {
        if let Some(Joined { session, .. }) = &self.joined {
            let sharer = Sharer { asked, directory: at.clone(), guids };
            session.registry.enter(self.number, sharer, session.window, client);
        }
    }

    /// A client to remove what is left of us: that of the session, if it lives, or else of whoever looks. Of
    /// one that has ended the next call is told all the same: what it had is not to be proven by another.
    pub(crate) async fn any_client(&self) -> Result<Look, Error> {
        if let Some(look) = self.joined.as_ref().and_then(|joined| joined.session.look().ok()) {
            return Ok(look);
        }
        self.sessions.look().await
    }

    /// How the session ended, if there was one and it did: said once.
    pub(crate) fn take_end(&mut self) -> Option<String> {
        let end = self.joined.as_ref()?.client().err();
        if end.is_some() {
            self.joined = None;
        }
        end
    }

    /// Why the session may end before its time, if that has come to light.
    pub(crate) fn shortening(&self) -> Option<String> {
        self.joined.as_ref()?.session.shortening()
    }

    /// The session that there is.
    pub(crate) const fn established(&mut self) -> Option<&mut Joined> {
        self.joined.as_mut()
    }

    /// Nothing is left of us: lets the session go as [`SessionSeat::abandon`] does.
    pub(crate) async fn leave(&mut self) {
        self.strike();
        self.abandon().await;
    }

    /// Nothing is left of us, and the server has said so: lets the session go. If we are the last to do so it is
    /// closed meanwhile, or ends by itself. Nobody waits for that.
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

    /// Lets the session go, whatever is left of us there. The last to do so closes it, and returns when the
    /// server has heard.
    pub(crate) async fn abandon(&mut self) {
        if let Some(Joined { session, .. }) = self.joined.take()
            && let Some(session) = Arc::into_inner(session)
        {
            session.close().await;
        }
    }
}

impl Joined {
    /// What it is used by.
    ///
    /// # Errors
    /// How it ended.
    pub(crate) fn client(&self) -> Result<Client, String> {
        self.session.client()
    }

    /// What the nodes of this session have as their owner.
    pub(crate) fn id(&self) -> i64 {
        self.session.id
    }

    /// S, as the server granted it.
    pub(crate) fn window(&self) -> Duration {
        self.session.window
    }

    /// A request of the call that began at `sent` was acknowledged.
    pub(crate) fn acknowledged(&mut self, sent: Boottime) {
        self.calls.acknowledged(sent);
    }

    /// A quorum write of the call that began at `sent` was acknowledged.
    pub(crate) fn confirmed(&mut self, sent: Boottime) {
        self.session.confirmed(sent, &mut self.calls);
    }

    /// From when on the session is proven to run, for the call that began at `now`.
    pub(crate) fn proven(&self, now: Boottime) -> Boottime {
        self.session.proven().min(now)
    }
}
