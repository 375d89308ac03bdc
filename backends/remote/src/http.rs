//! A connection over which a client speaks HTTP/1.1.

use std::error::Error as StdError;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_LENGTH, HOST, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{Encryption, Failure, Pulse, Stream, Way, Witness};

/// The most bytes in the headers of an answer.
const LONGEST_HEADERS: usize = 64 << 10;
/// The most bytes in the body of an answer that is read as a whole.
const LONGEST: usize = 64 << 20;
/// The longest time for another connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of requests that wait for one another. Callers wait for their own turn.
const QUEUE: usize = 16;

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
    /// Connects, and begins to speak HTTP/1.1. The caller limits the time. The `witness` forgets an earlier connection.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn dial<R>(
        way: &Way,
        encryption: &Encryption,
        witness: &Witness,
    ) -> Result<Self, Failure<R>> {
        let stream = way.dial(encryption, witness).await.map_err(Failure::Way)?;
        Self::over(stream).await.map_err(|error| Failure::Lost(error.to_string()))
    }

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
        Self::read(answer.into_body(), longest).await
    }

    async fn read(body: Incoming, longest: usize) -> Result<Bytes, Unread> {
        let body = Limited::new(body, longest).collect().await;
        body.map(Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() { Unread::TooLong } else { Unread::Lost(error) }
        })
    }

    /// Sends a request once, and waits for the whole answer, whatever its status.
    ///
    /// # Errors
    /// Why there is none; `Odd` if it has more than 64 MiB.
    ///
    /// # Cancellation
    /// As [`Http::ask`].
    pub async fn ask_whole<R>(
        &mut self,
        request: Request<String>,
    ) -> Result<Response<Bytes>, Failure<R>> {
        let answer = self.ask(request).await.map_err(|unanswered| match unanswered {
            Unanswered::Unsent(..) => Failure::Unsent,
            Unanswered::Lost(error) => lost(&error),
        })?;
        let (head, body) = answer.into_parts();
        let body = Self::read(body, LONGEST).await;
        let body = body.map_err(|unread| match unread {
            Unread::TooLong => Failure::Odd("an answer of more than 64 MiB"),
            Unread::Lost(error) => match error.downcast::<hyper::Error>() {
                Ok(error) => lost(&error),
                Err(error) => Failure::Lost(error.to_string()),
            },
        })?;
        Ok(Response::from_parts(head, body))
    }
}

/// A request as it is sent to its host itself: the host is in a header, not in the address.
///
/// # Errors
/// `Odd` if the request has no host, or is no text.
pub fn wire_form<R>(request: Request<Bytes>) -> Result<Request<String>, Failure<R>> {
    let odd = || Failure::Odd("a request without a host, or one that is no text");
    let (mut head, body) = request.into_parts();
    let authority = head.uri.authority().map(ToString::to_string).ok_or_else(odd)?;
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse().map_err(|_| odd())?;
    if !head.headers.contains_key(HOST) {
        head.headers.insert(HOST, HeaderValue::from_str(&authority).map_err(|_| odd())?);
    }
    // The library that sends it writes the length.
    head.headers.remove(CONTENT_LENGTH);
    let body = String::from_utf8(body.to_vec()).map_err(|_| odd())?;
    Ok(Request::from_parts(head, body))
}

fn lost<R>(error: &hyper::Error) -> Failure<R> {
    if error.is_parse() {
        return Failure::Odd("the server there does not speak HTTP");
    }
    Failure::Lost(error.to_string())
}

/// Makes another connection to the same place.
type Redial<R> = Box<dyn Fn() -> Dialling<R> + Send + Sync>;
/// A connection that is being made.
type Dialling<R> = Pin<Box<dyn Future<Output = Result<Http, Failure<R>>> + Send>>;

/// The requests to one place. A task sends each after the answer to the one before, so a caller that is dropped holds
/// up no other.
#[derive(Debug)]
pub struct HttpQueue<R> {
    requests: mpsc::Sender<Queued<R>>,
}

#[derive(Debug)]
struct Queued<R> {
    request: Request<String>,
    reply: oneshot::Sender<Result<Response<Bytes>, Failure<R>>>,
}

impl<R: Send + 'static> HttpQueue<R> {
    /// Begins to send requests on a connection, until it fails or the queue is dropped. `end` is dropped after that.
    pub fn over<E: Send + 'static>(http: Http, end: E) -> (Self, Pulse) {
        let (requests, received) = mpsc::channel(QUEUE);
        let driver = tokio::spawn(drive(http, None, received, end));
        (Self { requests }, Pulse::of(driver.abort_handle()))
    }

    /// The same on a connection of its own to a server that may close it after any answer. The next request then makes
    /// another one. The caller limits the time. The `witness` forgets an earlier connection.
    ///
    /// # Errors
    /// As [`Http::dial`].
    pub async fn dial(
        way: &Way,
        encryption: &Encryption,
        witness: &Witness,
    ) -> Result<(Self, Pulse), Failure<R>> {
        let http = Http::dial(way, encryption, witness).await?;
        let (way, encryption) = (way.clone(), encryption.clone());
        let redial = move || -> Dialling<R> {
            let (way, encryption) = (way.clone(), encryption.clone());
            Box::pin(async move { Http::dial(&way, &encryption, &Witness::default()).await })
        };
        let (requests, received) = mpsc::channel(QUEUE);
        let driver = tokio::spawn(drive(http, Some(Box::new(redial)), received, ()));
        Ok((Self { requests }, Pulse::of(driver.abort_handle())))
    }

    /// Returns whether the connection has not ended.
    pub fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }

    /// Sends a request in its turn, and waits for the whole answer.
    ///
    /// # Errors
    /// As [`Http::ask_whole`].
    ///
    /// # Cancellation
    /// The request may be sent, unless its turn has not come.
    pub async fn ask(&self, request: Request<String>) -> Result<Response<Bytes>, Failure<R>> {
        let (reply, answer) = oneshot::channel();
        let queued = Queued { request, reply };
        self.requests.send(queued).await.map_err(|_| Failure::Unsent)?;
        // The driver was ended, perhaps in the middle.
        answer.await.unwrap_or_else(|_| Err(Failure::Lost("the session was closed".into())))
    }
}

/// Carries out one request after the other.
async fn drive<R, E>(
    mut http: Http,
    redial: Option<Redial<R>>,
    mut requests: mpsc::Receiver<Queued<R>>,
    end: E,
) {
    // Also if this task is ended.
    let _end = end;
    loop {
        let queued = tokio::select! {
            biased;
            () = http.ended(), if redial.is_none() => break,
            queued = requests.recv() => queued,
        };
        let Some(Queued { request, reply }) = queued else { break };
        // A request that was dropped before its turn is not sent.
        if reply.is_closed() {
            continue;
        }
        let is_ready = match &redial {
            Some(redial) if !http.is_ready().await => {
                match timeout(CONNECT_TIMEOUT, redial()).await {
                    Ok(Ok(made)) => {
                        http = made;
                        true
                    }
                    _ => false,
                }
            }
            _ => true,
        };
        // Its caller may have given up meanwhile.
        if is_ready && reply.is_closed() {
            continue;
        }
        let answer = if is_ready { http.ask_whole(request).await } else { Err(Failure::Unsent) };
        let is_over = answer.is_err();
        if is_over {
            // Before the answer, so that no request follows it here.
            requests.close();
        }
        let _ = reply.send(answer);
        if is_over {
            break;
        }
    }
}
