//! What keeps the promise here, and can be turned off in builds for tests, so that they can show that they notice.

use std::sync::OnceLock;

/// A guard that keeps the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Counting the time for which an entry is unchanged from the second look on.
    SecondLook,
    /// Writing over what may be under way when an entry is given up.
    LateWrite,
    /// Writing a new leader's token where values are, before it leads.
    Epoch,
    /// Waiting for a holder that was seen, though its record is gone.
    Removed,
    /// Giving up no entry but the one that a ticket is for.
    TicketOwn,
    /// Taking a lost reply for "perhaps", not for "no".
    Ambiguity,
    /// Waking one waiter at a change, the next.
    OneWake,
}

/// Says which are turned off.
pub type Judge = fn(Guard) -> bool;

static JUDGE: OnceLock<Judge> = OnceLock::new();

/// Has `judge` say which guards are turned off, from now on in this process.
#[cfg(feature = "guards")]
pub fn judge_by(judge: Judge) {
    let _ = JUDGE.set(judge);
}

/// Whether it is turned off.
pub(crate) fn is_off(guard: Guard) -> bool {
    cfg!(feature = "guards") && JUDGE.get().is_some_and(|judge| judge(guard))
}
