//! The guardian and its command as the engine sees them.

use std::io;

use async_trait::async_trait;
use elect_api::{Holds, Ticket, Token};

use crate::command::candidacy::Poster;
use crate::election::driver::Tree;
use crate::election::machine::{Event, StoppedBy};
use crate::election::slots::Slot;
use crate::guard::{self, Ended, FromGuardian, Guardian, KeyWitness, Order, Terminal, Whom};

pub(super) struct Watched {
    guarded: Guarded,
    /// What the command is in the terminal, if it is the only one.
    job: Option<Job>,
    slot: Option<Slot>,
    poster: Poster,
}

impl Watched {
    /// `job` is that of the only command of elect, `slot` says in which slot of the election it leads, if that has any.
    pub(super) const fn new(
        guardian: Guardian,
        job: Option<Job>,
        slot: Option<Slot>,
        poster: Poster,
    ) -> Self {
        Self { guarded: Guarded::new(guardian), job, slot, poster }
    }

    pub(super) fn ended_by_key(&self) -> bool {
        self.job.as_ref().is_some_and(Job::ended_by_key)
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guarded.into_guardian()
    }

    fn happened(&mut self, happened: Happened) -> Option<Event> {
        if let Happened::Died
        | Happened::Swept
        | Happened::Reported(
            FromGuardian::NotStarted(_) | FromGuardian::Ended(_) | FromGuardian::Empty,
        ) = happened
        {
            self.poster.end();
        }
        let Some(job) = &mut self.job else { return happened.event() };
        match happened {
            Happened::Died | Happened::Reported(FromGuardian::NotStarted(_)) => job.is_gone(),
            Happened::Reported(FromGuardian::Started { group }) => job.started(group),
            Happened::Reported(FromGuardian::Stopped(signal)) => {
                if job.stopped(signal) {
                    self.guarded.guardian().obey(Order::pass_on(libc::SIGCONT));
                }
            }
            Happened::Reported(FromGuardian::Ended(ended)) => {
                if let Some(signal) = job.ended(ended) {
                    return Some(Event::EndedAfterKey(ended, signal));
                }
            }
            Happened::Reported(
                FromGuardian::SoftPassed
                | FromGuardian::MayNotSignal(_)
                | FromGuardian::Left(_)
                | FromGuardian::Empty,
            )
            | Happened::Swept => {}
        }
        happened.event()
    }
}

#[async_trait]
impl Tree for Watched {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        if let Some(job) = &mut self.job {
            job.starts();
        }
        if let Some(number) = self.slot.as_ref().and_then(Slot::number) {
            self.guarded.guardian().leads_part(number);
        }
        self.guarded.guardian().start(token, holds)?;
        self.poster.begin(token);
        Ok(())
    }

    fn obey(&mut self, order: Order, _: Option<StoppedBy>) {
        if let (Order::Ask { signal, .. } | Order::Signal { signal, .. }, Some(job)) =
            (order, &mut self.job)
        {
            job.passes_on(signal);
        }
        self.guarded.guardian().obey(order);
        self.poster.ordered(order);
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.guarded.guardian().keep(ticket);
    }

    fn resigns(&mut self) {}

    fn sweep(&mut self) {
        self.guarded.sweep();
    }

    fn signaled(&mut self, signal: i32) -> Option<i32> {
        match (signal, &mut self.job) {
            (libc::SIGCHLD, _) => _ = self.guarded.guardian().reap(),
            (libc::SIGTSTP, Some(job)) => {
                if job.suspend() {
                    self.guarded.guardian().obey(Order::pass_on(signal));
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
            let happened = self.guarded.next().await;
            if let Some(event) = self.happened(happened) {
                return event;
            }
        }
    }
}

pub(super) struct Guarded {
    guardian: Guardian,
    is_dead: bool,
    sweeps: bool,
}

/// What comes of it.
#[derive(Clone, Copy)]
pub(super) enum Happened {
    Reported(FromGuardian),
    /// The guardian is dead, and may have left something.
    Died,
    /// Nothing of that is left.
    Swept,
}

impl Happened {
    /// What it is to the engine, if anything.
    pub(super) const fn event(self) -> Option<Event> {
        Some(match self {
            Self::Died => Event::GuardianDied,
            Self::Reported(FromGuardian::Started { .. }) => Event::Started,
            Self::Reported(FromGuardian::NotStarted(errno)) => Event::NotStarted(errno),
            Self::Reported(FromGuardian::SoftPassed) => Event::SoftPassed,
            Self::Reported(FromGuardian::Stopped(_)) => return None,
            Self::Reported(FromGuardian::MayNotSignal(pid)) => Event::MayNotSignal(pid),
            Self::Reported(FromGuardian::Left(left)) => Event::Left(left),
            Self::Reported(FromGuardian::Ended(ended)) => Event::Ended(ended),
            Self::Reported(FromGuardian::Empty) | Self::Swept => Event::Empty,
        })
    }
}

impl Guarded {
    pub(super) const fn new(guardian: Guardian) -> Self {
        Self { guardian, is_dead: false, sweeps: false }
    }

    pub(super) const fn guardian(&mut self) -> &mut Guardian {
        &mut self.guardian
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guardian
    }

    /// Kills what the dead guardian has left.
    pub(super) const fn sweep(&mut self) {
        self.sweeps = true;
    }

    /// What comes next: never anything, once the guardian is dead and nothing is to be swept.
    ///
    /// # Cancellation
    /// Nothing is lost.
    pub(super) async fn next(&mut self) -> Happened {
        match (self.is_dead, self.sweeps) {
            (false, _) => {
                let report = self.guardian.next_report().await;
                self.is_dead = report.is_none();
                report.map_or(Happened::Died, Happened::Reported)
            }
            (true, true) => {
                self.guardian.sweep().await;
                self.sweeps = false;
                Happened::Swept
            }
            (true, false) => std::future::pending().await,
        }
    }
}

/// The command as a job in the terminal: who has the foreground, and for whom its keys are meant.
///
/// We are one job with the command for whoever sits at the terminal, but two process groups.
pub(super) struct Job {
    terminal: Option<Terminal>,
    /// The command's process group, while it runs.
    group: Option<i32>,
    /// The terminal's stop came to us and was passed on: we follow once the command has stopped.
    suspending: bool,
    /// INT or QUIT came to us and was passed on: what comes of it is not the terminal's doing.
    interrupted: bool,
    ended_by_key: bool,
    keys: Keys,
}

/// Whether keys matter that the command survives.
enum Keys {
    Ignored,
    Heard(Option<KeyWitness>),
}

impl Job {
    pub(super) fn new(hears_keys: bool) -> Self {
        Self {
            terminal: Terminal::open(),
            keys: if hears_keys { Keys::Heard(None) } else { Keys::Ignored },
            group: None,
            suspending: false,
            interrupted: false,
            ended_by_key: false,
        }
    }

    /// Whether a key in the terminal ended the command: it went to the command alone, and was meant for
    /// all of the job.
    pub(super) const fn ended_by_key(&self) -> bool {
        self.ended_by_key
    }

    /// The command is about to be started.
    pub(super) fn starts(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.remember();
        }
    }

    pub(super) fn started(&mut self, group: i32) {
        self.group = Some(group);
        if let (Keys::Heard(witness), Some(_)) = (&mut self.keys, &self.terminal) {
            *witness = KeyWitness::join(group);
        }
    }

    /// The terminal's stop came to us. Says whether the command is to stop first.
    pub(super) fn suspend(&mut self) -> bool {
        self.suspending = self.group.is_some();
        if !self.suspending {
            guard::stop(Whom::Ourselves);
        }
        self.suspending
    }

    /// We go on.
    pub(super) const fn resume(&mut self) {
        self.suspending = false;
    }

    /// This signal is passed on to the command.
    pub(super) const fn passes_on(&mut self, signal: i32) {
        self.interrupted |= is_interrupt(signal);
    }

    /// The command has stopped. If the terminal's user meant the whole job, we stop as well; if it
    /// only wants the terminal, it gets it once it is ours to give: in the background we stop, so that
    /// the shell sees a stopped job, which its `fg` continues. Says whether it is to go on now.
    pub(super) fn stopped(&mut self, signal: i32) -> bool {
        let (Some(terminal), Some(group)) = (&mut self.terminal, self.group) else { return false };
        let was_in_front = terminal.is_of(group);
        let wants_terminal = matches!(signal, libc::SIGTTIN | libc::SIGTTOU);
        let is_terminals = was_in_front || wants_terminal;
        if wants_terminal && terminal.is_ours() {
            terminal.hand_over(group);
        } else if is_terminals || (self.suspending && signal == libc::SIGTSTP) {
            self.suspending = false;
            if was_in_front {
                terminal.suspend();
            }
            let continued = guard::stop(if is_terminals { Whom::OurJob } else { Whom::Ourselves });
            if is_terminals && terminal.is_ours() {
                terminal.hand_over(group);
            } else if wants_terminal {
                // In the background it would only want it again. It goes on when we do.
                return continued;
            }
        } else {
            return false;
        }
        true
    }

    /// Returns the signal that a key in the terminal has sent to the command, and not to us.
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

    /// The command is no more, and was not seen to end.
    pub(super) fn is_gone(&mut self) {
        self.leave_foreground(true);
    }

    /// The foreground is ours again, if it was the command's, and so are the modes, if it was `killed`.
    fn leave_foreground(&mut self, killed: bool) -> bool {
        if let Keys::Heard(witness) = &mut self.keys {
            *witness = None;
        }
        let (Some(terminal), Some(group)) = (&self.terminal, self.group.take()) else {
            return false;
        };
        let was_in_front = terminal.is_of(group);
        if was_in_front {
            terminal.take_back(killed);
        }
        was_in_front
    }
}

/// Whether a key in the terminal makes this signal, which ends programs.
const fn is_interrupt(signal: i32) -> bool {
    matches!(signal, libc::SIGINT | libc::SIGQUIT)
}
