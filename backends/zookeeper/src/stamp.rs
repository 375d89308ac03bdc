//! The one use of the wall clock in this crate: when somebody joined, for the eye only.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, now.
#[expect(clippy::disallowed_methods, reason = "see the head of this file")]
pub(crate) fn display() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What a number of milliseconds since 1970 meant; `None` for what no clock can have shown.
pub(crate) fn read(millis: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}
