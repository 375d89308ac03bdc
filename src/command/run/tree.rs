//! Presents the guardian and its command to the engine as a [`Tree`].

use std::io;

use async_trait::async_trait;
use elect_api::{Holds, Ticket, Token};
use nix::sys::signal::Signal;

use crate::command::candidacy::LeaseFileWriter;
use crate::election::driver::Tree;
use crate::election::machine::{Event, StoppedBy};
use crate::election::slots::Slot;
use crate::guard::{
    self, Ended, FromGuardian, Guardian, Happened, KeyWitness, Order, SignalTo, Terminal,
};
use crate::report::Log;

/// The guardian with its command. It owns all that serves this one command: the job and the lease file.
pub(super) struct CommandTree {
    pub(super) guardian: Guardian,
    /// The command as a job in the terminal. `None` if elect runs several commands.
    job: Option<Job>,
    slot: Option<Slot>,
    lease_file: LeaseFileWriter,
    log: Log,
    /// The process group of the last command.
    group: i32,
    /// elect has said that the command is stopped.
    has_told_stop: bool,
}

impl CommandTree {
    /// Makes the tree of a guardian. `job` is given only if elect runs a single command. `slot` is the slot in which it
    /// leads, if the election has slots.
    pub(super) fn new(
        guardian: Guardian,
        job: Option<Job>,
        slot: Option<Slot>,
        lease_file: LeaseFileWriter,
        log: &Log,
    ) -> Self {
        let log = log.clone();
        Self { guardian, job, slot, lease_file, log, group: 0, has_told_stop: false }
    }

    pub(super) fn ended_by_key(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.ended_by_key)
    }

    fn happened(&mut self, happened: Happened) -> Option<Event> {
        if let Happened::Died
        | Happened::Swept
        | Happened::Reported(
            FromGuardian::NotStarted(_) | FromGuardian::Ended(_) | FromGuardian::Empty,
        ) = happened
        {
            self.lease_file.end();
        }
        match happened {
            Happened::Reported(FromGuardian::Started { group }) => self.group = group,
            Happened::Reported(FromGuardian::Stopped(signal)) => self.stopped(signal),
            _ => {}
        }
        let Some(job) = &mut self.job else { return event_of(happened) };
        match happened {
            Happened::Died | Happened::Reported(FromGuardian::NotStarted(_)) => job.is_gone(),
            Happened::Reported(FromGuardian::Started { group }) => {
                if job.started(group) {
                    self.guardian.obey(Order::pass_on(libc::SIGTSTP));
                }
            }
            Happened::Reported(FromGuardian::Ended(ended)) => {
                if let Some(signal) = job.ended(ended) {
                    return Some(Event::EndedAfterKey(ended, signal));
                }
            }
            Happened::Reported(
                FromGuardian::Stopped(_)
                | FromGuardian::SoftPassed
                | FromGuardian::MayNotSignal(_)
                | FromGuardian::Left(_)
                | FromGuardian::Empty,
            )
            | Happened::Swept => {}
        }
        event_of(happened)
    }

    /// Handles a stop of the command. Says once if the command stays stopped, as then nothing else would show why
    /// nothing goes on.
    fn stopped(&mut self, signal: i32) {
        if self.job.as_mut().is_some_and(|job| job.stopped(signal)) {
            return self.guardian.obey(Order::pass_on(libc::SIGCONT));
        }
        if std::mem::replace(&mut self.has_told_stop, true) {
            return;
        }
        let (name, group) = (guard::signal_name(signal), self.group);
        if wants_terminal(signal) {
            self.log.warn(format_args!(
                "the command is stopped ({name}): it wants the terminal, which only a shell could give it; redirect its \
                 stdin from /dev/null"
            ));
        } else {
            self.log.warn(format_args!(
                "the command is stopped ({name}), and elect leads on: `kill -CONT -{group}` lets it go on"
            ));
        }
    }
}

/// Returns whether the kernel stops a process by this signal that uses the terminal from the background.
const fn wants_terminal(signal: i32) -> bool {
    matches!(signal, libc::SIGTTIN | libc::SIGTTOU)
}

#[async_trait]
impl Tree for CommandTree {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        if let Some(number) = self.slot.as_ref().and_then(Slot::number) {
            self.guardian.leads_part(number);
        }
        if let Some(job) = &mut self.job {
            job.remember();
        }
        self.guardian.start(token, holds)?;
        if let Some(job) = &mut self.job {
            job.starts();
        }
        self.lease_file.begin(token);
        Ok(())
    }

    fn obey(&mut self, order: Order, _: Option<StoppedBy>) {
        if let (Order::Ask { signal, .. } | Order::Signal { signal, .. }, Some(job)) =
            (order, &mut self.job)
        {
            job.passes_on(signal);
        }
        if let (Order::Ask { .. } | Order::Stop { .. } | Order::Kill, Some(job)) =
            (order, &mut self.job)
        {
            // A command that ends is not stopped for a signal of before.
            job.resume();
        }
        self.guardian.obey(order);
        self.lease_file.ordered(order);
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.guardian.keep(ticket);
    }

    fn resigns(&mut self) {}

    fn sweep(&mut self) {
        self.guardian.sweep();
    }

    fn signaled(&mut self, signal: i32) -> Option<i32> {
        match (signal, &mut self.job) {
            (libc::SIGCHLD, _) => _ = self.guardian.reap(),
            (libc::SIGTSTP, Some(job)) => {
                if job.suspend() {
                    self.guardian.obey(Order::pass_on(signal));
                }
            }
            (libc::SIGCONT, Some(job)) => {
                job.resume();
                return Some(signal);
            }
            _ => return Some(signal),
        }
        None
    }

    async fn next_event(&mut self) -> Event {
        loop {
            let happened = self.guardian.next().await;
            if let Some(event) = self.happened(happened) {
                return event;
            }
        }
    }
}

/// Returns the engine's event for one of the guardian, if there is one.
const fn event_of(happened: Happened) -> Option<Event> {
    Some(match happened {
        Happened::Died => Event::GuardianDied,
        Happened::Reported(FromGuardian::Started { .. }) => Event::Started,
        Happened::Reported(FromGuardian::NotStarted(errno)) => Event::NotStarted(errno),
        Happened::Reported(FromGuardian::SoftPassed) => Event::SoftPassed,
        Happened::Reported(FromGuardian::Stopped(_)) => return None,
        Happened::Reported(FromGuardian::MayNotSignal(pid)) => Event::MayNotSignal(pid),
        Happened::Reported(FromGuardian::Left(left)) => Event::Left(left),
        Happened::Reported(FromGuardian::Ended(ended)) => Event::Ended(ended),
        Happened::Reported(FromGuardian::Empty) | Happened::Swept => Event::Empty,
    })
}

/// The command as a job in the terminal: which process group has the foreground, and which one the terminal's keys are
/// meant for.
///
/// To the person at the terminal, elect and the command are one job. They are two process groups.
pub(super) struct Job {
    terminal: Option<Terminal>,
    command: CommandStage,
    /// elect got SIGTSTP, for the command too. It stops as well once the command has stopped.
    suspending: bool,
    /// elect got SIGINT or SIGQUIT and passed it on. So a key in the terminal did not cause the end of the command.
    interrupted: bool,
    /// A key in the terminal ended the command. The terminal sent the signal to the command's group alone, but the
    /// person meant the whole job.
    ended_by_key: bool,
    keys: Keys,
}

/// The stage of the command.
#[derive(Clone, Copy)]
enum CommandStage {
    /// There is none.
    Absent,
    /// Its start was ordered, and neither that nor a failure was reported.
    Starting,
    /// It runs, in this process group.
    Running(i32),
}

impl CommandStage {
    const fn group(self) -> Option<i32> {
        if let Self::Running(group) = self { Some(group) } else { None }
    }
}

/// Whether elect must know of keys that the command survives.
enum Keys {
    Ignored,
    Heard(Option<KeyWitness>),
}

impl Job {
    pub(super) fn new(hears_keys: bool) -> Self {
        Self {
            terminal: Terminal::open(),
            keys: if hears_keys { Keys::Heard(None) } else { Keys::Ignored },
            command: CommandStage::Absent,
            suspending: false,
            interrupted: false,
            ended_by_key: false,
        }
    }

    /// Remembers the modes of the terminal, before the command can change them.
    pub(super) fn remember(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.remember();
        }
    }

    /// Takes note that the start of the command was ordered.
    pub(super) const fn starts(&mut self) {
        (self.command, self.suspending) = (CommandStage::Starting, false);
    }

    /// Takes note of the command's start. Returns whether the command must stop: SIGTSTP came while it was started.
    pub(super) fn started(&mut self, group: i32) -> bool {
        self.command = CommandStage::Running(group);
        if let (Keys::Heard(witness), Some(_)) = (&mut self.keys, &self.terminal) {
            *witness = KeyWitness::join(group);
        }
        self.suspending
    }

    /// Handles SIGTSTP to elect. Returns whether the command must get it now. elect stops at once if there is no
    /// command, and else once the command has stopped.
    pub(super) fn suspend(&mut self) -> bool {
        self.suspending = !matches!(self.command, CommandStage::Absent);
        if !self.suspending {
            guard::suspend();
        }
        self.command.group().is_some()
    }

    /// Handles SIGCONT to elect, or the end of the command that was ordered.
    pub(super) const fn resume(&mut self) {
        self.suspending = false;
    }

    /// Takes note of a signal that is passed on to the command.
    pub(super) const fn passes_on(&mut self, signal: i32) {
        self.interrupted |= is_interrupt(signal);
    }

    /// Handles a stop of the command. Returns whether the command must go on now.
    ///
    /// If the person at the terminal meant the whole job, elect stops as well. If the command only wants the terminal,
    /// it gets the terminal once elect's own group has the foreground. In the background, elect stops, so that the
    /// shell sees a stopped job that its `fg` continues.
    pub(super) fn stopped(&mut self, signal: i32) -> bool {
        let (Some(terminal), Some(group)) = (&mut self.terminal, self.command.group()) else {
            return false;
        };
        let was_in_front = terminal.is_of(group);
        let wants_terminal = wants_terminal(signal);
        let is_terminals = was_in_front || wants_terminal;
        if wants_terminal && terminal.is_ours() {
            terminal.hand_over(group);
        } else if is_terminals || (self.suspending && signal == libc::SIGTSTP) {
            self.suspending = false;
            if was_in_front {
                terminal.suspend();
            }
            if !is_terminals {
                guard::suspend();
                return true;
            }
            // Some of the job stop for a key and not for want of the terminal, as `timeout`, which has to end the job.
            let by = Signal::try_from(signal).ok().filter(|_| wants_terminal);
            let continued = guard::stop(by.unwrap_or(Signal::SIGTSTP), SignalTo::OurJob);
            if terminal.is_ours() {
                terminal.hand_over(group);
            } else if wants_terminal {
                // In the background, the command would only ask for the terminal again. It goes on when elect does.
                return continued;
            }
        } else {
            return false;
        }
        true
    }

    /// Returns the signal that a key in the terminal has sent to the command, and not to elect.
    pub(super) fn ended(&mut self, ended: Ended) -> Option<i32> {
        let heard = match &self.keys {
            Keys::Heard(Some(witness)) => witness.heard(),
            Keys::Heard(None) | Keys::Ignored => None,
        };
        let was_in_front = self.leave_foreground(matches!(ended, Ended::Signaled(_)));
        let fatal = match ended {
            Ended::Signaled(signal) if was_in_front => {
                Some(signal.into()).filter(|&signal| is_interrupt(signal))
            }
            _ => None,
        };
        self.ended_by_key = fatal.is_some() && !self.interrupted;
        fatal.or(heard).filter(|_| !self.interrupted)
    }

    /// Handles a command that is gone, and whose end was not reported.
    pub(super) fn is_gone(&mut self) {
        self.suspending = false;
        self.leave_foreground(true);
    }

    /// Takes the foreground back, if the command had it, and returns whether it had. Restores the modes of the terminal
    /// too, if the command was `killed`.
    fn leave_foreground(&mut self, killed: bool) -> bool {
        if let Keys::Heard(witness) = &mut self.keys {
            *witness = None;
        }
        let group = std::mem::replace(&mut self.command, CommandStage::Absent).group();
        let (Some(terminal), Some(group)) = (&self.terminal, group) else { return false };
        let was_in_front = terminal.is_of(group);
        if was_in_front {
            terminal.take_back(killed);
        }
        was_in_front
    }
}

/// Returns whether a key in the terminal sends this signal to end programs.
const fn is_interrupt(signal: i32) -> bool {
    matches!(signal, libc::SIGINT | libc::SIGQUIT)
}
