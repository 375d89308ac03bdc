use std::sync::Arc;
use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind};
use zookeeper_client::Client;

use crate::dial::{dial, shorter_grant};
use crate::session::{self, Session};
use crate::settings::Settings;
use crate::task::Task;

/// A seat's way to the servers: its session, or the attempt to get one.
pub(crate) struct Link {
    settings: Arc<Settings>,
    /// What to ask for.
    timeout: Duration,
    dialing: Option<Dialing>,
    session: Option<Session>,
    /// Whether the servers grant what they did, asked after an interruption.
    audit: Option<Task<Option<String>>>,
    was_established: bool,
}

/// An attempt goes on while nobody waits for it: finding a living server among dead ones can take longer
/// than one call may. It is the call's attempt all the same, and counts from there.
struct Dialing {
    task: Task<Result<Client, Error>>,
    /// `None` for one that is to remove what is left of us, and to prove nothing.
    since: Option<Boottime>,
}

impl Link {
    pub(crate) const fn new(settings: Arc<Settings>, timeout: Duration) -> Self {
        Self {
            settings,
            timeout,
            dialing: None,
            session: None,
            audit: None,
            was_established: false,
        }
    }

    /// The session, as the call that began at `now` has it: made, if there is none.
    ///
    /// # Cancellation
    /// The attempt to get one goes on, and belongs to the next call.
    pub(crate) async fn session(&mut self, now: Boottime) -> Result<&mut Session, Error> {
        if self.session.is_none() {
            if self.dialing.as_ref().is_some_and(|dialing| dialing.since.is_none()) {
                self.dialing = None;
            }
            let (client, since) = self.dialed(Some(now)).await?;
            self.session = Some(Session::new(client, since.unwrap_or(now)));
            self.audit = None;
        }
        let session = self.session.as_mut().ok_or_else(no_session)?;
        session.begin(now);
        Ok(session)
    }

    /// A client to remove what is left of us: that of the session, if it lives, or of a new one, which the
    /// caller closes.
    pub(crate) async fn any_client(&mut self) -> Result<Client, Error> {
        if let Some(client) = self.session.as_ref().and_then(|session| session.client().ok()) {
            return Ok(client);
        }
        self.session = None;
        let (client, _) = self.dialed(None).await?;
        Ok(client)
    }

    /// How the session ended, if there was one and it did: said once.
    pub(crate) fn take_end(&mut self) -> Option<String> {
        let end = self.session.as_ref()?.client().err();
        if end.is_some() {
            self.session = None;
        }
        end
    }

    /// Why the session may end before its time, if that has come to light. After an interruption it may
    /// be with a server that has other limits; that is found out meanwhile, and told by a later call.
    pub(crate) async fn take_shortening(&mut self) -> Option<String> {
        let session = self.session.as_mut()?;
        if session.was_interrupted() {
            let settings = Arc::clone(&self.settings);
            self.audit = Some(Task::start(shorter_grant(settings, session.window)));
        }
        let audit = self.audit.as_mut().filter(|audit| audit.is_finished())?;
        let finding = audit.outcome().await.ok().flatten();
        self.audit = None;
        finding
    }

    /// The session that there is.
    pub(crate) const fn established(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }

    /// Closes whatever there is, and returns when the server has heard.
    pub(crate) async fn close(&mut self, client: Option<Client>) {
        self.dialing = None;
        let session = self.session.take();
        if let Some(session) = session {
            drop(client);
            session.close().await;
        } else if let Some(client) = client {
            session::close(client).await;
        }
    }

    async fn dialed(
        &mut self,
        since: Option<Boottime>,
    ) -> Result<(Client, Option<Boottime>), Error> {
        let dialing = self.dialing.get_or_insert_with(|| Dialing {
            task: Task::start(dial(
                Arc::clone(&self.settings),
                self.timeout,
                !self.was_established,
            )),
            since,
        });
        let since = dialing.since;
        let outcome = dialing.task.outcome().await;
        self.dialing = None;
        match outcome {
            Ok(Ok(client)) => {
                self.was_established = true;
                Ok((client, since))
            }
            Ok(Err(error)) => Err(error),
            Err(error) => Err(no_session().because(error)),
        }
    }
}

fn no_session() -> Error {
    Error::new(ErrorKind::Unreachable, "there is no session with ZooKeeper: trying again helps")
}
