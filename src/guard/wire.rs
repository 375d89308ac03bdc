//! The messages between wrapper and guardian. Each is small, and goes over a socket that keeps message boundaries
//! and tells each end when the other is gone.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use elect_api::{Boottime, Ticket, Token};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

use super::children::Ended;
use super::descriptors::{another, out_of_the_way};
use super::ladder::{Deadlines, Order};
use super::left::{Fate, Left, MOST_NAMED, NAME_SIZE, Named};

/// The length of every message in bytes, except for tickets and names of processes.
const SIZE: usize = 40;
/// The greatest length of a message, in bytes.
const MAX: usize = TICKET_AT + Ticket::MAX_LEN;
/// The offset of the text in a message with a ticket.
const TICKET_AT: usize = 8;
/// The tag of a message with a ticket.
const TICKET: u8 = 6;
/// The tag of a message with the names of processes, and the offsets of its parts.
const LEFT: u8 = 8;
const NAMES_AT: usize = 8;
const NAMED_SIZE: usize = size_of::<i32>() + NAME_SIZE;
const LEFT_SIZE: usize = NAMES_AT + MOST_NAMED * NAMED_SIZE;

/// A request from the wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToGuardian<'a> {
    /// Start the command. The descriptors that hold the lease come with this message.
    Start {
        /// The command's `ELECT_TOKEN`.
        token: Token,
        /// How many of the descriptors are locks. The command inherits the marks that follow them.
        locks: u8,
    },
    /// The command leads the part of the election with this number. This comes before the start.
    Part(u16),
    /// An order about the tree.
    Order(Order),
    /// Have the entry with this ticket given up, once the wrapper is gone and the tree is empty. An empty text
    /// stands for no ticket.
    Ticket(&'a [u8]),
}

/// A message as it goes over the socket.
pub(super) struct Message {
    bytes: [u8; MAX],
    length: usize,
}

impl Message {
    /// Room for a message to receive.
    pub(super) const EMPTY: Self = Self { bytes: [0; MAX], length: 0 };

    fn of_left(left: &Left) -> Self {
        let mut message = Self { bytes: [0; MAX], length: LEFT_SIZE };
        message.bytes[0] = LEFT;
        message.bytes[1] = left.fate as u8;
        message.bytes[4..8].copy_from_slice(&left.count.to_ne_bytes());
        let places = message.bytes[NAMES_AT..LEFT_SIZE].chunks_exact_mut(NAMED_SIZE);
        for (place, Named { pid, name }) in places.zip(left.first) {
            let (pid_at, name_at) = place.split_at_mut(size_of::<i32>());
            pid_at.copy_from_slice(&pid.to_ne_bytes());
            name_at.copy_from_slice(&name);
        }
        message
    }

    fn as_left(&self) -> Option<Left> {
        let bytes: &[u8; LEFT_SIZE] = self.as_bytes().try_into().ok()?;
        let fates = [Fate::Awaited, Fate::Asked, Fate::Killed];
        let fate = fates.into_iter().find(|&fate| fate as u8 == bytes[1])?;
        let count = u32::from_ne_bytes(bytes[4..8].try_into().ok()?);
        let mut first = [Named::default(); MOST_NAMED];
        for (named, place) in first.iter_mut().zip(bytes[NAMES_AT..].chunks_exact(NAMED_SIZE)) {
            let (pid, name) = place.split_at(size_of::<i32>());
            named.pid = i32::from_ne_bytes(pid.try_into().ok()?);
            named.name = name.try_into().ok()?;
        }
        Some(Left { fate, count, first })
    }

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
}

/// A report from the guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromGuardian {
    /// The command runs.
    Started {
        /// The process group of the command, which is also its process id.
        group: i32,
    },
    /// The command could not be executed, for this `errno`. `Empty` follows.
    NotStarted(i32),
    /// The soft deadline has passed, and the command was asked to stop.
    SoftPassed,
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command itself has ended. Other processes of its tree may live.
    Ended(Ended),
    /// elect may not signal this process of the tree, so its end is awaited.
    MayNotSignal(i32),
    /// These processes of the tree live, though the command has ended or its time is over.
    Left(Left),
    /// No process of the tree lives, and the guardian has released what holds the lease.
    Empty,
}

/// The parts of a message: its tag, a flag, a small number, and four instants or large numbers.
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

/// Returns an instant in nanoseconds since boot. The greatest number stands for "never".
pub(super) fn nanos(at: Option<Boottime>) -> u64 {
    at.map_or(u64::MAX, |at| u64::try_from(at.since_boot().as_nanos()).unwrap_or(u64::MAX))
}

impl<'a> ToGuardian<'a> {
    pub(super) fn encode(self) -> Message {
        let parts = match self {
            Self::Start { token, locks } => {
                let wide = [token.get(), 0, 0, 0];
                Parts { tag: 1, small: locks.into(), wide, ..Parts::default() }
            }
            Self::Order(Order::Renewed(Deadlines { soft, hard, dead_man, last })) => {
                let wide = [soft, hard, dead_man, last].map(|at| nanos(Some(at)));
                Parts { tag: 2, wide, ..Parts::default() }
            }
            Self::Order(Order::Stop { kill_at }) => {
                Parts { tag: 3, wide: [nanos(Some(kill_at)), 0, 0, 0], ..Parts::default() }
            }
            Self::Order(Order::Signal { signal, resume }) => {
                Parts { tag: 4, flag: resume, small: signal, ..Parts::default() }
            }
            Self::Order(Order::Ask { signal, kill_at }) => {
                let wide = [nanos(kill_at), 0, 0, 0];
                Parts { tag: 8, small: signal, wide, ..Parts::default() }
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
            1 => Self::Start { token: Token::new(first), locks: u8::try_from(small).ok()? },
            2 => Self::Order(Order::Renewed(Deadlines {
                soft: instant(first),
                hard: instant(second),
                dead_man: instant(third),
                last: instant(fourth),
            })),
            3 => Self::Order(Order::Stop { kill_at: instant(first) }),
            4 => Self::Order(Order::Signal { signal: small, resume: flag }),
            8 => {
                let kill_at = (first != u64::MAX).then(|| instant(first));
                Self::Order(Order::Ask { signal: small, kill_at })
            }
            5 => Self::Order(Order::Kill),
            7 => Self::Part(u16::try_from(small).ok()?),
            _ => return None,
        })
    }
}

impl FromGuardian {
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
            Self::Left(left) => return Message::of_left(&left),
        };
        Parts { tag, flag, small, ..Parts::default() }.pack()
    }

    pub(super) fn decode(message: &Message) -> Option<Self> {
        if message.as_bytes().first() == Some(&LEFT) {
            return message.as_left().map(Self::Left);
        }
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

/// The greatest number of descriptors that come with one message.
pub(super) const MOST_HOLDS: usize = 4;

/// Room for the descriptors of one message, aligned as the kernel demands.
#[repr(align(8))]
struct Control([u8; CONTROL as usize]);
const CONTROL: u32 = 64;

/// Makes two connected ends, which keep message boundaries and notice each other's end.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
    Ok((out_of_the_way(ours)?, out_of_the_way(theirs)?))
}

/// Sends one message with descriptors, without waiting.
///
/// # Errors
/// Returns `WouldBlock` if the other end does not read, and `BrokenPipe` or a similar error if it is gone.
pub(super) fn send(socket: &OwnedFd, message: &Message, holds: &[RawFd]) -> io::Result<()> {
    let holds = &holds[..holds.len().min(MOST_HOLDS)];
    let mut control = Control([0; CONTROL as usize]);
    // SAFETY: an all-zero msghdr is a valid empty one.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    let bytes = message.as_bytes();
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if !holds.is_empty() {
        let payload = u32::try_from(size_of_val(holds)).expect("sixteen bytes at most");
        header.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: the buffer is aligned and has room for MOST_HOLDS descriptors and their header; CMSG_FIRSTHDR
        // points into it as its length is set, and is therefore not null.
        unsafe {
            header.msg_controllen = libc::CMSG_SPACE(payload) as _;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(payload) as _;
            ptr::copy_nonoverlapping(
                holds.as_ptr().cast::<u8>(),
                libc::CMSG_DATA(first),
                payload as usize,
            );
        }
    }
    // SAFETY: the header points to a live buffer of each length it names.
    let sent = unsafe {
        libc::sendmsg(
            socket.as_raw_fd(),
            &raw const header,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The result of a read of the socket.
pub(super) enum Received {
    /// A message. Its descriptors, if any, are in the caller's slots. `complete` is false if some were lost, as
    /// there was no descriptor left for them.
    Message { complete: bool },
    /// There is no message now.
    Nothing,
    /// The other end is gone.
    End,
}

/// Receives one message without waiting.
pub(super) fn receive(
    socket: &OwnedFd,
    message: &mut Message,
    holds: &mut [Option<OwnedFd>; MOST_HOLDS],
) -> Received {
    let mut control = Control([0; CONTROL as usize]);
    // SAFETY: an all-zero msghdr is a valid empty one.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    let mut part = libc::iovec { iov_base: message.bytes.as_mut_ptr().cast(), iov_len: MAX };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL as _;
    // SAFETY: the header points to a live, writable buffer of each length it names.
    let got = unsafe {
        libc::recvmsg(
            socket.as_raw_fd(),
            &raw mut header,
            libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC,
        )
    };
    match usize::try_from(got) {
        Err(_) => match io::Error::last_os_error().kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Received::Nothing,
            _ => Received::End,
        },
        Ok(0) => Received::End,
        Ok(length) => {
            take_holds(&header, holds);
            message.length = length.min(MAX);
            Received::Message { complete: header.msg_flags & libc::MSG_CTRUNC == 0 }
        }
    }
}

/// Takes the descriptors of a message. A message without descriptors leaves `holds` as they are.
///
/// The command inherits the marks among them under their numbers in this process. So they get high numbers, lest a
/// script's `exec 6>file` close one. The numbers rise in the order of the message, as the kernel releases them by
/// number.
fn take_holds(header: &libc::msghdr, holds: &mut [Option<OwnedFd>; MOST_HOLDS]) {
    let mut received = [const { None }; MOST_HOLDS];
    // SAFETY: the kernel filled the header and the buffer it points to. CMSG_FIRSTHDR returns null or a complete
    // control header in it. An SCM_RIGHTS header carries descriptors that this process now owns.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(header);
        if first.is_null()
            || (*first).cmsg_level != libc::SOL_SOCKET
            || (*first).cmsg_type != libc::SCM_RIGHTS
        {
            return;
        }
        let data = libc::CMSG_DATA(first);
        for (index, slot) in received.iter_mut().enumerate() {
            let through = u32::try_from((index + 1) * size_of::<RawFd>()).unwrap_or(u32::MAX);
            if (*first).cmsg_len < libc::CMSG_LEN(through) as _ {
                break;
            }
            let number = ptr::read_unaligned(data.add(index * size_of::<RawFd>()).cast::<RawFd>());
            *slot = Some(OwnedFd::from_raw_fd(number));
        }
    }
    // No number becomes free before all have moved, so a later descriptor gets no lower one.
    let moved = received.each_ref().map(|fd| another(fd.as_ref()?).ok());
    let count = |fds: &[Option<OwnedFd>]| fds.iter().flatten().count();
    *holds = if count(&moved) == count(&received) { moved } else { received };
}

/// Checks that wrapper and guardian would encode any message that they accept in the same way.
///
/// # Panics
/// Panics if they would not.
#[cfg(feature = "fuzzing")]
pub fn fuzz(bytes: &[u8]) {
    let mut message = Message::EMPTY;
    let length = bytes.len().min(MAX);
    message.bytes[..length].copy_from_slice(&bytes[..length]);
    message.length = length;
    if let Some(request) = ToGuardian::decode(&message) {
        assert_eq!(ToGuardian::decode(&request.encode()), Some(request));
    }
    if let Some(report) = FromGuardian::decode(&message) {
        assert_eq!(FromGuardian::decode(&report.encode()), Some(report));
    }
}

#[cfg(test)]
mod tests;
