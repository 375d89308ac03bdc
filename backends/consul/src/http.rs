//! A connection with an agent or a server. It takes one request at a time.

use elect_remote::{Address, Destination, Http, Way, Witness};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};

use crate::error::{Failure, Refusal};

/// The header with the index of the newest change of what was asked for.
const INDEX: &str = "x-consul-index";

/// What each request to one destination has: its name, and the token.
pub(crate) struct Form {
    host: String,
    token: Option<HeaderValue>,
}

/// A connection on which each request shows the token. Dropped, it is closed.
pub(crate) struct Connection {
    pub(crate) http: Http,
    pub(crate) form: Form,
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

impl Form {
    fn of(destination: &Destination) -> Result<Self, Failure> {
        let host = match &destination.way {
            Way::Network(host) => host.to_string(),
            Way::Socket(_) => "localhost".to_owned(),
        };
        let token = match &destination.password {
            Some(token) => {
                let mut value = HeaderValue::from_str(token.reveal())
                    .map_err(|_| Failure::Refused(Refusal::OddToken))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self { host, token })
    }

    /// The request that asks a question.
    pub(crate) fn request(&self, question: Question) -> Result<Request<String>, Failure> {
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
        request.body(question.body).map_err(|_| Failure::Odd("no path"))
    }
}

impl Answer {
    /// The answer of a server: 200, 404 or 409. Others are refusals.
    pub(crate) fn of(answer: Response<Bytes>) -> Result<Self, Failure> {
        let status = answer.status();
        let index = answer.headers().get(INDEX);
        let index = index.and_then(|index| index.to_str().ok()?.parse().ok());
        let body = answer.into_body();
        let is_good =
            matches!(status, StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::CONFLICT);
        if is_good {
            return Ok(Self { status, index, body });
        }
        Err(Failure::Refused(Refusal::of(status.as_u16(), &body)))
    }
}

impl Connection {
    /// Connects. The caller limits the time.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(crate) async fn open(
        address: &Address,
        destination: &Destination,
        witness: &Witness,
    ) -> Result<Self, Failure> {
        let http = Http::dial(&destination.way, &address.encryption, witness).await?;
        Ok(Self { http, form: Form::of(destination)? })
    }

    /// Sends a request, and waits for the whole answer.
    ///
    /// # Errors
    /// Why there is none.
    ///
    /// # Cancellation
    /// The connection can be used no more.
    pub(crate) async fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
        Answer::of(self.http.ask_whole(self.form.request(question)?).await?)
    }
}
