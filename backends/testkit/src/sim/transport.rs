use std::sync::Arc;

use async_trait::async_trait;
use elect_api::{ElectionName, Error, ErrorKind, Wake};

use super::message::{Ask, Envelope, Op, Reply, Request};

/// The way by which requests reach the store.
#[async_trait]
pub(super) trait Transport: Send + Sync {
    /// Sends one request and waits for its reply. Waits for ever if none arrives.
    ///
    /// # Errors
    /// `Unreachable` if the request was not sent. `Ambiguous` if it may have been.
    ///
    /// # Cancellation
    /// The request may still be carried out, now or later.
    async fn call(&self, envelope: Envelope) -> Result<Reply, Error>;
}

/// The connection of one client to an election. The client need not be a candidate.
#[derive(Clone)]
pub(super) struct ElectionClient {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) election: ElectionName,
    pub(super) client: String,
}

impl ElectionClient {
    pub(super) async fn ask(&self, op: Op, ask: Ask) -> Result<Reply, Error> {
        let request = Request::In(self.election.clone(), ask);
        send(&*self.transport, Envelope { client: self.client.clone(), op, request }).await
    }

    /// Returns a wake that ends when the store has answered. It never ends if the store cannot be
    /// asked.
    pub(super) fn wake(&self, ask: Ask) -> Wake {
        let link = self.clone();
        Box::pin(async move {
            if link.ask(Op::Watch, ask).await.is_err() {
                // If the wake ended here, the engine would ask a silent store again and again.
                std::future::pending::<()>().await;
            }
        })
    }
}

/// Sends one request, and returns the failures that the store simulates as errors.
pub(super) async fn send(transport: &dyn Transport, envelope: Envelope) -> Result<Reply, Error> {
    match transport.call(envelope).await? {
        Reply::Refused => {
            Err(Error::new(ErrorKind::Unreachable, "the simulated store refuses the connection"))
        }
        Reply::Broken => {
            Err(Error::new(ErrorKind::Ambiguous, "the connection to the simulated store broke"))
        }
        Reply::Unfit => Err(Error::new(
            ErrorKind::Unfit,
            "the simulated store is of another kind than its URL says",
        )),
        reply => Ok(reply),
    }
}

/// Returns the error for an answer that breaks the store's own protocol.
pub(super) fn unexpected(reply: &Reply) -> Error {
    Error::new(ErrorKind::Unfit, format!("the simulated store answered {reply:?}"))
}
