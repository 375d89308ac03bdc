//! The one use of the wall clock in this crate. It decides nothing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970: when somebody joined or won, for the eye only.
#[expect(clippy::disallowed_methods, reason = "see the head of this file")]
pub(crate) fn display() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// What [`display`] meant, also where a damaged entry holds a number beyond all times.
pub(crate) fn read(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}
