//! The guardian and the signals as the engine sees them.

use std::io;
use std::os::fd::BorrowedFd;

use async_trait::async_trait;
use elect_api::{Boottime, Ticket, Token};

use super::job::Job;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{Deadlines, Guardian, Incoming, Report};

pub(super) struct Watched {
    guardian: Guardian,
    incoming: Incoming,
    job: Job,
    guardian_is_dead: bool,
    sweeping: bool,
}

impl Watched {
    pub(super) fn new(guardian: Guardian, incoming: Incoming) -> Self {
        Self { guardian, incoming, job: Job::new(), guardian_is_dead: false, sweeping: false }
    }

    pub(super) const fn job(&self) -> &Job {
        &self.job
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guardian
    }

    fn reported(&mut self, report: Option<Report>) -> Option<Event> {
        Some(match report {
            None => {
                self.guardian_is_dead = true;
                self.job.is_gone();
                Event::GuardianDied
            }
            Some(Report::Started { group }) => {
                self.job.started(group);
                Event::Started
            }
            Some(Report::NotStarted(errno)) => {
                self.job.is_gone();
                Event::NotStarted(errno)
            }
            Some(Report::SoftPassed) => Event::SoftPassed,
            Some(Report::Stopped(signal)) => {
                if self.job.stopped(signal) {
                    self.guardian.signal(libc::SIGCONT, false, None);
                }
                return None;
            }
            Some(Report::Ended(ended)) => {
                self.job.ended(ended);
                if self.job.ended_by_key() { Event::EndedByKey(ended) } else { Event::Ended(ended) }
            }
            Some(Report::Empty) => Event::Empty,
        })
    }

    fn signaled(&mut self, signal: i32) -> Option<Event> {
        match signal {
            libc::SIGCHLD => _ = self.guardian.reap(),
            libc::SIGTSTP => {
                if self.job.suspend() {
                    self.guardian.signal(signal, false, None);
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
    fn start(&mut self, token: Token, holds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.job.starts();
        self.guardian.start(token, holds)
    }

    fn keep(&mut self, ticket: &Ticket) {
        self.guardian.keep(ticket);
    }

    fn withhold(&mut self) {
        self.guardian.keep_none();
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.guardian.renewed(deadlines);
    }

    fn stop(&mut self, kill_at: Boottime) {
        self.guardian.stop(kill_at);
    }

    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>) {
        self.job.passes_on(signal);
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
