//! The difference of two clocks, as signatures carry the time.

use std::time::Duration;

use elect_api::{Error, ErrorKind, stamp};
use hyper::HeaderMap;
use hyper::header::DATE;

/// How far this machine's clock is from the service's, if that is much.
#[derive(Clone, Copy, Debug)]
pub struct Skew(Option<Offset>);

#[derive(Clone, Copy, Debug)]
enum Offset {
    Ahead(Duration),
    Behind(Duration),
}

/// Amazon refuses signatures that are off by 5 minutes, or by 15.
const MUCH: Duration = Duration::from_secs(120);

impl Skew {
    /// The skew from the clock that wrote an answer.
    pub fn of(headers: &HeaderMap) -> Self {
        let is_much = |offset: &Offset| {
            let (Offset::Ahead(time) | Offset::Behind(time)) = *offset;
            time > MUCH
        };
        Self(read(headers).filter(is_much))
    }

    /// The advice to set the clock, if it is far off.
    pub fn advice(self) -> Option<String> {
        let (time, side) = match self.0? {
            Offset::Ahead(time) => (time, "ahead of"),
            Offset::Behind(time) => (time, "behind"),
        };
        let time = humantime::format_duration(Duration::from_secs(time.as_secs()));
        Some(format!("set this machine's clock: it is {time} {side} the server's"))
    }

    /// The advice about a signature that the service refuses for the time in it.
    pub fn advice_about_time(self) -> String {
        let unknown = || "set this machine's clock: the server's has another time".to_owned();
        self.advice().unwrap_or_else(unknown)
    }

    /// Adds the advice to a refusal, which the clock may explain.
    pub fn explain(self, error: Error) -> Error {
        match self.advice() {
            Some(advice) if error.kind() == ErrorKind::Denied => error.and(advice),
            _ => error,
        }
    }
}

fn read(headers: &HeaderMap) -> Option<Offset> {
    let theirs = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    let ours = stamp::read(stamp::display())?;
    let behind = |earlier: std::time::SystemTimeError| Offset::Behind(earlier.duration());
    Some(ours.duration_since(theirs).map_or_else(behind, Offset::Ahead))
}
