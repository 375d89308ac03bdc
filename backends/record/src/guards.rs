//! The guards of the promise in this crate. Builds for tests can turn them off, to show that a test notices.

use std::sync::OnceLock;

/// A guard that keeps the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The time for which an entry is unchanged counts from the second poll on.
    SecondLook,
    /// A candidate that gives an entry up writes over a request that may be under way.
    LateWrite,
    /// A new leader writes its token as the epoch of the values before it leads.
    Epoch,
    /// The lease of a known holder is waited for even if its record is gone.
    Removed,
    /// A ticket gives up its own entry only.
    TicketOwn,
    /// A lost reply means "perhaps", and not "no".
    Ambiguity,
    /// A change of leader wakes only the next waiter.
    OneWake,
    /// A record of an earlier epoch is waited for as long as the longest lease lasts.
    Doubt,
    /// A leader whose lease is over does not prove it again in a record of an earlier epoch.
    Lapsed,
    /// The token rises by a day of microseconds where the store may have lost tokens.
    TokenLeap,
}

/// Decides which guards are turned off.
pub type Judge = fn(Guard) -> bool;

static JUDGE: OnceLock<Judge> = OnceLock::new();

/// Makes `judge` decide which guards are turned off, from now on in this process.
#[cfg(feature = "guards")]
pub fn judge_by(judge: Judge) {
    let _ = JUDGE.set(judge);
}

/// Returns whether this guard is turned off.
pub(crate) fn is_off(guard: Guard) -> bool {
    cfg!(feature = "guards") && JUDGE.get().is_some_and(|judge| judge(guard))
}
