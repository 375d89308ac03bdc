//! What people ask of an election, as a seat follows it.

use elect_api::{Error, Versioned, Wake, never};
use zookeeper_client::{Error as Zk, SessionId};

use crate::cells::{self, Watched};
use crate::client::Client;
use crate::error::{Action, fault, loses_connection};
use crate::watch::NodeWatch;

/// The control cell of an election, as a seat has it.
pub(crate) struct Followed {
    path: String,
    control: Versioned,
    /// On what was read last, and in which session.
    watch: Option<(SessionId, NodeWatch)>,
}

impl Followed {
    pub(crate) const fn new(path: String) -> Self {
        Self { path, control: Versioned { bytes: None, version: 0 }, watch: None }
    }

    /// As it was found last.
    pub(crate) const fn control(&self) -> &Versioned {
        &self.control
    }

    /// Ends when something else is asked.
    pub(crate) fn wake(&self) -> Wake {
        self.watch.as_ref().map_or_else(never, |(_, watch)| watch.wake())
    }

    /// Takes a step whose first request makes a server catch up with the ensemble, and finds out what is
    /// asked by then. As long as the server has not told of a change it is read no more: it tells
    /// before it answers what came later. Where it has to be read, that is asked for behind the step, and
    /// no answer is waited for in between.
    pub(crate) async fn along<T>(
        &mut self,
        client: &Client,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let look = async {
            if self.is_current(client) {
                return None;
            }
            Some(cells::look(client, &self.path).await)
        };
        // The step is polled first, and so sent first.
        let (outcome, look) = tokio::join!(biased; step, look);
        let outcome = outcome?;
        let found = match look {
            None if self.is_current(client) => return Ok(outcome),
            // It went down with a connection that the step outlived.
            Some(Err(error)) if !loses_connection(&error) => Err(error),
            Some(Ok(found)) if found.watch.is_armed() => Ok(found),
            _ => cells::look(client, &self.path).await,
        };
        self.take(client, found)?;
        Ok(outcome)
    }

    fn is_current(&self, client: &Client) -> bool {
        let watch = self.watch.as_ref();
        watch.is_some_and(|(session, watch)| *session == client.session_id() && watch.is_armed())
    }

    fn take(&mut self, client: &Client, found: Result<Watched, Zk>) -> Result<(), Error> {
        self.watch = None;
        match found {
            Ok(Watched { cell, watch }) => {
                self.control = cell;
                self.watch = Some((client.session_id(), watch));
                Ok(())
            }
            // Whoever wrote it keeps it from us, and so does not ask us.
            Err(Zk::NoAuth) => Ok(()),
            Err(error) => Err(fault(Action::Read, &self.path, error)),
        }
    }
}
