//! A connection with an agent or a server. It takes one request at a time.

use elect_remote::{Address, Place, Way, Witness};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use crate::error::{Failure, Refusal};

/// The most bytes in an answer. The rows of a transaction are not longer.
const LONGEST: usize = 64 << 20;
/// The most bytes in the headers of an answer.
const LONGEST_HEADERS: usize = 64 << 10;
/// The header with the index of the newest change of what was asked for.
const INDEX: &str = "x-consul-index";

/// A connection. Dropped, it is closed.
pub(crate) struct Http {
    sender: SendRequest<String>,
    host: String,
    token: Option<HeaderValue>,
    /// Moves the bytes, and ends with the connection.
    task: JoinSet<hyper::Result<()>>,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: String,
}

/// A good answer, or one that tells why nothing was done.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) index: Option<u64>,
    pub(crate) body: Bytes,
}

impl Question {
    pub(crate) fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: String::new() }
    }

    pub(crate) fn put(path: String, body: String) -> Self {
        Self { method: Method::PUT, path, body }
    }
}

impl Http {
    /// Connects. The caller limits the time.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(crate) async fn open(
        address: &Address,
        place: &Place,
        witness: &Witness,
    ) -> Result<Self, Failure> {
        let stream = place.way.dial(&address.encryption, witness).await.map_err(Failure::Way)?;
        let mut http = http1::Builder::new();
        let handshake = http.max_buf_size(LONGEST_HEADERS).handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| Failure::Lost(error.to_string()))?;
        let mut task = JoinSet::new();
        task.spawn(connection);
        let host = match &place.way {
            Way::Network(host) => host.to_string(),
            Way::Socket(_) => "localhost".to_owned(),
        };
        let token = match &place.password {
            Some(token) => {
                let mut value = HeaderValue::from_str(token.reveal())
                    .map_err(|_| Failure::Refused(Refusal::OddToken))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self { sender, host, token, task })
    }

    /// Ends with the connection.
    pub(crate) async fn ended(&mut self) {
        self.task.join_next().await;
    }

    /// Sends a request, and waits for the whole answer: 200, 404 or 409.
    ///
    /// # Errors
    /// Why there is none.
    ///
    /// # Cancellation
    /// The connection can be used no more.
    pub(crate) async fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
        let mut request = Request::builder()
            .method(question.method)
            .uri(question.path)
            .header(HOST, &self.host)
            .header(USER_AGENT, concat!("elect/", env!("CARGO_PKG_VERSION")));
        if !question.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            request = request.header("x-consul-token", token);
        }
        let request = request.body(question.body).map_err(|_| Failure::Odd("no path"))?;
        if self.sender.ready().await.is_err() {
            return Err(Failure::Unsent);
        }
        let sent = self.sender.try_send_request(request).await;
        let answer = sent.map_err(|mut failed| match failed.take_message() {
            Some(_) => Failure::Unsent,
            None => lost(&failed.into_error()),
        })?;
        let status = answer.status();
        let index = answer.headers().get(INDEX);
        let index = index.and_then(|index| index.to_str().ok()?.parse().ok());
        let body = Limited::new(answer.into_body(), LONGEST).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => lost(&error),
            Err(error) if error.is::<LengthLimitError>() => {
                Failure::Odd("an answer of more than 64 MiB")
            }
            Err(error) => Failure::Lost(error.to_string()),
        })?;
        let body = body.to_bytes();
        let is_good =
            matches!(status, StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::CONFLICT);
        if is_good {
            return Ok(Answer { status, index, body });
        }
        Err(Failure::Refused(Refusal::of(status.as_u16(), &body)))
    }
}

fn lost(error: &hyper::Error) -> Failure {
    if error.is_parse() {
        return Failure::Odd("what answers there does not speak HTTP");
    }
    Failure::Lost(error.to_string())
}
