//! The one call to the store that may be under way, or when the next is due.

use std::time::Duration;

use elect_api::Boottime;

use crate::election::Call;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// None is under way; the next is due at this instant.
    Due(Boottime),
    Sent {
        call: Call,
        at: Boottime,
        overdue: Boottime,
        /// A wake came meanwhile: ask again at once.
        hastened: bool,
    },
    Never,
}

impl Request {
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

    /// Asks again at once, or as soon as the answer under way is there.
    pub(super) fn hasten(&mut self, now: Boottime) {
        match self {
            Self::Due(at) => *at = now.min(*at),
            Self::Sent { hastened, .. } => *hastened = true,
            Self::Never => {}
        }
    }

    /// What is under way.
    pub(super) const fn call(&self) -> Option<&Call> {
        match self {
            Self::Sent { call, .. } => Some(call),
            _ => None,
        }
    }

    /// No request from here on; what was under way is returned.
    pub(super) fn forget(&mut self) -> Option<Call> {
        match std::mem::replace(self, Self::Never) {
            Self::Sent { call, .. } => Some(call),
            _ => None,
        }
    }
}
