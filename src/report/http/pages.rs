//! This file maps each HTTP request to a page, and refuses requests that browsers make for foreign pages.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::connections::{Client, Connections, Pace};
use super::events;
use super::present::{ElectionWatcher, Present};
use super::state::HttpState;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const UNKNOWN: &str =
    "there is nothing here; try /, /leader, /healthz, /readyz, /events or /metrics\n";

const DISGUISED: &str = "only requests to an IP address, or to localhost, are answered here\n";
const OF_ANOTHER_ORIGIN: &str = "pages of other origins get no answer here\n";
const CROWDED: &str = "too many long responses are in progress: try again\n";
const MANY_READERS: &str = "too many clients read events: try again\n";

/// The bytes that are sent at a time. A page of at most this length takes none of the room for long pages.
const PIECE: usize = 64 << 10;
/// The pieces of long pages that may wait to be sent, over all connections. Some entries of the store may be long, and
/// some clients may not read.
const PIECES: usize = 256;

/// The state from which all answers are made.
pub(super) struct Pages {
    /// True if only this machine can connect.
    is_local: bool,
    pub(super) state: Arc<HttpState>,
    pub(super) watcher: Box<dyn ElectionWatcher>,
    pub(super) connections: Connections,
    pub(super) pace: Pace,
    pub(super) stopping: watch::Receiver<bool>,
    room: Room,
}

impl Pages {
    pub(super) fn new(
        state: Arc<HttpState>,
        watcher: Box<dyn ElectionWatcher>,
        stopping: watch::Receiver<bool>,
        is_local: bool,
    ) -> Self {
        let (connections, pace) = (Connections::new(), Pace::new(state.clocks().now));
        Self { is_local, state, watcher, connections, pace, stopping, room: Room::default() }
    }

    /// Answers a request of this client.
    pub(super) async fn answer(
        &self,
        client: Arc<Client>,
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
                let (view, store) = (self.state.view(), self.state.store());
                let text = self.state.metrics().text(&view, suspicion, store.as_deref());
                page(StatusCode::OK, PROMETHEUS, text)
            }
            "/events" => self.events(client),
            _ => page(StatusCode::NOT_FOUND, TEXT, UNKNOWN),
        }
    }

    async fn candidate(&self) -> Response<Body> {
        let snapshot = self.watcher.snapshot(self.state.turned()).await;
        // The leadership is read last, so that a slow store does not make this candidate lead for longer.
        let present = Present::of(&self.state).among(snapshot.as_ref());
        match self.room.admit(present.json() + "\n") {
            Some(body) => respond(StatusCode::OK, JSON, body),
            None => last(page(StatusCode::SERVICE_UNAVAILABLE, TEXT, CROWDED)),
        }
    }

    fn events(&self, client: Arc<Client>) -> Response<Body> {
        if !self.connections.reads_events(&client) {
            return last(page(StatusCode::SERVICE_UNAVAILABLE, TEXT, MANY_READERS));
        }
        let (state, stopping) = (Arc::clone(&self.state), self.stopping.clone());
        let events = events::stream(state, stopping, move || client.hang_up.notify_one());
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
    respond(status, kind, Body::Page(text.into().into(), None))
}

fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Makes the server close the connection after this answer.
fn last(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The room for long pages, shared by all connections.
struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(PIECES)))
    }
}

impl Room {
    /// Returns a body with this text; `None` if there is no room for it. The longest page takes all of the room.
    fn admit(&self, text: String) -> Option<Body> {
        let pieces = text.len().div_ceil(PIECE).min(PIECES);
        if pieces <= 1 {
            return Some(Body::Page(text.into(), None));
        }
        let pieces = u32::try_from(pieces).ok()?;
        let room = Arc::clone(&self.0).try_acquire_many_owned(pieces).ok()?;
        Some(Body::Page(text.into(), Some(room)))
    }
}

/// The body of an answer.
pub(super) enum Body {
    /// The unsent rest of a page. A long page also holds its room.
    Page(Bytes, Option<OwnedSemaphorePermit>),
    /// A stream of events, which lasts as long as its sender.
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
            Self::Page(page, _) if page.is_empty() => Poll::Ready(None),
            Self::Page(page, None) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(page))))),
            Self::Page(page, Some(_)) => {
                let piece = page.split_to(PIECE.min(page.len()));
                // This is a copy, so that a piece in transit does not keep the whole page in memory.
                Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(&piece)))))
            }
            Self::Stream(events) => {
                events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Page(page, _) if page.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Page(page, _) => SizeHint::with_exact(page.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Returns whether a request to a loopback address may come from a page in a browser.
///
/// Such a page can make its own name resolve to this address (DNS rebinding). Its browser would then show it what only
/// this machine may see. Its requests carry that name. Requests of this machine's users carry an IP address, or
/// `localhost`.
pub(super) fn is_disguised(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let asked = match (uri.authority(), hosts.next()) {
        (Some(authority), _) => authority.clone(),
        (None, Some(host)) => match host.to_str().ok().and_then(|host| host.parse().ok()) {
            Some(authority) => authority,
            None => return true,
        },
        (None, None) => return false,
    };
    hosts.next().is_some() || !is_plain(&asked)
}

/// Returns whether a page of another origin asks, according to the headers of the browser. A person who follows a link
/// from such a page may read the answer, but the page itself may not. The status code alone would tell the page whether
/// this candidate leads.
pub(super) fn is_of_another_origin(headers: &HeaderMap) -> bool {
    let says = |name, value| all_said(headers, name).any(|said| said.eq_ignore_ascii_case(value));
    let is_shown = says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
        && !headers.contains_key("sec-purpose");
    let is_from_elsewhere = all_said(headers, "sec-fetch-site")
        .any(|site| !["same-origin", "none"].iter().any(|ours| site.eq_ignore_ascii_case(ours)));
    (is_from_elsewhere && !is_shown) || has_another_origin(headers)
}

/// Returns whether the `Origin` header names another origin. Some browsers send no other header about the page, and
/// send this one only where the page could read the answer.
fn has_another_origin(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    headers.get_all(ORIGIN).iter().any(|origin| {
        let named = origin.as_bytes().strip_prefix(b"http://");
        !named.zip(host).is_some_and(|(named, host)| named.eq_ignore_ascii_case(host))
    })
}

/// Returns each value of a header that may be repeated, and may list several values. A value that is not text becomes
/// `?`, which matches no known value.
fn all_said<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a str> {
    let said = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    said.flat_map(|value| value.split(',')).map(str::trim)
}

/// Returns whether a host is `localhost`, or an IP address that browsers protect from foreign pages.
///
/// They do not protect the unspecified address, although they take it for this machine: any page may ask it. Some
/// browsers also do not see that an IPv6 address with an IPv4 address inside is local. Then they do not say which page
/// asks.
fn is_plain(authority: &Authority) -> bool {
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_number = match number.parse() {
        Ok(IpAddr::V4(number)) => !number.is_unspecified(),
        Ok(IpAddr::V6(number)) => number.is_loopback() || number.to_ipv4().is_none(),
        Err(_) => false,
    };
    is_number || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    #[test]
    fn long_pages_share_their_room() {
        let pages = Room::default();
        let long = || pages.admit("x".repeat(PIECES / 2 * PIECE));
        let (one, two) = (long(), long());
        assert!(one.is_some() && two.is_some());
        assert!(long().is_none() && pages.admit("x".repeat(PIECE + 1)).is_none());
        assert!(pages.admit("x".repeat(PIECE)).is_some(), "a short one takes none");
        drop(one);
        assert!(long().is_some() && pages.admit("x".repeat(2 * PIECES * PIECE)).is_none());
        drop(two);
        assert!(pages.admit("x".repeat(2 * PIECES * PIECE)).is_some());
    }

    #[test]
    fn a_long_page_is_sent_in_pieces() {
        let text = "0123456789".repeat(PIECE / 4);
        let mut body = Room::default().admit(text.clone()).expect("room");
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut sent = Vec::new();
        let mut context = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            let piece = frame.into_data().expect("data");
            assert!(piece.len() <= PIECE);
            sent.extend(piece);
        }
        assert!(sent == text.as_bytes() && body.is_end_stream());
    }

    #[test]
    fn only_numbers_and_localhost_are_plain() {
        let is_disguised_by = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).expect("a value"));
            is_disguised(&Uri::from_static("/"), &headers)
        };
        for host in ["127.0.0.1", "127.0.0.1:80", "[::1]:80", "localhost", "LocalHost:8080"] {
            assert!(!is_disguised_by(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "",
            "a b",
            "::1",
            "0.0.0.0",
            "[::]:80",
            "[::ffff:0.0.0.0]",
            "[::ffff:127.0.0.1]:80",
            "[::127.0.0.1]",
            "evil.example@127.0.0.1",
        ] {
            assert!(is_disguised_by(host), "{host}");
        }
        let mut twice = HeaderMap::new();
        twice.append(HOST, HeaderValue::from_static("localhost"));
        twice.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(is_disguised(&Uri::from_static("/"), &twice));
        let whole = Uri::from_static("http://evil.example/leader");
        assert!(is_disguised(&whole, &HeaderMap::new()));
        assert!(!is_disguised(&Uri::from_static("/leader"), &HeaderMap::new()));
    }

    #[test]
    fn pages_of_other_origins_are_told_from_people_and_programs() {
        let is_refused = |said: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.append(HOST, HeaderValue::from_static("localhost:9090"));
            for (name, value) in said {
                let name = HeaderName::from_static(name);
                headers.append(name, HeaderValue::from_static(value));
            }
            is_of_another_origin(&headers)
        };
        let [cross, navigate] = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        let [same, document] = [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "document")];
        assert!(!is_refused(&[]), "a program");
        assert!(!is_refused(&[cross, navigate, document]), "a link");
        assert!(!is_refused(&[same, ("sec-fetch-mode", "cors")]));
        assert!(!is_refused(&[("sec-fetch-site", "none"), navigate]), "typed");
        assert!(!is_refused(&[same, ("origin", "http://LOCALHOST:9090")]));

        assert!(is_refused(&[cross, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")]));
        assert!(is_refused(&[cross, navigate, ("sec-fetch-dest", "iframe")]));
        assert!(is_refused(&[cross, navigate, document, ("sec-purpose", "prefetch")]));
        assert!(is_refused(&[cross]));
        assert!(is_refused(&[("sec-fetch-site", "Cross-Site")]));
        assert!(is_refused(&[same, cross]) && is_refused(&[cross, same]), "said twice");
        assert!(is_refused(&[("sec-fetch-site", "same-origin, cross-site")]));
        assert!(is_refused(&[("sec-fetch-site", "same-site")]), "a page at another port");
        for origin in ["http://localhost:8080", "https://localhost:9090", "http://evil", "null"] {
            assert!(is_refused(&[("origin", origin)]), "{origin}");
        }
    }
}
