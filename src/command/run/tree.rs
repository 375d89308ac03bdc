//! The guardian, the signals and the terminal as the engine sees them.

use std::io;
use std::os::fd::BorrowedFd;

use async_trait::async_trait;
use elect_api::{Boottime, Ticket, Token};

use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{Deadlines, Guardian, Incoming, Report, Terminal, stop_self};

pub(super) struct Watched {
    guardian: Guardian,
    incoming: Incoming,
    terminal: Option<Terminal>,
    /// The command's process group, while it runs.
    group: Option<i32>,
    guardian_is_dead: bool,
    sweeping: bool,
    /// The terminal's stop came to us and was passed on: we follow once the command has stopped.
    suspending: bool,
}

impl Watched {
    pub(super) fn new(guardian: Guardian, incoming: Incoming) -> Self {
        Self {
            guardian,
            incoming,
            terminal: Terminal::open(),
            group: None,
            guardian_is_dead: false,
            sweeping: false,
            suspending: false,
        }
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guardian
    }

    fn reported(&mut self, report: Option<Report>) -> Option<Event> {
        Some(match report {
            None => {
                self.guardian_is_dead = true;
                self.leave_foreground();
                Event::GuardianDied
            }
            Some(Report::Started { group }) => {
                self.group = Some(group);
                Event::Started
            }
            Some(Report::NotStarted(errno)) => {
                self.leave_foreground();
                Event::NotStarted(errno)
            }
            Some(Report::SoftPassed) => Event::SoftPassed,
            Some(Report::Stopped(signal)) => {
                self.stopped(signal);
                return None;
            }
            Some(Report::Ended(ended)) => {
                self.leave_foreground();
                Event::Ended(ended)
            }
            Some(Report::Empty) => Event::Empty,
        })
    }

    fn signaled(&mut self, signal: i32) -> Option<Event> {
        match signal {
            libc::SIGCHLD => _ = self.guardian.reap(),
            libc::SIGTSTP if self.group.is_some() => {
                self.suspending = true;
                self.guardian.signal(signal, false, None);
            }
            libc::SIGTSTP => stop_self(),
            _ => return Some(Event::Signal(signal)),
        }
        None
    }

    /// The command has stopped. If the terminal's user meant the whole job, we stop as well; if it
    /// only wants the terminal, it gets it once it is ours to give: in the background we stop, so that
    /// the shell sees a stopped job, which its `fg` continues.
    fn stopped(&mut self, signal: i32) {
        let (Some(terminal), Some(group)) = (&self.terminal, self.group) else { return };
        let was_in_front = terminal.is_of(group);
        let wants_terminal = matches!(signal, libc::SIGTTIN | libc::SIGTTOU);
        if wants_terminal && terminal.is_ours() {
            terminal.give(group);
        } else if was_in_front || wants_terminal || self.suspending {
            self.suspending = false;
            if was_in_front {
                terminal.take_back();
            }
            stop_self();
            if (was_in_front || wants_terminal) && terminal.is_ours() {
                terminal.give(group);
            }
        } else {
            return;
        }
        self.guardian.signal(libc::SIGCONT, false, None);
    }

    /// The command is no more: the foreground is ours again, if it was the command's.
    fn leave_foreground(&mut self) {
        if let (Some(terminal), Some(group)) = (&self.terminal, self.group.take())
            && terminal.is_of(group)
        {
            terminal.take_back();
        }
    }
}

#[async_trait]
impl Tree for Watched {
    fn start(&mut self, token: Token, holds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.guardian.start(token, holds)
    }

    fn keep(&mut self, ticket: &Ticket) {
        self.guardian.keep(ticket);
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.guardian.renewed(deadlines);
    }

    fn stop(&mut self, kill_at: Boottime) {
        self.guardian.stop(kill_at);
    }

    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>) {
        self.guardian.signal(signal, resume, kill_at);
    }

    fn kill(&mut self) {
        self.guardian.kill();
    }

    fn sweep(&mut self) {
        self.sweeping = true;
    }

    async fn next_event(&mut self) -> Event {
        loop {
            let event = tokio::select! {
                biased;
                news = news(&mut self.guardian, self.guardian_is_dead, self.sweeping) => match news {
                    News::Report(report) => self.reported(report),
                    News::Swept => {
                        self.sweeping = false;
                        Some(Event::Empty)
                    }
                },
                signal = self.incoming.next() => match signal {
                    Ok(signal) => self.signaled(signal),
                    // The descriptor cannot fail; if it does, the guardian's reports go on.
                    Err(_) => std::future::pending().await,
                },
            };
            if let Some(event) = event {
                return event;
            }
        }
    }
}

enum News {
    Report(Option<Report>),
    Swept,
}

/// The guardian's next report, or, when it is dead, the end of the sweep after it.
async fn news(guardian: &mut Guardian, is_dead: bool, sweeping: bool) -> News {
    match (is_dead, sweeping) {
        (false, _) => News::Report(guardian.next_report().await),
        (true, true) => {
            guardian.sweep().await;
            News::Swept
        }
        (true, false) => std::future::pending().await,
    }
}
