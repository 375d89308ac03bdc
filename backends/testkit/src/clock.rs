//! The clock of all tests, by which stamps are compared as well.

use std::time::Duration;

use elect_api::Boottime;
use nix::time::{ClockId, clock_gettime};

/// Returns the time that a stamp would have now.
///
/// # Panics
/// Never on a kernel that runs Rust programs.
pub fn now() -> Boottime {
    let spec = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has CLOCK_BOOTTIME");
    Boottime::from_boot(Duration::from(spec))
}
