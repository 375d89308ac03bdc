//! The client of an API server. It speaks HTTP/1.1, and each request is one bounded attempt. There are no retries,
//! with one exception: if the server refuses our credentials and we find others, the request goes out once more with
//! those.
//!
//! **[`Access`]** is the server and our identity, as kubectl finds them: `kubeconfig` reads and merges files, `access`
//! takes the server and the user from them, or from the service account of a pod. `current` reads all of that again. A
//! new token or certificate counts within a minute, or at once for the attempt that the server refuses.
//!
//! **One connection** serves all calls. It is closed after a time-out, an answer of 5xx or 401, and a call that is
//! cancelled. If the server has closed it, and the request was provably not sent, a new connection takes the request.
//! Each watch has a connection of its own.
//!
//! **Failures** tell what may have been done ([`Failure`]). A request without an answer counts as one that may have
//! been done.

mod access;
mod answer;
mod connection;
mod credentials;
mod current;
mod files;
mod json;
mod kubeconfig;
mod plugin;
mod server;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::count_trip;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

pub(crate) use access::Access;
use answer::{granted, read};
use connection::{Connection, Unanswered, Unconnected};
use credentials::Pass;
use current::Current;
pub(crate) use current::now;
pub(crate) use json::{List, MOST_ITEMS, value};
pub(crate) use watch::WatchStream;

#[cfg(feature = "fuzzing")]
pub(crate) use kubeconfig::Kubeconfig;

/// The longest answer, and the longest line of a watch, in bytes.
const LONGEST: usize = 4 << 20;
/// Says of an answer that it is longer.
pub(crate) const TOO_LONG: &str = "more than 4 MiB at once";
/// The longest that a request waits for credentials. It is shorter than any attempt of a candidate, so that people
/// read in the message what elect waited for. A plugin goes on meanwhile.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A client of one API server.
pub(crate) struct Client {
    current: Arc<Current>,
    /// The address of the server, which stays the same.
    server: String,
    /// The longest that a request waits for credentials.
    patience: Duration,
    /// The connection of calls, while none uses it.
    idle: Mutex<Option<Connection>>,
}

/// The reason why there is no answer, or a refusal. None of it has a secret.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server refused. There are the reason and the message of its `Status`, or the text that it sent instead.
    /// `kind` is the kind of resource, such as `leases`.
    Refused {
        status: u16,
        reason: String,
        kind: String,
        message: String,
        retry_after: Option<Duration>,
    },
    /// A web server or a proxy answered `what`, which no API server sends.
    Strange { status: u16, what: &'static str },
    /// The request was not sent, so nothing was done.
    Unreachable(String),
    /// The request was sent, but there was no whole answer. It may have been done.
    Unknown(String),
    /// There are no credentials, so the request was not sent. Slow credentials are `Unreachable` instead.
    Denied(String),
}

/// The part of an attempt that runs.
#[derive(Clone, Copy)]
enum AttemptStage {
    Files,
    Credentials,
    Connection,
    Answer,
}

impl Client {
    /// Gets ready to talk. It sends nothing yet.
    pub(crate) fn new(access: Access) -> Self {
        let server = access.server();
        let current = Arc::new(Current::new(access));
        Self { current, server, patience: PATIENCE, idle: Mutex::default() }
    }

    /// Waits for credentials, up to `limit`. Calls wait for them too, but not for long.
    ///
    /// # Errors
    /// [`Failure`].
    ///
    /// # Cancellation
    /// A plugin goes on.
    pub(crate) async fn log_in(&self, limit: Duration) -> Result<(), Failure> {
        self.pass(limit).await.map(drop)
    }

    /// Returns why the newest contents of our files are not used.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.current.trouble()
    }

    async fn pass(&self, limit: Duration) -> Result<(Arc<Access>, Pass), Failure> {
        let mut stage = AttemptStage::Files;
        let pass = async {
            let access = self.current.get().await;
            stage = AttemptStage::Credentials;
            let pass = access.login.pass().await;
            pass.map(|pass| (access, pass)).map_err(Failure::Denied)
        };
        let pass = timeout(limit, pass).await;
        pass.unwrap_or_else(|_| Err(self.overdue(stage, limit)))
    }

    /// Does one attempt as [`Client::fetch`] does, and reads the object in the answer. An answer without content is
    /// `null`.
    ///
    /// # Errors
    /// [`Failure`].
    ///
    /// # Cancellation
    /// A request that was sent may have been done.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, Failure> {
        let answer = self.fetch(method, path, body, limit).await?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        value(&answer).map_err(|error| self.odd(&error))
    }

    /// Reports an answer that no API server gives.
    pub(crate) fn odd(&self, error: &serde_json::Error) -> Failure {
        let server = &self.server;
        Failure::Unknown(format!("{server} answered what no API server does: {error}"))
    }

    /// One attempt; `path` begins with a slash, and may have a query. `limit` covers credentials, connection and answer
    /// together; credentials have 1.5 s of that. The answer is at most 4 MiB.
    ///
    /// # Errors
    /// [`Failure`].
    ///
    /// # Cancellation
    /// A request that was sent may have been done.
    pub(crate) async fn fetch(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Bytes, Failure> {
        let mut stage = AttemptStage::Credentials;
        let attempt = async {
            let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (connection, answer, pass) =
                self.ask(&method, path, body, idle, &mut stage).await?;
            let status = answer.status();
            let outcome = read(answer, &self.server, pass.authorization.as_ref()).await;
            // The connection may have half an answer in it, or lead to a faulty server.
            let is_well = !matches!(
                outcome,
                Err(Failure::Unknown(_) | Failure::Strange { what: TOO_LONG, .. })
            );
            if is_well && !status.is_server_error() && status != StatusCode::UNAUTHORIZED {
                *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
            }
            outcome
        };
        let outcome = timeout(limit, attempt).await;
        outcome.unwrap_or_else(|_| Err(self.overdue(stage, limit)))
    }

    /// Opens a watch, on a connection of its own. `limit` is for all until its first event may come.
    ///
    /// # Errors
    /// [`Failure`].
    ///
    /// # Cancellation
    /// Leaves nothing behind.
    pub(crate) async fn watch(&self, path: &str, limit: Duration) -> Result<WatchStream, Failure> {
        let mut stage = AttemptStage::Credentials;
        let attempt = async {
            let (connection, answer, pass) =
                self.ask(&Method::GET, path, None, || None, &mut stage).await?;
            Ok((connection, granted(answer, pass.authorization.as_ref()).await?))
        };
        match timeout(limit, attempt).await {
            Ok(opened) => opened.map(|(connection, answer)| {
                WatchStream::new(connection, answer, self.server.clone())
            }),
            Err(_) => Err(self.overdue(stage, limit)),
        }
    }

    /// Sends a request, over the idle connection if that is still good, and waits for the head of the answer. Returns
    /// the credentials that it used, too.
    async fn ask(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        idle: impl FnOnce() -> Option<Connection>,
        stage: &mut AttemptStage,
    ) -> Result<(Connection, Response<Incoming>, Pass), Failure> {
        let shown = self.pass(self.patience).await?;
        let (connection, answer) = self.show(&shown, method, path, body, idle, stage).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok((connection, answer, shown.1));
        }
        *stage = AttemptStage::Credentials;
        let is_news =
            |next: &(Arc<Access>, Pass)| !Arc::ptr_eq(&next.0, &shown.0) || next.1 != shown.1;
        match self.pass(self.patience).await {
            // The server did nothing for a caller that it does not know.
            Ok(next) if is_news(&next) => {
                let shown = self.show(&next, method, path, body, || None, stage).await;
                shown.map(|(connection, answer)| (connection, answer, next.1))
            }
            _ => {
                self.current.doubt();
                Ok((connection, answer, shown.1))
            }
        }
    }

    /// Sends a request once, with these credentials.
    async fn show(
        &self,
        (access, pass): &(Arc<Access>, Pass),
        method: &Method,
        path: &str,
        body: Option<&Value>,
        idle: impl FnOnce() -> Option<Connection>,
        stage: &mut AttemptStage,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        let identity = pass.identity.as_ref();
        let mut request = request(access, pass, (method, path), body)?;
        // A request that comes back unsent counts once, although it goes out again.
        let mut uncounted = Some(operation(method, path));
        *stage = AttemptStage::Connection;
        if let Some(mut connection) = idle()
            && connection.is_good_for(access, identity).await
        {
            *stage = AttemptStage::Answer;
            uncounted.take().into_iter().for_each(count_trip);
            match self.send(access, &mut connection, request).await {
                Ok(answer) => return Ok((connection, answer)),
                // The server has closed it meanwhile.
                Err(Unanswered::Unsent(unsent, _)) => request = *unsent,
                Err(Unanswered::Lost(why)) => return Err(self.lost(&why)),
            }
            *stage = AttemptStage::Connection;
        }
        let dialled = Connection::dial(access, identity).await;
        let mut connection = dialled.map_err(|Unconnected { why, is_distrust }| {
            if is_distrust {
                self.current.doubt();
            } else {
                self.current.suspect();
            }
            Failure::Unreachable(why)
        })?;
        *stage = AttemptStage::Answer;
        uncounted.take().into_iter().for_each(count_trip);
        match self.send(access, &mut connection, request).await {
            Ok(answer) => Ok((connection, answer)),
            Err(Unanswered::Unsent(_, why)) => {
                self.current.suspect();
                let server = &self.server;
                Err(Failure::Unreachable(format!("{server} closed the connection at once: {why}")))
            }
            Err(Unanswered::Lost(why)) => Err(self.lost(&why)),
        }
    }

    async fn send(
        &self,
        access: &Access,
        connection: &mut Connection,
        request: Request<String>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let answer = connection.ask(request).await?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            access.login.doubt();
            self.current.doubt();
        }
        Ok(answer)
    }

    fn lost(&self, why: &str) -> Failure {
        // The server may have refused our certificate, which comes before the request.
        self.current.suspect();
        Failure::Unknown(format!("{} did not answer: {why}", self.server))
    }

    fn overdue(&self, stage: AttemptStage, limit: Duration) -> Failure {
        let (server, limit) = (&self.server, humantime::format_duration(limit));
        match stage {
            AttemptStage::Files => Failure::Unreachable(format!(
                "the files of {} could not be read within {limit}: see their file system",
                self.current.last().source
            )),
            AttemptStage::Credentials => {
                let login = &self.current.last().login;
                Failure::Unreachable(login.silence(&limit.to_string()))
            }
            AttemptStage::Connection => {
                Failure::Unreachable(format!("there was no connection to {server} within {limit}"))
            }
            AttemptStage::Answer => {
                Failure::Unknown(format!("{server} did not answer within {limit}"))
            }
        }
    }
}

/// Makes a request with our credentials.
fn request(
    access: &Access,
    pass: &Pass,
    (method, path): (&Method, &str),
    body: Option<&Value>,
) -> Result<Request<String>, Failure> {
    let server = &access.server.address;
    let json = "application/json";
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.base))
        .header(HOST, &server.authority)
        .header(ACCEPT, json)
        .header(USER_AGENT, concat!("elect/", env!("CARGO_PKG_VERSION")));
    if body.is_some() {
        request = request.header(CONTENT_TYPE, json);
    }
    if let Some(authorization) = &pass.authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    for (name, value) in &access.acts_for {
        request = request.header(name, value);
    }
    let body = body.map_or_else(String::new, Value::to_string);
    let odd = |error| Failure::Unreachable(format!("there is no way to ask for {path:?}: {error}"));
    request.body(body).map_err(odd)
}

/// Names a request in the metrics, by the verb that a Role has for it.
fn operation(method: &Method, path: &str) -> &'static str {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    // NAMESPACE/leases, and NAMESPACE/leases/NAME.
    let is_several =
        || path.split_once("/namespaces/").is_some_and(|(_, what)| what.matches('/').count() == 1);
    match method.as_str() {
        "GET" if query.starts_with("watch=") => "watch",
        "GET" if is_several() => "list",
        "GET" => "get",
        "POST" => "create",
        "PUT" => "update",
        "DELETE" => "delete",
        _ => "other",
    }
}

fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

#[cfg(test)]
mod tests;
