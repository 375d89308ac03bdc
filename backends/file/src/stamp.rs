//! The two uses of the wall clock in this crate. Neither decides who leads.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970: the floor of the next token, so that a wiped directory does not turn
/// tokens back. A clock that is wrong makes numbers skip, or takes this help away; while the slots
/// are there, tokens rise whatever it says.
pub(crate) fn token_floor() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970: when somebody joined or won, for the eye only.
pub(crate) fn display() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// What [`display`] meant, also where a damaged file holds a number beyond all times.
pub(crate) fn read(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}

#[expect(clippy::disallowed_methods, reason = "see the head of this file")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
