//! The guardian and the signals as the engine sees them.

use std::io;

use async_trait::async_trait;
use elect_api::{Holds, Ticket, Token};

use super::guarded::{Guarded, Happened};
use super::job::Job;
use crate::command::candidacy::Poster;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::election::slots::Slot;
use crate::guard::{Guardian, Incoming, Order, Report};

pub(super) struct Watched {
    guarded: Guarded,
    incoming: Incoming,
    job: Job,
    slot: Option<Slot>,
    poster: Poster,
}

impl Watched {
    /// `slot` says in which slot of the election the command leads, if that has any.
    pub(super) fn new(
        guardian: Guardian,
        incoming: Incoming,
        slot: Option<Slot>,
        poster: Poster,
    ) -> Self {
        Self { guarded: Guarded::new(guardian), incoming, job: Job::new(), slot, poster }
    }

    pub(super) const fn job(&self) -> &Job {
        &self.job
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guarded.into_guardian()
    }

    fn happened(&mut self, happened: Happened) -> Option<Event> {
        match happened {
            Happened::Died | Happened::Reported(Report::NotStarted(_)) => {
                self.job.is_gone();
                self.poster.end();
            }
            Happened::Reported(Report::Started { group }) => self.job.started(group),
            Happened::Reported(Report::Stopped(signal)) => {
                if self.job.stopped(signal) {
                    self.guarded.guardian().obey(Order::pass_on(libc::SIGCONT));
                }
            }
            Happened::Reported(Report::Ended(ended)) => {
                self.job.ended(ended);
                self.poster.end();
                if self.job.ended_by_key() {
                    return Some(Event::EndedByKey(ended));
                }
            }
            Happened::Reported(Report::Empty) | Happened::Swept => self.poster.end(),
            Happened::Reported(Report::SoftPassed | Report::MayNotSignal(_)) => {}
        }
        happened.event()
    }

    fn signaled(&mut self, signal: i32) -> Option<Event> {
        match signal {
            libc::SIGCHLD => _ = self.guarded.guardian().reap(),
            libc::SIGTSTP => {
                if self.job.suspend() {
                    self.guarded.guardian().obey(Order::pass_on(signal));
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
        self.guarded.guardian().start(token, holds)?;
        self.poster.begin(token);
        Ok(())
    }

    fn obey(&mut self, order: Order) {
        if let Order::Signal { signal, .. } = order {
            self.job.passes_on(signal);
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
