//! The way out after the wrapper's death: this program, started anew, gives the entry up.
//!
//! It is started through a descriptor that was opened at the start, so that an upgrade meanwhile, or
//! a deleted file, does no harm.

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

/// How this program, started anew, gives an entry up.
pub struct Redeem {
    /// Its arguments, from its name on.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The variable in which it gets the ticket.
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

    /// Starts it, on streams of its own. It outlives the guardian. If it cannot be started the entry
    /// ends by itself.
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
        // It gives the entry up as well at a lower priority.
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
