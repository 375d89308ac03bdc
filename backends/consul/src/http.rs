//! A connection with an agent or a server. It takes one request at a time.

use elect_remote::{Address, Http, Place, Unanswered, Unread, Way, Witness};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};

use crate::error::{Failure, Refusal};

/// The most bytes in an answer. The rows of a transaction are not longer.
const LONGEST: usize = 64 << 20;
/// The header with the index of the newest change of what was asked for.
const INDEX: &str = "x-consul-index";

/// A connection on which each request shows the token. Dropped, it is closed.
pub(crate) struct Connection {
    http: Http,
    host: String,
    token: Option<HeaderValue>,
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

impl Connection {
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
        let http = Http::over(stream).await.map_err(|error| Failure::Lost(error.to_string()))?;
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
        Ok(Self { http, host, token })
    }

    /// Ends with the connection.
    pub(crate) async fn ended(&mut self) {
        self.http.ended().await;
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
        let answer = self.http.ask(request).await.map_err(|unanswered| match unanswered {
            Unanswered::Unsent(..) => Failure::Unsent,
            Unanswered::Lost(error) => lost(&error),
        })?;
        let status = answer.status();
        let index = answer.headers().get(INDEX);
        let index = index.and_then(|index| index.to_str().ok()?.parse().ok());
        let body = Http::body_of(answer, LONGEST).await.map_err(|unread| match unread {
            Unread::TooLong => Failure::Odd("an answer of more than 64 MiB"),
            Unread::Lost(error) => match error.downcast::<hyper::Error>() {
                Ok(error) => lost(&error),
                Err(error) => Failure::Lost(error.to_string()),
            },
        })?;
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
