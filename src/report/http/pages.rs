//! What is answered to which request.

use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::watch;

use super::board::Board;
use super::body::Body;
use super::caller::{is_disguised, is_of_another_site};
use super::crowd::Crowd;
use super::events;
use super::lookout::Lookout;
use super::pace::Pace;
use super::present::Present;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const UNKNOWN: &str =
    "there is nothing here; try /, /leader, /healthz, /readyz, /events or /metrics\n";

const DISGUISED: &str =
    "here only requests to an address by its number, or to localhost, are answered\n";
const OF_ANOTHER_SITE: &str = "pages of other sites get no answer here\n";

/// What all answers are made of.
pub(super) struct Desk {
    /// Only this machine can connect.
    pub(super) is_local: bool,
    pub(super) board: Arc<Board>,
    pub(super) lookout: Box<dyn Lookout>,
    pub(super) crowd: Crowd,
    pub(super) pace: Pace,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Desk {
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
        if self.is_local && is_of_another_site(request.headers()) {
            return last(page(StatusCode::FORBIDDEN, TEXT, OF_ANOTHER_SITE));
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
                let leads = self.board.view().leadership.is_some();
                probe(leads, "leading\n", "not leading\n")
            }
            "/healthz" => page(StatusCode::OK, TEXT, "ok\n"),
            "/readyz" => {
                let is_ready = self.board.view().is_ready;
                probe(is_ready, "taking part\n", "not taking part\n")
            }
            "/metrics" => {
                let suspicion = self.lookout.suspicion();
                let text = self.board.metrics().text(&self.board.view(), suspicion);
                page(StatusCode::OK, PROMETHEUS, text)
            }
            "/events" => self.events(number),
            _ => page(StatusCode::NOT_FOUND, TEXT, UNKNOWN),
        }
    }

    async fn candidate(&self) -> Response<Body> {
        let sight = self.lookout.look().await;
        // Whether we lead comes last: a store that takes its time does not make us lead for longer.
        let present = Present::of(&self.board).among(sight.as_ref());
        page(StatusCode::OK, JSON, present.json() + "\n")
    }

    fn events(self: Arc<Self>, number: u64) -> Response<Body> {
        self.crowd.reads_events(number);
        let (board, stopping) = (Arc::clone(&self.board), self.stopping.clone());
        let events = events::stream(board, stopping, move || self.crowd.leave(number));
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
