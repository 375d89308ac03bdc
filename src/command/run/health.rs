//! Whether the command is well, while it runs; and a tree that counts the looks at it as its own.

use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::pin::Pin;

use async_trait::async_trait;
use elect_api::{Boottime, Ticket, Token};
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use crate::command::candidacy::{Checkup, Leave};
use crate::config::HealthPlan;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{Deadlines, Inherited};
use crate::report::Log;

/// Looks at the command again and again.
pub(super) struct Health<'a> {
    plan: &'a HealthPlan,
    checkup: Checkup<'a>,
    log: &'a Log,
    leave: watch::Receiver<Leave>,
    found: watch::Sender<Option<String>>,
    looks: watch::Sender<bool>,
}

/// The tree's end of it.
struct Patient {
    leave: watch::Sender<Leave>,
    /// Why the command is not well.
    found: watch::Receiver<Option<String>>,
    /// Whether anything of a look may live.
    looks: watch::Receiver<bool>,
    /// The tree is empty, and the look at it is not over.
    is_empty: bool,
}

/// Passes everything on; it is not empty as long as anything lives that has looked at it.
pub(super) struct Looked<T> {
    tree: T,
    patient: Option<Patient>,
}

/// A tree whose command is looked at, if the plan says so, by a health command with this environment.
pub(super) fn look_after<'a, T>(
    tree: T,
    plan: &'a HealthPlan,
    inherited: &'a Inherited,
    log: &'a Log,
    environment: impl FnOnce() -> Vec<(OsString, OsString)>,
) -> (Looked<T>, Option<Health<'a>>) {
    if !plan.looks() {
        return (Looked { tree, patient: None }, None);
    }
    let (leave, left) = watch::channel(Leave { is_over: true, deadlines: None });
    let (found, finds) = watch::channel(None);
    let (looks, looking) = watch::channel(false);
    let patient = Patient { leave, found: finds, looks: looking, is_empty: false };
    let checkup = Checkup::new(plan, inherited, environment());
    let health = Health { plan, checkup, log, leave: left, found, looks };
    (Looked { tree, patient: Some(patient) }, Some(health))
}

/// Looks as often as is asked for, if it is. Never ends.
pub(super) async fn keep_looking(health: Option<Health<'_>>) {
    if let Some(mut health) = health {
        loop {
            health.look_at_one().await;
        }
    }
    std::future::pending::<()>().await;
}

impl Health<'_> {
    /// Looks at one command from its start to its end.
    async fn look_at_one(&mut self) {
        self.until(false).await;
        let (mut failures, mut stuck) = (0, Vec::new());
        let mut pause = Box::pin(sleep(self.plan.interval));
        while self.waits_for(pause.as_mut()).await {
            pause.set(sleep(self.plan.interval));
            self.looks.send_replace(true);
            let found = self.checkup.look(&mut self.leave).await;
            stuck.extend(found.stuck);
            self.looks.send_replace(!stuck.is_empty());
            let Err(why) = found.outcome else {
                failures = 0;
                continue;
            };
            if self.leave.borrow().is_over {
                break;
            }
            self.log.debug(format_args!("the command did not pass: {why}"));
            failures += 1;
            if failures == self.plan.threshold {
                self.found.send_replace(Some(why));
                break;
            }
        }
        for mut helper in stuck {
            // Why it was killed was told.
            let _ = helper.over().await;
            helper.dismiss();
        }
        self.looks.send_replace(false);
        self.until(true).await;
    }

    /// Waits for the next look. Says whether the command runs.
    async fn waits_for(&mut self, pause: Pin<&mut Sleep>) -> bool {
        tokio::select! {
            biased;
            () = self.until(true) => false,
            () = pause => true,
        }
    }

    /// Waits until the command runs no more, or runs.
    async fn until(&mut self, is_over: bool) {
        if self.leave.wait_for(|leave| leave.is_over == is_over).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl<T> Looked<T> {
    pub(super) fn into_inner(self) -> T {
        self.tree
    }

    /// Looks begin or end.
    fn runs(&mut self, runs: bool) {
        if let Some(patient) = &mut self.patient {
            patient.found.mark_unchanged();
            patient
                .leave
                .send_if_modified(|leave| std::mem::replace(&mut leave.is_over, !runs) == runs);
        }
    }

    /// Takes in what happened to the tree. What is to be known later is nothing now.
    fn happened(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Started => self.runs(true),
            Event::Ended(_) | Event::EndedByKey(_) | Event::NotStarted(_) | Event::GuardianDied => {
                self.runs(false);
            }
            Event::Empty => {
                if let Some(patient) = &mut self.patient {
                    patient.is_empty = true;
                    return None;
                }
            }
            _ => {}
        }
        Some(event)
    }
}

impl Patient {
    /// What comes of the looks.
    async fn news(&mut self) -> Event {
        if self.is_empty {
            if self.looks.wait_for(|looks| !looks).await.is_err() {
                std::future::pending::<()>().await;
            }
            self.is_empty = false;
            return Event::Empty;
        }
        loop {
            if self.found.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(why) = self.found.borrow_and_update().clone() {
                return Event::Sick(why);
            }
        }
    }
}

#[async_trait]
impl<T: Tree> Tree for Looked<T> {
    fn start(&mut self, token: Token, holds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.tree.start(token, holds)
    }

    fn keep(&mut self, ticket: &Ticket) {
        self.tree.keep(ticket);
    }

    fn withhold(&mut self) {
        self.tree.withhold();
    }

    fn resigns(&mut self) {
        self.tree.resigns();
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.tree.renewed(deadlines);
        if let Some(patient) = &self.patient {
            patient.leave.send_modify(|leave| leave.deadlines = Some(deadlines));
        }
    }

    fn stop(&mut self, kill_at: Boottime) {
        self.tree.stop(kill_at);
        self.runs(false);
    }

    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>) {
        self.tree.signal(signal, resume, kill_at);
    }

    fn kill(&mut self) {
        self.tree.kill();
        self.runs(false);
    }

    fn sweep(&mut self) {
        self.tree.sweep();
    }

    async fn next_event(&mut self) -> Event {
        loop {
            let Some(patient) = &mut self.patient else { return self.tree.next_event().await };
            let event = tokio::select! {
                biased;
                event = self.tree.next_event() => event,
                event = patient.news() => return event,
            };
            if let Some(event) = self.happened(event) {
                return event;
            }
        }
    }
}
