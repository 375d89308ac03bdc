//! From the order to start until the command is known to run, or not to.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use super::GuardianProcess;
use crate::guard::descriptors;
use crate::guard::kill_loop::KillLoop;
use crate::guard::ladder::Event;
use crate::guard::redeemer::Redeemer;
use crate::guard::spawn::{self, Role, SpawnRequest};
use crate::guard::wire::FromGuardian;

impl GuardianProcess {
    pub(super) fn spawn(&mut self) {
        if let Err(error) = self.prepare_again() {
            return self.not_started(error.raw_os_error().unwrap_or(libc::EMFILE));
        }
        let request = SpawnRequest {
            launch: &mut self.parts.launch,
            marks: &self.holds[self.locks..],
            death_writers: Some(self.parts.death_writers.descriptors()),
            lease: self.parts.lease.memory(),
            null: &self.parts.null,
            before: self.before,
            // SAFETY: getpid has no preconditions.
            guardian: unsafe { libc::getpid() },
        };
        match self.parts.enclosure.spawn(request) {
            Ok(pid) => {
                (self.command, self.group) = (Some(pid), Some(pid));
                if self.parts.lasting.is_none() {
                    self.let_go_of_the_commands();
                }
            }
            Err(errno) => self.not_started(errno),
        }
    }

    /// Makes a new failure pipe for the next command, if the last command has used the pipe up. It needs no more
    /// descriptors than before.
    fn prepare_again(&mut self) -> io::Result<()> {
        if self.parts.launch.failure_write.is_some() {
            return Ok(());
        }
        let (read, write) = spawn::failure_pipe()?;
        self.parts.failure_read = read;
        self.parts.launch.failure_write = Some(write);
        self.launched = false;
        self.kill_loop = KillLoop::default();
        Ok(())
    }

    /// Closes everything that only the command needs: its streams, and the other descriptors that elect inherited.
    fn let_go_of_the_commands(&mut self) {
        descriptors::silence(&self.parts.null, &[0, 1, 2]);
        // SAFETY: three kinds of descriptors are closed. `launch` never touches its copy of the failure pipe's write
        // end again, as no other command comes. No object of the guardian uses those that elect inherited from its
        // parent, or that elect had open as wrapper.
        unsafe { self.close_all_but_own(None) };
    }

    /// Closes everything that the wrapper has open for other work, if it guards more than this command. Neither this
    /// command nor its guardian may hold the wrapper's lease or connections, or the streams of another command.
    pub(super) fn close_others(&mut self) {
        match self.parts.role {
            Role::Leads => {}
            Role::LeadsAmongOthers => descriptors::silence(&self.parts.null, &[0]),
            Role::Helps => descriptors::silence(&self.parts.null, &[0, 1]),
        }
        let failure_write = self.parts.launch.failure_write.as_ref().map(AsRawFd::as_raw_fd);
        // SAFETY: the closed descriptors belong to objects of the wrapper, and the guardian uses none of those.
        unsafe { self.close_all_but_own(failure_write) };
    }

    /// # Safety
    /// No object of the guardian may use a descriptor other than those of `parts` and `holds`. It may use the write
    /// end of the failure pipe only if that is `more`.
    unsafe fn close_all_but_own(&mut self, more: Option<RawFd>) {
        let ours = [
            self.parts.socket.as_raw_fd(),
            self.parts.failure_read.as_raw_fd(),
            self.parts.null.as_raw_fd(),
            self.parts.lease.memory().as_raw_fd(),
            self.parts.child_news.as_fd().as_raw_fd(),
            self.parts.timer.as_fd().as_raw_fd(),
        ];
        let optional = [
            self.parts.launch.terminal.as_ref().map(crate::guard::Terminal::device),
            self.parts.redeemer.as_ref().map(Redeemer::program),
        ];
        let others = optional.into_iter().chain(self.holds.iter().map(Option::as_ref)).flatten();
        let open = &mut self.parts.open;
        open.clear();
        open.extend(ours.into_iter().chain(others.map(AsRawFd::as_raw_fd)).chain(more));
        open.extend(self.parts.death_writers.descriptors());
        open.extend(self.parts.launch.death_readers.descriptors());
        open.extend(self.parts.lasting.iter().flatten());
        self.parts.enclosure.each_descriptor(|fd| open.push(fd));
        // SAFETY: the caller guarantees this.
        unsafe { descriptors::close_all_but(open) };
    }

    pub(super) fn learn_of_launch(&mut self) {
        let (Some(group), false) = (self.command, self.launched) else { return };
        let mut errno = [0; size_of::<i32>()];
        match descriptors::read_now(&self.parts.failure_read, &mut errno) {
            Ok(None) => {}
            Ok(Some(0)) | Err(_) => {
                self.launched = true;
                self.report(FromGuardian::Started { group });
            }
            Ok(Some(_)) => {
                self.launched = true;
                self.report(FromGuardian::NotStarted(i32::from_ne_bytes(errno)));
            }
        }
    }

    /// Reports that no command could be made, and an empty tree.
    pub(super) fn not_started(&mut self, errno: i32) {
        self.report(FromGuardian::NotStarted(errno));
        self.step(Event::NotStarted);
    }
}
