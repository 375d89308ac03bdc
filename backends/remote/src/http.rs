//! A connection over which a client speaks HTTP/1.1.

use std::error::Error as StdError;

use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use crate::Stream;

/// The most bytes in the headers of an answer.
const LONGEST_HEADERS: usize = 64 << 10;

/// A connection that takes one request at a time. Dropped, it is closed.
#[derive(Debug)]
pub struct Http {
    sender: SendRequest<String>,
    /// Moves the bytes, and ends with the connection.
    task: JoinSet<hyper::Result<()>>,
}

/// The reason why a request has no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The request was not sent. It comes back for another attempt.
    Unsent(Box<Request<String>>, hyper::Error),
    /// The request may have been sent.
    Lost(hyper::Error),
}

/// The reason why the body of an answer was not read.
#[derive(Debug)]
pub enum Unread {
    /// It has more bytes than the caller takes.
    TooLong,
    /// The connection broke off.
    Lost(Box<dyn StdError + Send + Sync>),
}

impl Http {
    /// Begins to speak HTTP/1.1 on a new connection.
    ///
    /// # Errors
    /// The library refuses to begin.
    pub async fn over(stream: Stream) -> hyper::Result<Self> {
        let mut http = http1::Builder::new();
        let begun = http.max_buf_size(LONGEST_HEADERS).handshake(TokioIo::new(stream)).await;
        let (sender, connection) = begun?;
        let mut task = JoinSet::new();
        task.spawn(connection);
        Ok(Self { sender, task })
    }

    /// Returns whether it takes a request, as far as is known. Waits until the last answer was read.
    pub async fn is_ready(&mut self) -> bool {
        self.task.try_join_next().is_none() && self.sender.ready().await.is_ok()
    }

    /// Returns when the connection has ended.
    pub async fn ended(&mut self) {
        self.task.join_next().await;
    }

    /// Closes it, and returns when it has ended.
    pub async fn close(&mut self) {
        self.task.shutdown().await;
    }

    /// Sends a request once, and waits for the head of its answer.
    ///
    /// # Errors
    /// [`Unanswered`] tells whether the request was sent.
    ///
    /// # Cancellation
    /// The request may have been sent, and the connection takes no other.
    pub async fn ask(
        &mut self,
        request: Request<String>,
    ) -> Result<Response<Incoming>, Unanswered> {
        if let Err(error) = self.sender.ready().await {
            return Err(Unanswered::Unsent(Box::new(request), error));
        }
        let sent = self.sender.try_send_request(request).await;
        sent.map_err(|mut failed| match failed.take_message() {
            Some(request) => Unanswered::Unsent(Box::new(request), failed.into_error()),
            None => Unanswered::Lost(failed.into_error()),
        })
    }

    /// Reads the body of an answer, of at most so many bytes.
    ///
    /// # Errors
    /// [`Unread`].
    pub async fn body_of(answer: Response<Incoming>, longest: usize) -> Result<Bytes, Unread> {
        let body = Limited::new(answer.into_body(), longest).collect().await;
        body.map(Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() { Unread::TooLong } else { Unread::Lost(error) }
        })
    }
}
