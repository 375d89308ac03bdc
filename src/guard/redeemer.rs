//! Gives up the entry after the wrapper's death, by a new process of this program.
//!
//! The program is started through a descriptor that was opened at the start. So it does no harm if
//! the file is upgraded or deleted meanwhile.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use elect_api::Ticket;
use nix::fcntl::{OFlag, open};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::stat::Mode;

use super::descriptors::{close_all_but, out_of_the_way, silence};
use super::image::{Image, Late, Pointers};
use super::priority::Before;

/// How to start this program so that it gives up an entry.
pub struct Redeem {
    /// The arguments, from the program's name on.
    pub arguments: Vec<OsString>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The name of the variable that gets the ticket.
    pub variable: &'static str,
}

pub(super) struct Redeemer {
    program: OwnedFd,
    ticket: &'static str,
    image: Image,
    pointers: Pointers,
}

impl Redeemer {
    pub(super) fn new(redeem: &Redeem) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
        let program = out_of_the_way(open(c"/proc/self/exe", flags, Mode::empty())?)?;
        let late = Late { name: redeem.variable, room: Ticket::MAX_LEN };
        let image = Image::new(&redeem.arguments, &redeem.environment, &[late])?;
        Ok(Self { program, ticket: redeem.variable, pointers: image.pointers(), image })
    }

    pub(super) const fn program(&self) -> &OwnedFd {
        &self.program
    }

    /// Starts the program with streams of its own. It outlives the guardian. If it cannot be
    /// started, the entry ends with its lease.
    pub(super) fn start(
        &mut self,
        ticket: &TicketText,
        mask: &SigSet,
        null: &OwnedFd,
        before: Before,
    ) {
        self.image.set_late(self.ticket, ticket.as_bytes());
        // SAFETY: the guardian has one thread; the child only makes system calls until its exec.
        if unsafe { libc::fork() } != 0 {
            return;
        }
        // A lower priority suffices to give up the entry.
        before.restore();
        silence(null, &[0, 1, 2]);
        // SAFETY: nothing of this process is used after the exec, nor after the exit.
        unsafe { close_all_but(&mut [self.program.as_raw_fd()]) };
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None);
        self.pointers.exec_file(&self.program);
        // SAFETY: _exit has no preconditions.
        unsafe { libc::_exit(127) }
    }
}

/// The text of a ticket, in memory that needs no allocation.
pub(super) struct TicketText {
    bytes: [u8; Ticket::MAX_LEN],
    length: usize,
}

impl TicketText {
    /// The text that stands for no ticket.
    pub(super) const NONE: Self = Self { bytes: [0; Ticket::MAX_LEN], length: 0 };

    /// Replaces the text.
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
