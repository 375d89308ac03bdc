//! The process of the guardian: one loop over its socket, its children and its timer. Once it runs, it allocates
//! nothing, and it opens only what it has reserved room for. So neither a lack of memory nor of descriptors can keep
//! it from killing.

mod launch;
mod tree;

use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::SignalFd;
use nix::sys::timerfd::TimerFd;

use super::bound::adopt_orphans;
use super::dead_man::DeadMan;
use super::enclosure::Enclosure;
use super::kill_loop::KillLoop;
use super::ladder::{Action, Asked, Event, Ladder, Order};
use super::left::Fate;
use super::outbox::Outbox;
use super::pass::{Deed, Heard};
use super::priority::Before;
use super::redeemer::{Redeemer, TicketText};
use super::spawn::{Launch, Role};
use super::wire::{self, FromGuardian, MOST_HOLDS, Message, Received, ToGuardian, nanos};
use super::{allocator, clock, dead_man, lease, priority};

/// The largest number of descriptors that a guardian has of its own.
pub(super) const MOST_OPEN: usize = 40;

/// The parts that the guardian is forked with. All of them exist before the fork.
pub(super) struct GuardianParts {
    pub(super) socket: OwnedFd,
    pub(super) death_writers: dead_man::Writers,
    pub(super) failure_read: OwnedFd,
    pub(super) launch: Launch,
    pub(super) enclosure: Enclosure,
    pub(super) null: OwnedFd,
    pub(super) lease: lease::Writer,
    pub(super) child_news: SignalFd,
    pub(super) timer: TimerFd,
    pub(super) ladder: Ladder,
    /// The role of the command for elect.
    pub(super) role: Role,
    /// The descriptors that each command inherits from elect's own parent, if more than one command is started.
    pub(super) lasting: Option<Vec<RawFd>>,
    /// Room for the numbers of all descriptors that stay open.
    pub(super) open: Vec<RawFd>,
    /// The signal that asks the command to stop.
    pub(super) ask: i32,
    /// Whether the dead-man timer is on. Only tests turn it off.
    pub(super) dead_man_is_on: bool,
    /// `None` if the death of elect's processes frees the entry by itself.
    pub(super) redeemer: Option<Redeemer>,
}

struct GuardianProcess {
    parts: GuardianParts,
    /// The dead-man timer, if the lease ends by time.
    dead_man: Option<DeadMan>,
    /// The entry to give up if the wrapper dies.
    ticket: TicketText,
    holds: [Option<OwnedFd>; MOST_HOLDS],
    /// How many of `holds` are locks. The command inherits the marks that follow them.
    locks: usize,
    /// The process id of the command, until it is reaped.
    command: Option<i32>,
    /// The process group that the command has, or had.
    group: Option<i32>,
    /// Whether it is known if the exec worked.
    launched: bool,
    kill_loop: KillLoop,
    /// Whether more children are dead than were reaped at once.
    has_dead: bool,
    /// The last process that the guardian may not signal and has reported.
    refused: Option<i32>,
    /// The scheduling that the command gets back, from before the guardian raised its own.
    before: Before,
    outbox: Outbox,
}

/// Turns this freshly forked process into the guardian.
pub(super) fn main(mut parts: GuardianParts) -> ! {
    // The wrapper has tried all of these calls itself, and sees the end of this process.
    // SAFETY: _exit has no preconditions.
    let dead_man = prepare(&mut parts).unwrap_or_else(|_| unsafe { libc::_exit(1) });
    let before = priority::raise();
    allocator::ban();
    let mut guardian = GuardianProcess {
        parts,
        dead_man,
        ticket: TicketText::NONE,
        holds: [const { None }; MOST_HOLDS],
        locks: 0,
        command: None,
        group: None,
        launched: false,
        kill_loop: KillLoop::default(),
        has_dead: false,
        refused: None,
        before,
        outbox: Outbox::default(),
    };
    if guardian.parts.role != Role::Leads || guardian.parts.lasting.is_some() {
        guardian.close_others();
    }
    guardian.run()
}

/// Prepares the process for guarding. The guardian does not run if any step fails.
fn prepare(parts: &mut GuardianParts) -> io::Result<Option<DeadMan>> {
    // SAFETY: prctl takes a NUL-terminated name here.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"elect-guardian".as_ptr()) };
    adopt_orphans()?;
    // A KILL of the wrapper's whole group, as `kill -9 %1` sends it, must not end the guardian, too.
    // SAFETY: setpgid has no preconditions.
    if unsafe { libc::setpgid(0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // All signals are blocked, as a signal that the guardian does not handle must not end it.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)?;
    parts.enclosure.turn_to_children()?;
    parts.ladder.is_timed().then(DeadMan::new).transpose()
}

/// Returns the signals that the guardian reads.
pub(super) fn child_news() -> SigSet {
    Signal::SIGCHLD.into()
}

impl GuardianProcess {
    fn run(mut self) -> ! {
        loop {
            let tick =
                [self.parts.ladder.next_tick(), self.next_scan()].into_iter().flatten().min();
            let _ = clock::arm(&self.parts.timer, tick);
            let ready = self.wait();
            if ready[0] {
                self.read_orders();
            }
            if ready[1] {
                while let Ok(Some(_)) = self.parts.child_news.read_signal() {}
                self.kill_loop.died(clock::now());
                self.reap();
            }
            if ready[2] {
                self.step(Event::Tick);
                self.reap();
            }
            if ready[3] {
                // The news stays pending until it is read, which `is_empty` does.
                let _ = self.parts.enclosure.is_empty();
                self.reap();
            }
            if ready[4] {
                self.learn_of_launch();
            }
            self.outbox.send(&self.parts.socket);
        }
    }

    /// Waits for news. Returns which of these have some: socket, children, timer, enclosure, and result of the
    /// launch.
    fn wait(&self) -> [bool; 5] {
        let wanted = if self.outbox.is_empty() {
            PollFlags::POLLIN
        } else {
            PollFlags::POLLIN | PollFlags::POLLOUT
        };
        let launching = if self.command.is_some() && !self.launched {
            PollFlags::POLLIN
        } else {
            PollFlags::empty()
        };
        let (enclosure, urgent) = match self.parts.enclosure.news() {
            Some(news) => (news.as_fd(), PollFlags::POLLPRI),
            None => (self.parts.timer.as_fd(), PollFlags::empty()),
        };
        let mut polled = [
            PollFd::new(self.parts.socket.as_fd(), wanted),
            PollFd::new(self.parts.child_news.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.parts.timer.as_fd(), PollFlags::POLLIN),
            PollFd::new(enclosure, urgent),
            PollFd::new(self.parts.failure_read.as_fd(), launching),
        ];
        // Once the result of the launch is known, its pipe is left out. Its hang-up would end every wait at once.
        let count = if launching.is_empty() { 4 } else { 5 };
        let _ = poll(&mut polled[..count], PollTimeout::NONE);
        polled.map(|fd| fd.revents().is_some_and(|events| !events.is_empty()))
    }

    fn step(&mut self, event: Event) {
        let action = self.parts.ladder.step(clock::now(), event);
        self.parts.lease.limit(nanos(self.parts.ladder.kill_at()));
        let Some(action) = action else { return };
        match action {
            Action::Spawn => {
                self.rearm();
                self.spawn();
            }
            Action::Refuse => self.not_started(libc::ETIME),
            Action::Ask => {
                self.report(FromGuardian::SoftPassed);
                self.signal(self.parts.ask, true);
            }
            Action::Rearm => self.rearm(),
            Action::Signal { signal, resume } => self.signal(signal, resume),
            Action::AskOthers(Asked { signal, at }) => {
                let signal = signal.unwrap_or(self.parts.ask);
                let heard = self.group.map(|group| Heard { group: Some(group), at });
                let deed = Deed::Signal { signal, resume: true, heard };
                self.treat_left(deed, Some(Fate::Awaited));
            }
            Action::AskYoung(Asked { signal, at }) => {
                let signal = signal.unwrap_or(self.parts.ask);
                let heard = Some(Heard { group: None, at });
                self.treat_left(Deed::Signal { signal, resume: true, heard }, None);
            }
            Action::NameLeftover => self.treat_left(Deed::Count, Some(Fate::Awaited)),
            Action::AskLeftover => {
                let deed = Deed::Signal { signal: libc::SIGTERM, resume: true, heard: None };
                self.treat_left(deed, Some(Fate::Asked));
            }
            Action::KillAll => self.kill_all(),
            Action::KillOverdue => {
                self.treat_left(Deed::Count, Some(Fate::Killed));
                self.kill_all();
            }
            Action::Release => self.release(),
            Action::Exit => self.exit(),
        }
    }

    /// Exits, as the wrapper is gone and no tree lives. The entry is given up first, so that the next candidate need
    /// not wait for the end of the lease.
    fn exit(&mut self) -> ! {
        self.let_go_of_the_lease();
        if let Some(redeemer) = &mut self.parts.redeemer
            && !self.ticket.is_none()
        {
            redeemer.start(&self.ticket, &self.parts.launch.mask, &self.parts.null, self.before);
        }
        self.parts.enclosure.remove();
        // SAFETY: _exit has no preconditions. It skips the handlers that the wrapper registered with atexit.
        unsafe { libc::_exit(0) }
    }

    fn read_orders(&mut self) {
        let mut message = Message::EMPTY;
        loop {
            match wire::receive(&self.parts.socket, &mut message, &mut self.holds) {
                Received::Nothing => return,
                Received::End => {
                    self.step(Event::WrapperGone);
                    self.outlive_wrapper()
                }
                Received::Message { complete } => match ToGuardian::decode(&message) {
                    Some(ToGuardian::Start { token, locks }) if complete => {
                        self.locks = usize::from(locks).min(MOST_HOLDS);
                        self.parts.launch.image.set_token(token);
                        self.parts.lease.begin(token);
                        self.step(Event::Start);
                    }
                    // A descriptor that holds the lease was lost on its way to the guardian.
                    Some(ToGuardian::Start { .. }) => self.not_started(libc::EMFILE),
                    Some(ToGuardian::Part(number)) => self.parts.launch.image.set_part(number),
                    Some(ToGuardian::Order(order)) => {
                        if matches!(order, Order::Ask { .. } | Order::Signal { .. }) {
                            self.reap_at_once();
                        }
                        self.step(Event::Order(order));
                    }
                    Some(ToGuardian::Ticket(text)) => self.ticket.set(text),
                    None => {}
                },
            }
        }
    }

    /// Kills until nothing is left, as the wrapper is gone. Then the ladder's `Exit` ends the guardian.
    fn outlive_wrapper(&mut self) -> ! {
        loop {
            self.reap();
            let _ = clock::arm(&self.parts.timer, self.next_scan());
            let mut polled = [
                PollFd::new(self.parts.child_news.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.parts.timer.as_fd(), PollFlags::POLLIN),
            ];
            let _ = poll(&mut polled, PollTimeout::NONE);
            while let Ok(Some(_)) = self.parts.child_news.read_signal() {
                self.kill_loop.died(clock::now());
            }
            self.step(Event::Tick);
        }
    }

    fn rearm(&mut self) {
        let at = self.parts.ladder.dead_man().filter(|_| self.parts.dead_man_is_on);
        let Some(dead_man) = &self.dead_man else { return };
        if dead_man.set(at).is_err() {
            // This cannot happen to a timer of this process. If it does, nothing guards the lease, so the guardian
            // ends, and with it the kernel ends everything.
            // SAFETY: _exit has no preconditions.
            unsafe { libc::_exit(1) }
        }
    }

    fn release(&mut self) {
        self.parts.lease.end();
        // Nothing is left to kill, and the timer must not cut short what comes next.
        if let Some(dead_man) = &self.dead_man {
            let _ = dead_man.set(None);
        }
        self.let_go_of_the_lease();
        self.report(FromGuardian::Empty);
    }

    /// Closes the marks before the locks, as the kernel does at a guardian's death.
    fn let_go_of_the_lease(&mut self) {
        for hold in self.holds.iter_mut().rev() {
            *hold = None;
        }
    }

    fn report(&mut self, report: FromGuardian) {
        self.outbox.report(&self.parts.socket, report);
    }
}
