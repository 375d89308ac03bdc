//! What wrapper and guardian say to each other: one small message each, over a socket that
//! keeps message boundaries and tells both ends when the other is gone.

use std::fmt;
use std::time::Duration;

use elect_api::{Boottime, Ticket, Token};

use super::ladder::{Deadlines, Order};

/// The length of every message but a ticket, in bytes.
const SIZE: usize = 40;
/// The greatest length of a message, in bytes.
pub(super) const MAX: usize = TICKET_AT + Ticket::MAX_LEN;
/// Where the text of a ticket begins.
const TICKET_AT: usize = 8;
/// Marks the message that carries a ticket.
const TICKET: u8 = 6;

/// From the wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request<'a> {
    /// Start the command; what holds the lease comes along as descriptors.
    Start {
        /// The command's `ELECT_TOKEN`.
        token: Token,
        /// How many of the descriptors, the first ones, the command inherits.
        marks: u8,
    },
    /// The command leads the part of the election that has this number; it comes before the start.
    Part(u16),
    /// This is asked of the tree.
    Order(Order),
    /// Have the entry with this ticket given up, once the wrapper is gone and the tree is empty. An empty text is no
    /// ticket.
    Ticket(&'a [u8]),
}

/// The text of a ticket, where nothing can be allocated.
pub(super) struct TicketText {
    bytes: [u8; Ticket::MAX_LEN],
    length: usize,
}

impl TicketText {
    /// That of no ticket.
    pub(super) const NONE: Self = Self { bytes: [0; Ticket::MAX_LEN], length: 0 };

    /// Takes this text in the place of what it had.
    pub(super) fn set(&mut self, text: &[u8]) {
        self.length = text.len().min(Ticket::MAX_LEN);
        self.bytes[..self.length].copy_from_slice(&text[..self.length]);
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) const fn is_none(&self) -> bool {
        self.length == 0
    }
}

/// A message as it goes over the socket.
pub(super) struct Message {
    bytes: [u8; MAX],
    length: usize,
}

impl Message {
    /// Room for one to come.
    pub(super) const EMPTY: Self = Self { bytes: [0; MAX], length: 0 };

    fn of_ticket(text: &[u8]) -> Self {
        let text = &text[..text.len().min(Ticket::MAX_LEN)];
        let mut message = Self { bytes: [0; MAX], length: TICKET_AT + text.len() };
        message.bytes[0] = TICKET;
        message.bytes[TICKET_AT..message.length].copy_from_slice(text);
        message
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) const fn is_ticket(&self) -> bool {
        self.length > 0 && self.bytes[0] == TICKET
    }

    /// The room, to be filled; `came` says how much of it was.
    pub(super) fn room(&mut self) -> &mut [u8; MAX] {
        &mut self.bytes
    }

    pub(super) fn came(&mut self, length: usize) {
        self.length = length.min(MAX);
    }
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
    /// The soft deadline has passed; the command was asked to stop.
    SoftPassed,
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command itself has ended; others of its tree may live.
    Ended(Ended),
    /// This process of the tree may not be signalled by us: its end is awaited.
    MayNotSignal(i32),
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

impl Ended {
    /// The code by which a shell shows it: 128 and the number of a signal.
    pub const fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => signal.saturating_add(128),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signaled(signal) => write!(f, "was ended by {}", signal_name((*signal).into())),
        }
    }
}

/// What people call a signal: `SIGTERM`; where it has no name, `signal 64`.
pub fn signal_name(number: i32) -> String {
    let named = nix::sys::signal::Signal::try_from(number);
    named.map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}

/// What people are told where this signal asked elect to end.
pub fn told_to_end(signal: i32) -> String {
    format!("told to end by {}", signal_name(signal))
}

/// One message in parts: what it is, a flag, a small number, four instants or large numbers.
#[derive(Default)]
struct Parts {
    tag: u8,
    flag: bool,
    small: i32,
    wide: [u64; 4],
}

impl Parts {
    fn pack(&self) -> Message {
        let mut bytes = [0; MAX];
        bytes[0] = self.tag;
        bytes[1] = u8::from(self.flag);
        bytes[4..8].copy_from_slice(&self.small.to_ne_bytes());
        for (place, number) in bytes[8..SIZE].chunks_exact_mut(8).zip(self.wide) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        Message { bytes, length: SIZE }
    }

    fn unpack(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
        let mut wide = [0; 4];
        for (number, place) in wide.iter_mut().zip(bytes[8..].chunks_exact(8)) {
            *number = u64::from_ne_bytes(place.try_into().ok()?);
        }
        let small = i32::from_ne_bytes(bytes[4..8].try_into().ok()?);
        Some(Self { tag: bytes[0], flag: bytes[1] != 0, small, wide })
    }
}

fn instant(nanos: u64) -> Boottime {
    Boottime::from_boot(Duration::from_nanos(nanos))
}

/// Nanoseconds since boot, with the greatest number for "never".
pub(super) fn nanos(at: Option<Boottime>) -> u64 {
    at.map_or(u64::MAX, |at| u64::try_from(at.since_boot().as_nanos()).unwrap_or(u64::MAX))
}

impl<'a> Request<'a> {
    pub(super) fn encode(self) -> Message {
        let parts = match self {
            Self::Start { token, marks } => {
                let wide = [token.get(), 0, 0, 0];
                Parts { tag: 1, small: marks.into(), wide, ..Parts::default() }
            }
            Self::Order(Order::Renewed(Deadlines { soft, hard, dead_man, last })) => {
                let wide = [soft, hard, dead_man, last].map(|at| nanos(Some(at)));
                Parts { tag: 2, wide, ..Parts::default() }
            }
            Self::Order(Order::Stop { kill_at }) => {
                Parts { tag: 3, wide: [nanos(Some(kill_at)), 0, 0, 0], ..Parts::default() }
            }
            Self::Order(Order::Signal { signal, resume, kill_at }) => {
                Parts { tag: 4, flag: resume, small: signal, wide: [nanos(kill_at), 0, 0, 0] }
            }
            Self::Order(Order::Kill) => Parts { tag: 5, ..Parts::default() },
            Self::Part(number) => Parts { tag: 7, small: number.into(), ..Parts::default() },
            Self::Ticket(text) => return Message::of_ticket(text),
        };
        parts.pack()
    }

    pub(super) fn decode(message: &'a Message) -> Option<Self> {
        let bytes = message.as_bytes();
        if bytes.first() == Some(&TICKET) {
            return Some(Self::Ticket(bytes.get(TICKET_AT..)?));
        }
        let Parts { tag, flag, small, wide: [first, second, third, fourth] } =
            Parts::unpack(bytes)?;
        Some(match tag {
            1 => Self::Start { token: Token::new(first), marks: u8::try_from(small).ok()? },
            2 => Self::Order(Order::Renewed(Deadlines {
                soft: instant(first),
                hard: instant(second),
                dead_man: instant(third),
                last: instant(fourth),
            })),
            3 => Self::Order(Order::Stop { kill_at: instant(first) }),
            4 => {
                let kill_at = (first != u64::MAX).then(|| instant(first));
                Self::Order(Order::Signal { signal: small, resume: flag, kill_at })
            }
            5 => Self::Order(Order::Kill),
            7 => Self::Part(u16::try_from(small).ok()?),
            _ => return None,
        })
    }
}

impl Report {
    pub(super) fn encode(self) -> Message {
        let (tag, small, flag) = match self {
            Self::Started { group } => (1, group, false),
            Self::NotStarted(errno) => (2, errno, false),
            Self::SoftPassed => (3, 0, false),
            Self::Stopped(signal) => (4, signal, false),
            Self::Ended(Ended::Exited(code)) => (5, i32::from(code), false),
            Self::Ended(Ended::Signaled(signal)) => (5, i32::from(signal), true),
            Self::Empty => (6, 0, false),
            Self::MayNotSignal(pid) => (7, pid, false),
        };
        Parts { tag, flag, small, ..Parts::default() }.pack()
    }

    pub(super) fn decode(message: &Message) -> Option<Self> {
        let Parts { tag, flag, small, .. } = Parts::unpack(message.as_bytes())?;
        Some(match (tag, flag) {
            (1, _) => Self::Started { group: small },
            (2, _) => Self::NotStarted(small),
            (3, _) => Self::SoftPassed,
            (4, _) => Self::Stopped(small),
            (5, false) => Self::Ended(Ended::Exited(u8::try_from(small).ok()?)),
            (5, true) => Self::Ended(Ended::Signaled(u8::try_from(small).ok()?)),
            (6, _) => Self::Empty,
            (7, _) => Self::MayNotSignal(small),
            _ => return None,
        })
    }
}

/// What wrapper and guardian take for a message, they would say so themselves.
///
/// # Panics
/// When they would not.
#[cfg(feature = "fuzzing")]
pub fn fuzz(bytes: &[u8]) {
    let mut message = Message::EMPTY;
    let length = bytes.len().min(MAX);
    message.room()[..length].copy_from_slice(&bytes[..length]);
    message.came(length);
    if let Some(request) = Request::decode(&message) {
        assert_eq!(Request::decode(&request.encode()), Some(request));
    }
    if let Some(report) = Report::decode(&message) {
        assert_eq!(Report::decode(&report.encode()), Some(report));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        let at = Boottime::from_boot(Duration::from_millis(7));
        for request in [
            Request::Start { token: Token::new(u64::MAX), marks: u8::MAX },
            Request::Order(Order::Renewed(Deadlines {
                soft: at,
                hard: at + at.since_boot(),
                dead_man: at,
                last: at + at.since_boot(),
            })),
            Request::Order(Order::Stop { kill_at: at }),
            Request::Order(Order::Signal { signal: 15, resume: true, kill_at: Some(at) }),
            Request::Order(Order::pass_on(28)),
            Request::Order(Order::Kill),
            Request::Part(u16::MAX),
            Request::Ticket(b"7587869"),
            Request::Ticket(&[]),
            Request::Ticket(&[b'x'; Ticket::MAX_LEN]),
        ] {
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        let nonsense = |byte, length| Message { bytes: [byte; MAX], length };
        assert_eq!(Request::decode(&nonsense(9, SIZE)), None);
        assert_eq!(Request::decode(&nonsense(1, 3)), None);
        assert_eq!(Request::decode(&Message::EMPTY), None);
    }

    #[test]
    fn reports_survive_the_wire() {
        for report in [
            Report::Started { group: 4_194_304 },
            Report::NotStarted(2),
            Report::SoftPassed,
            Report::Stopped(20),
            Report::Ended(Ended::Exited(255)),
            Report::Ended(Ended::Signaled(64)),
            Report::Empty,
            Report::MayNotSignal(7),
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }
}
