//! The control cell of an election, as a seat follows it.

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
    /// The watch on the cell as it was read last, and its session.
    watch: Option<(SessionId, NodeWatch)>,
}

impl Followed {
    pub(crate) const fn new(path: String) -> Self {
        Self { path, control: Versioned { bytes: None, version: 0 }, watch: None }
    }

    /// The cell as it was read last.
    pub(crate) const fn control(&self) -> &Versioned {
        &self.control
    }

    /// Returns a wake that ends when the cell changes.
    pub(crate) fn wake(&self) -> Wake {
        self.watch.as_ref().map_or_else(never, |(_, watch)| watch.wake())
    }

    /// Carries out a step whose first request makes a server catch up with the ensemble, and brings the cell up to
    /// date. The cell is not read again until the server reports a change. The server sends that report before it
    /// answers later requests. If the cell must be read, the request follows the step at once, without waiting for an
    /// answer.
    pub(crate) async fn along<T>(
        &mut self,
        client: &Client,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let look = async {
            if self.is_current(client) {
                return None;
            }
            Some(cells::read_watched(client, &self.path).await)
        };
        // The step is polled first, and so sent first.
        let (outcome, look) = tokio::join!(biased; step, look);
        let outcome = outcome?;
        let found = match look {
            None if self.is_current(client) => return Ok(outcome),
            // The read was lost with a connection that the step outlived.
            Some(Err(error)) if !loses_connection(&error) => Err(error),
            Some(Ok(found)) if found.watch.is_armed() => Ok(found),
            _ => cells::read_watched(client, &self.path).await,
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
            // The cell's writer keeps it from this user, so its requests do not concern this user.
            Err(Zk::NoAuth) => Ok(()),
            Err(error) => Err(fault(Action::Read, &self.path, error)),
        }
    }
}
