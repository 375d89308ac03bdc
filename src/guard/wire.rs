//! What wrapper and guardian say to each other: one fixed-size message each, over a socket that
//! keeps message boundaries and tells both ends when the other is gone.

use std::time::Duration;

use elect_api::{Boottime, Token};

/// The length of every message, in bytes.
pub(super) const SIZE: usize = 24;

/// From the wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Start the command; what holds the lease comes along as descriptors.
    Start {
        /// The command's `ELECT_TOKEN`.
        token: Token,
    },
    /// Signal the command's group.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Follow it with CONT, so that a stopped command can obey.
        resume: bool,
        /// Kill everything at this instant, or earlier if an earlier one was given before.
        kill_at: Option<Boottime>,
    },
    /// Kill everything now.
    Kill,
}

/// From the guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The command runs.
    Started {
        /// Its process group, which is also its process id.
        group: i32,
    },
    /// The command could not be executed, for this `errno`. `Empty` follows.
    NotStarted(i32),
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command itself has ended; others of its tree may live.
    Ended(Ended),
    /// No process of the tree lives, and the guardian has let go of what holds the lease.
    Empty,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exited(u8),
    /// This signal ended it.
    Signaled(u8),
}

fn pack(tag: u8, small: i32, wide: u64, flag: bool) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    bytes[0] = tag;
    bytes[1] = u8::from(flag);
    bytes[8..12].copy_from_slice(&small.to_ne_bytes());
    bytes[16..24].copy_from_slice(&wide.to_ne_bytes());
    bytes
}

fn unpack(bytes: &[u8]) -> Option<(u8, i32, u64, bool)> {
    let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
    let small = i32::from_ne_bytes(bytes[8..12].try_into().ok()?);
    let wide = u64::from_ne_bytes(bytes[16..24].try_into().ok()?);
    Some((bytes[0], small, wide, bytes[1] != 0))
}

/// Nanoseconds since boot, with the greatest number for "never".
pub(super) fn nanos(at: Option<Boottime>) -> u64 {
    at.map_or(u64::MAX, |at| u64::try_from(at.since_boot().as_nanos()).unwrap_or(u64::MAX))
}

impl Order {
    pub(super) fn encode(self) -> [u8; SIZE] {
        match self {
            Self::Start { token } => pack(1, 0, token.get(), false),
            Self::Signal { signal, resume, kill_at } => pack(2, signal, nanos(kill_at), resume),
            Self::Kill => pack(3, 0, 0, false),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        Some(match unpack(bytes)? {
            (1, _, token, _) => Self::Start { token: Token::new(token) },
            (2, signal, nanos, resume) => {
                let at = Boottime::from_boot(Duration::from_nanos(nanos));
                Self::Signal { signal, resume, kill_at: (nanos != u64::MAX).then_some(at) }
            }
            (3, ..) => Self::Kill,
            _ => return None,
        })
    }
}

impl Report {
    pub(super) fn encode(self) -> [u8; SIZE] {
        match self {
            Self::Started { group } => pack(1, group, 0, false),
            Self::NotStarted(errno) => pack(2, errno, 0, false),
            Self::Stopped(signal) => pack(3, signal, 0, false),
            Self::Ended(Ended::Exited(code)) => pack(4, i32::from(code), 0, false),
            Self::Ended(Ended::Signaled(signal)) => pack(4, i32::from(signal), 0, true),
            Self::Empty => pack(5, 0, 0, false),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        Some(match unpack(bytes)? {
            (1, group, ..) => Self::Started { group },
            (2, errno, ..) => Self::NotStarted(errno),
            (3, signal, ..) => Self::Stopped(signal),
            (4, code, _, false) => Self::Ended(Ended::Exited(u8::try_from(code).ok()?)),
            (4, signal, _, true) => Self::Ended(Ended::Signaled(u8::try_from(signal).ok()?)),
            (5, ..) => Self::Empty,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_wire() {
        let at = Boottime::from_boot(Duration::from_millis(7));
        for order in [
            Order::Start { token: Token::new(u64::MAX) },
            Order::Signal { signal: 15, resume: true, kill_at: Some(at) },
            Order::Signal { signal: 28, resume: false, kill_at: None },
            Order::Kill,
        ] {
            assert_eq!(Order::decode(&order.encode()), Some(order));
        }
        assert_eq!(Order::decode(&[9; SIZE]), None);
        assert_eq!(Order::decode(&[1; 3]), None);
    }

    #[test]
    fn reports_survive_the_wire() {
        for report in [
            Report::Started { group: 4_194_304 },
            Report::NotStarted(2),
            Report::Stopped(20),
            Report::Ended(Ended::Exited(255)),
            Report::Ended(Ended::Signaled(64)),
            Report::Empty,
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }
}
