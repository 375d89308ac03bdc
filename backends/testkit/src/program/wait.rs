//! How tests wait for events that only polling shows.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::clock::now;

/// The longest time before a test gives up. No test waits for it to pass.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Calls `look` again and again until it returns a value: for events that only polling shows.
///
/// # Panics
/// Panics if there is none within [`PATIENCE`]. `what` names the event.
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// Does the same as [`eventually`], for an event that takes longer.
///
/// # Panics
/// Panics if there is none within `patience`.
#[track_caller]
pub fn within<T>(patience: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    let Some(found) = until(patience, look) else { panic!("waited in vain for {what}") };
    found
}

/// Calls `look` again and again for so long. Pauses grow with the time waited, and each lasts at least four times as
/// long as its look took, up to a tenth of a second. So an early event is seen early, and the waiting test leaves the
/// processors to the program. A look that takes longer waits itself.
pub(super) fn until<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = now();
    loop {
        let looked = now();
        if let Some(found) = look() {
            return Some(found);
        }
        let (waited, took) = (now().since(began), now().since(looked));
        if waited >= patience {
            return None;
        }
        let pause = (waited / 50).clamp(Duration::from_millis(1), Duration::from_millis(20));
        thread::sleep(pause.max((took * 4).min(Duration::from_millis(100))));
    }
}

/// Waits until a file has a full line, and returns its content.
///
/// # Panics
/// Panics if it has none within [`PATIENCE`].
#[track_caller]
pub fn line_of(path: &Path) -> String {
    eventually(&format!("a line in {}", path.display()), || {
        fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
    })
}
