//! Wall-clock times at which a candidate joined or won, for people. They decide nothing, because the clocks of
//! different machines are never compared.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The present wall-clock time, in milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "see the head of this file")]
pub fn display() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// Reads a number of milliseconds since 1970. `None` for a time that no clock can show, and for 0, which stands for an
/// unknown time.
pub fn read(millis: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).filter(|time| *time > UNIX_EPOCH)
}
