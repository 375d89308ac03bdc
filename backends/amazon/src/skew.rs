//! The difference of two clocks, as signatures carry the time.

use std::time::Duration;

use elect_api::{Error, ErrorKind, stamp};
use hyper::HeaderMap;
use hyper::header::DATE;

/// How far this machine's clock is from the service's, if that is much.
#[derive(Clone, Copy, Debug)]
pub struct Skew(Option<Duration>);

/// Amazon refuses signatures that are off by 5 minutes, or by 15.
const MUCH: Duration = Duration::from_secs(120);

impl Skew {
    /// The skew from the clock that wrote an answer.
    pub fn of(headers: &HeaderMap) -> Self {
        Self(read(headers).filter(|skew| *skew > MUCH))
    }

    /// Adds the skew to a refusal, which it may explain.
    pub fn explain(self, error: Error) -> Error {
        match self.0 {
            Some(skew) if error.kind() == ErrorKind::Denied => error.and(format!(
                "this machine's clock is {} s from the server's: correct it first",
                skew.as_secs()
            )),
            _ => error,
        }
    }
}

fn read(headers: &HeaderMap) -> Option<Duration> {
    let theirs = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    let ours = stamp::read(stamp::display())?;
    Some(ours.duration_since(theirs).unwrap_or_else(|earlier| earlier.duration()))
}
