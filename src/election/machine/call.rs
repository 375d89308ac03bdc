//! The one call to the store. The machine makes the next one when this one is answered.

use std::time::Duration;

use elect_api::Boottime;

use crate::election::Call;

/// The one call to the store: sent, or due at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallState {
    /// No call is pending. The next one is due at this instant.
    Due(Boottime),
    Sent {
        call: Call,
        at: Boottime,
        overdue: Boottime,
        /// A wake came meanwhile. The next call is due at once.
        hastened: bool,
    },
    Never,
}

impl CallState {
    pub(super) const fn due(at: Boottime) -> Self {
        Self::Due(at)
    }

    pub(super) fn sent(call: Call, at: Boottime, timeout: Duration) -> Self {
        Self::Sent { call, at, overdue: at + timeout, hastened: false }
    }

    pub(super) const fn next_tick(&self) -> Option<Boottime> {
        match *self {
            Self::Due(at) => Some(at),
            Self::Sent { overdue, .. } => Some(overdue),
            Self::Never => None,
        }
    }

    pub(super) fn is_due(&self, now: Boottime) -> bool {
        matches!(*self, Self::Due(at) if at <= now)
    }

    pub(super) fn is_overdue(&self, now: Boottime) -> bool {
        matches!(*self, Self::Sent { overdue, .. } if overdue <= now)
    }

    pub(super) const fn when_sent(&self) -> Option<Boottime> {
        match *self {
            Self::Sent { at, .. } => Some(at),
            _ => None,
        }
    }

    pub(super) const fn is_hastened(&self) -> bool {
        matches!(*self, Self::Sent { hastened: true, .. })
    }

    /// Makes the next call due at `now`, or as soon as the pending call is answered.
    pub(super) fn hasten(&mut self, now: Boottime) {
        match self {
            Self::Due(at) => *at = now.min(*at),
            Self::Sent { hastened, .. } => *hastened = true,
            Self::Never => {}
        }
    }

    /// The pending call.
    pub(super) const fn call(&self) -> Option<&Call> {
        match self {
            Self::Sent { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Makes no call due any more. Returns the pending call.
    pub(super) fn forget(&mut self) -> Option<Call> {
        match std::mem::replace(self, Self::Never) {
            Self::Sent { call, .. } => Some(call),
            _ => None,
        }
    }
}
