//! The guardian and the signals as the engine sees them.

use std::io;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};

use super::guarded::{Guarded, Happened};
use super::job::Job;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::election::slots::Slot;
use crate::guard::{Deadlines, Guardian, Incoming, Report};

pub(super) struct Watched {
    guarded: Guarded,
    incoming: Incoming,
    job: Job,
    slot: Option<Slot>,
}

impl Watched {
    /// `slot` says in which slot of the election the command leads, if that has any.
    pub(super) fn new(guardian: Guardian, incoming: Incoming, slot: Option<Slot>) -> Self {
        Self { guarded: Guarded::new(guardian), incoming, job: Job::new(), slot }
    }

    pub(super) const fn job(&self) -> &Job {
        &self.job
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guarded.into_guardian()
    }

    fn happened(&mut self, happened: Happened) -> Option<Event> {
        match happened {
            Happened::Died | Happened::Reported(Report::NotStarted(_)) => self.job.is_gone(),
            Happened::Reported(Report::Started { group }) => self.job.started(group),
            Happened::Reported(Report::Stopped(signal)) => {
                if self.job.stopped(signal) {
                    self.guarded.guardian().signal(libc::SIGCONT, false, None);
                }
            }
            Happened::Reported(Report::Ended(ended)) => {
                self.job.ended(ended);
                if self.job.ended_by_key() {
                    return Some(Event::EndedByKey(ended));
                }
            }
            Happened::Reported(Report::SoftPassed | Report::MayNotSignal(_) | Report::Empty)
            | Happened::Swept => {}
        }
        happened.event()
    }

    fn signaled(&mut self, signal: i32) -> Option<Event> {
        match signal {
            libc::SIGCHLD => _ = self.guarded.guardian().reap(),
            libc::SIGTSTP => {
                if self.job.suspend() {
                    self.guarded.guardian().signal(signal, false, None);
                }
            }
            libc::SIGCONT => {
                self.job.resume();
                return Some(Event::Signal(signal));
            }
            _ => return Some(Event::Signal(signal)),
        }
        None
    }
}

#[async_trait]
impl Tree for Watched {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        self.job.starts();
        if let Some(number) = self.slot.as_ref().and_then(Slot::number) {
            self.guarded.guardian().leads_part(number);
        }
        self.guarded.guardian().start(token, holds)
    }

    fn keep(&mut self, ticket: &Ticket) {
        self.guarded.guardian().keep(ticket);
    }

    fn withhold(&mut self) {
        self.guarded.guardian().keep_none();
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.guarded.guardian().renewed(deadlines);
    }

    fn stop(&mut self, kill_at: Boottime) {
        self.guarded.guardian().stop(kill_at);
    }

    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>) {
        self.job.passes_on(signal);
        self.guarded.guardian().signal(signal, resume, kill_at);
    }

    fn kill(&mut self) {
        self.guarded.guardian().kill();
    }

    fn sweep(&mut self) {
        self.guarded.sweep();
    }

    async fn next_event(&mut self) -> Event {
        loop {
            let event = tokio::select! {
                biased;
                happened = self.guarded.next() => self.happened(happened),
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
