//! Which page answers which request.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{mpsc, watch};

use super::caller::{is_disguised, is_of_another_origin};
use super::connections::{Connections, Pace};
use super::events;
use super::present::{Present, Watcher};
use super::state::HttpState;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const UNKNOWN: &str =
    "there is nothing here; try /, /leader, /healthz, /readyz, /events or /metrics\n";

const DISGUISED: &str =
    "here only requests to an address by its number, or to localhost, are answered\n";
const OF_ANOTHER_ORIGIN: &str = "pages of other origins get no answer here\n";

/// What all answers are made of.
pub(super) struct Pages {
    /// Only this machine can connect.
    pub(super) is_local: bool,
    pub(super) state: Arc<HttpState>,
    pub(super) watcher: Box<dyn Watcher>,
    pub(super) connections: Connections,
    pub(super) pace: Pace,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Pages {
    /// Answers a request that came over the connection of this number.
    pub(super) async fn answer(
        self: Arc<Self>,
        number: u64,
        request: Request<Incoming>,
    ) -> Response<Body> {
        self.pace.turn().await;
        if self.is_local && is_disguised(request.uri(), request.headers()) {
            return last(page(StatusCode::MISDIRECTED_REQUEST, TEXT, DISGUISED));
        }
        if self.is_local && is_of_another_origin(request.headers()) {
            return last(page(StatusCode::FORBIDDEN, TEXT, OF_ANOTHER_ORIGIN));
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refusal =
                last(page(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET and HEAD only\n"));
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        if !request.body().is_end_stream() {
            return last(page(StatusCode::PAYLOAD_TOO_LARGE, TEXT, "no bodies are taken\n"));
        }
        match request.uri().path() {
            "/" => self.candidate().await,
            "/leader" => {
                let leads = self.state.view().leadership.is_some();
                probe(leads, "leading\n", "not leading\n")
            }
            "/healthz" => page(StatusCode::OK, TEXT, "ok\n"),
            "/readyz" => {
                let is_ready = self.state.view().is_ready;
                probe(is_ready, "taking part\n", "not taking part\n")
            }
            "/metrics" => {
                let suspicion = self.watcher.suspicion();
                let text = self.state.metrics().text(&self.state.view(), suspicion);
                page(StatusCode::OK, PROMETHEUS, text)
            }
            "/events" => self.events(number),
            _ => page(StatusCode::NOT_FOUND, TEXT, UNKNOWN),
        }
    }

    async fn candidate(&self) -> Response<Body> {
        let snapshot = self.watcher.look().await;
        // Whether we lead comes last: a store that takes its time does not make us lead for longer.
        let present = Present::of(&self.state).among(snapshot.as_ref());
        page(StatusCode::OK, JSON, present.json() + "\n")
    }

    fn events(self: Arc<Self>, number: u64) -> Response<Body> {
        self.connections.reads_events(number);
        let (state, stopping) = (Arc::clone(&self.state), self.stopping.clone());
        let events = events::stream(state, stopping, move || self.connections.leave(number));
        last(respond(StatusCode::OK, EVENTS, Body::Stream(events)))
    }
}

fn probe(yes: bool, if_so: &'static str, if_not: &'static str) -> Response<Body> {
    if yes {
        page(StatusCode::OK, TEXT, if_so)
    } else {
        page(StatusCode::SERVICE_UNAVAILABLE, TEXT, if_not)
    }
}

fn page(status: StatusCode, kind: &'static str, text: impl Into<String>) -> Response<Body> {
    respond(status, kind, Body::Page(text.into().into()))
}

fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// After this answer the connection is closed.
fn last(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// What is sent after the head of an answer.
pub(super) enum Body {
    /// A page, whole; taken when it is sent.
    Page(Bytes),
    /// Events, one after the other, as long as somebody writes them.
    Stream(mpsc::Receiver<Bytes>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Page(page) if page.is_empty() => Poll::Ready(None),
            Self::Page(page) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(page))))),
            Self::Stream(events) => {
                events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Page(page) if page.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Page(page) => SizeHint::with_exact(page.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
