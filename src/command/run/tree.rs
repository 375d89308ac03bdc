//! The guardian and its command as the engine sees them.

use std::io;

use async_trait::async_trait;
use elect_api::{Holds, Ticket, Token};

use super::job::Job;
use crate::command::candidacy::Poster;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::election::slots::Slot;
use crate::guard::{Guardian, Order, Report};

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
        | Happened::Reported(Report::NotStarted(_) | Report::Ended(_) | Report::Empty) = happened
        {
            self.poster.end();
        }
        let Some(job) = &mut self.job else { return happened.event() };
        match happened {
            Happened::Died | Happened::Reported(Report::NotStarted(_)) => job.is_gone(),
            Happened::Reported(Report::Started { group }) => job.started(group),
            Happened::Reported(Report::Stopped(signal)) => {
                if job.stopped(signal) {
                    self.guarded.guardian().obey(Order::pass_on(libc::SIGCONT));
                }
            }
            Happened::Reported(Report::Ended(ended)) => {
                job.ended(ended);
                if job.ended_by_key() {
                    return Some(Event::EndedByKey(ended));
                }
            }
            Happened::Reported(Report::SoftPassed | Report::MayNotSignal(_) | Report::Empty)
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

    fn obey(&mut self, order: Order) {
        if let (Order::Signal { signal, .. }, Some(job)) = (order, &mut self.job) {
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
    Reported(Report),
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
            Self::Reported(Report::Started { .. }) => Event::Started,
            Self::Reported(Report::NotStarted(errno)) => Event::NotStarted(errno),
            Self::Reported(Report::SoftPassed) => Event::SoftPassed,
            Self::Reported(Report::Stopped(_)) => return None,
            Self::Reported(Report::MayNotSignal(pid)) => Event::MayNotSignal(pid),
            Self::Reported(Report::Ended(ended)) => Event::Ended(ended),
            Self::Reported(Report::Empty) | Self::Swept => Event::Empty,
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
