//! The socket between wrapper and guardian, and what waits until it takes more.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

use super::descriptors::out_of_the_way;
use super::wire::{MAX, Message, Report};

/// The greatest number of descriptors that come with one message.
pub(super) const MOST_HOLDS: usize = 4;

/// Room for the descriptors of one message, aligned as the kernel wants it.
#[repr(align(8))]
struct Control([u8; CONTROL as usize]);
const CONTROL: u32 = 64;

/// Two connected ends that keep message boundaries and see each other's end.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
    Ok((out_of_the_way(ours)?, out_of_the_way(theirs)?))
}

/// Sends one message, with descriptors, without waiting.
///
/// # Errors
/// `WouldBlock` when the other end does not read; `BrokenPipe` or similar when it is gone.
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
        // SAFETY: the buffer is aligned and has room for MOST_HOLDS descriptors and their header;
        // CMSG_FIRSTHDR points into it as its length is set, and is therefore not null.
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

/// What came over the socket.
pub(super) enum Received {
    /// A message; its descriptors, if any, are in the caller's slots. `complete` is false when some
    /// got lost, as no descriptor was left for them.
    Message { complete: bool },
    /// Nothing now.
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
    let mut part = libc::iovec { iov_base: message.room().as_mut_ptr().cast(), iov_len: MAX };
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
            let kept = take_holds(&header, holds);
            message.came(length);
            Received::Message { complete: kept && header.msg_flags & libc::MSG_CTRUNC == 0 }
        }
    }
}

/// Takes the descriptors that came along, and says whether all of them could be kept.
///
/// The command inherits the marks among them under the numbers that they have here: out of the way, lest a script's
/// `exec 6>file` close one.
fn take_holds(header: &libc::msghdr, holds: &mut [Option<OwnedFd>; MOST_HOLDS]) -> bool {
    let mut kept = true;
    // SAFETY: the kernel filled the header and the buffer it points to; CMSG_FIRSTHDR gives null or
    // a complete control header in it, and an SCM_RIGHTS one carries descriptors that are now ours.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(header);
        if first.is_null()
            || (*first).cmsg_level != libc::SOL_SOCKET
            || (*first).cmsg_type != libc::SCM_RIGHTS
        {
            return true;
        }
        let data = libc::CMSG_DATA(first);
        for (index, slot) in holds.iter_mut().enumerate() {
            let through = u32::try_from((index + 1) * size_of::<RawFd>()).unwrap_or(u32::MAX);
            if (*first).cmsg_len < libc::CMSG_LEN(through) as _ {
                break;
            }
            let number = ptr::read_unaligned(data.add(index * size_of::<RawFd>()).cast::<RawFd>());
            *slot = out_of_the_way(OwnedFd::from_raw_fd(number)).ok();
            kept &= slot.is_some();
        }
    }
    kept
}

/// Reports that wait, the oldest first: a command has at most three that have to arrive. Nothing is allocated.
#[derive(Default)]
pub(super) struct Outbox([Option<Report>; 4]);

impl Outbox {
    pub(super) const fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// Reports in order. What the command's stops have to say, and who cannot be killed, is dropped when the wrapper
    /// does not read, as it may be stopped itself; the rest waits for it.
    pub(super) fn report(&mut self, socket: &OwnedFd, report: Report) {
        if self.is_empty() && send(socket, &report.encode(), &[]).is_ok() {
            return;
        }
        if !matches!(report, Report::Stopped(_) | Report::MayNotSignal(_))
            && let Some(slot) = self.0.iter_mut().find(|slot| slot.is_none())
        {
            *slot = Some(report);
        }
    }

    /// Sends what waits, as far as there is room now.
    pub(super) fn send(&mut self, socket: &OwnedFd) {
        while let Some(report) = self.0[0] {
            if send(socket, &report.encode(), &[]).is_err() {
                return;
            }
            self.0.rotate_left(1);
            self.0[3] = None;
        }
    }
}

/// Requests that wait, the oldest first.
#[derive(Default)]
pub(super) struct Unsent(VecDeque<Box<Message>>);

impl Unsent {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Has a request wait behind the others. Of tickets the last one counts, and of equal signals that wait for a
    /// stopped process the kernel, too, keeps one.
    pub(super) fn add(&mut self, message: Message) {
        if message.is_ticket() {
            self.0.retain(|other| !other.is_ticket());
        }
        if !self.0.iter().any(|other| other.as_bytes() == message.as_bytes()) {
            self.0.push_back(Box::new(message));
        }
    }

    /// Sends what waits, as far as there is room now.
    pub(super) fn send(&mut self, socket: &OwnedFd) {
        while let Some(message) = self.0.front() {
            if send(socket, message, &[]).is_err() {
                return;
            }
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod channel_tests {
    use super::*;
    use crate::guard::wire::Report;

    #[test]
    fn messages_carry_descriptors_and_the_end_is_seen() {
        let (ours, theirs) = pair().expect("a socket");
        let (mut message, mut holds) = (Message::EMPTY, [const { None }; MOST_HOLDS]);
        assert!(matches!(receive(&theirs, &mut message, &mut holds), Received::Nothing));
        send(&ours, &Report::Empty.encode(), &[0, 1]).expect("sent");
        assert!(matches!(
            receive(&theirs, &mut message, &mut holds),
            Received::Message { complete: true }
        ));
        assert_eq!(Report::decode(&message), Some(Report::Empty));
        assert_eq!(holds.iter().flatten().count(), 2);
        drop(ours);
        assert!(matches!(receive(&theirs, &mut message, &mut holds), Received::End));
        assert!(send(&theirs, &message, &[]).is_err());
    }
}

#[cfg(test)]
mod outbox_tests {
    use super::*;
    use crate::guard::ladder::Order;
    use crate::guard::wire::Request;

    #[test]
    fn the_last_ticket_counts_and_equal_signals_count_once() {
        let (signal, ticket) = (Request::Order(Order::pass_on(28)), Request::Ticket(b"7"));
        let mut unsent = Unsent::default();
        // Nobody is to have a ticket in the end: neither the one before, nor by taking this for known.
        for request in [Request::Ticket(&[]), signal, ticket, signal, Request::Ticket(&[])] {
            unsent.add(request.encode());
        }
        let waiting: Vec<_> = unsent.0.iter().map(|message| Request::decode(message)).collect();
        assert_eq!(waiting, [Some(signal), Some(Request::Ticket(&[]))]);
    }
}
