//! Wall-clock times at which a candidate joined or won, for people. They decide nothing, because the clocks of
//! different machines are never compared.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The present wall-clock time, in milliseconds since 1970.
pub fn display() -> u64 {
    micros() / 1000
}

/// The present wall-clock time, in microseconds since 1970. Stores without a counter take the next of their numbers
/// from here, if it is greater than the last one: so numbers rise even if the last one is lost.
#[expect(clippy::disallowed_methods, reason = "see the head of this file")]
pub fn micros() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX)
}

/// Reads a number of milliseconds since 1970. `None` for a time that no clock can show, and for 0, which stands for an
/// unknown time.
pub fn read(millis: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).filter(|time| *time > UNIX_EPOCH)
}
