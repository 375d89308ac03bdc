use std::sync::Arc;

use async_trait::async_trait;
use elect_api::{ElectionName, Error, ErrorKind, Wake};

use super::message::{Ask, Envelope, Op, Reply, Request};

/// How requests reach the store.
#[async_trait]
pub(super) trait Transport: Send + Sync {
    /// Sends one request and waits for its reply, without end if none comes.
    ///
    /// # Errors
    /// `Unreachable` if it was not sent; `Ambiguous` if it may have been.
    ///
    /// # Cancellation
    /// The request may be carried out all the same, now or later.
    async fn call(&self, envelope: Envelope) -> Result<Reply, Error>;
}

/// What one candidate, or nobody in particular, has of an election.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) election: ElectionName,
    pub(super) client: String,
}

impl Link {
    pub(super) async fn ask(&self, op: Op, ask: Ask) -> Result<Reply, Error> {
        let request = Request::In(self.election.clone(), ask);
        send(&*self.transport, Envelope { client: self.client.clone(), op, request }).await
    }

    /// Ends when the store has answered; never, if it cannot be asked.
    pub(super) fn wake(&self, ask: Ask) -> Wake {
        let link = self.clone();
        Box::pin(async move {
            if link.ask(Op::Watch, ask).await.is_err() {
                // To end would have the engine ask again and again a store that does not answer.
                std::future::pending::<()>().await;
            }
        })
    }
}

/// One request, with the failures that the store made up as errors.
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

/// The store broke its own protocol.
pub(super) fn unexpected(reply: &Reply) -> Error {
    Error::new(ErrorKind::Unfit, format!("the simulated store answered {reply:?}"))
}
