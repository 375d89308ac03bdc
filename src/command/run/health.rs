//! Whether the command is well, while it runs; and a tree that counts the looks at it as its own.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use crate::command::candidacy::{Checkup, Leave};
use crate::config::HealthPlan;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{self, Inherited, Order};
use crate::report::Log;

/// Looks at the command again and again.
pub(super) struct Health<'a> {
    plan: &'a HealthPlan,
    checkup: Checkup<'a>,
    log: &'a Log,
    leave: watch::Receiver<Leave>,
    found: watch::Sender<Option<String>>,
    looks: watch::Sender<bool>,
    withheld: watch::Receiver<bool>,
}

/// The tree's end of it.
struct Patient {
    leave: watch::Sender<Leave>,
    /// Why the command is not well.
    found: watch::Receiver<Option<String>>,
    /// Whether anything of a look may live.
    looks: watch::Receiver<bool>,
    /// Whether nobody has a ticket, so that nobody can give our entry up while a health command may live.
    withheld: watch::Sender<bool>,
    /// The ticket that is to be handed over.
    ticket: Option<Ticket>,
    /// The tree is empty, and the look at it is not over.
    is_empty: bool,
    /// When the command was started last.
    started: Option<Boottime>,
    /// For how long it had run when it was found not to be well.
    relapse: Option<Duration>,
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
    environment: impl Fn() -> Vec<(OsString, OsString)> + 'a,
) -> (Looked<T>, Option<Health<'a>>) {
    if !plan.looks() {
        return (Looked { tree, patient: None }, None);
    }
    let (leave, left) = watch::channel(Leave { is_over: true, deadlines: None });
    let (found, finds) = watch::channel(None);
    let (looks, looking) = watch::channel(false);
    let (withholds, withheld) = watch::channel(false);
    let patient = Patient {
        leave,
        found: finds,
        looks: looking,
        withheld: withholds,
        ticket: None,
        is_empty: false,
        started: None,
        relapse: None,
    };
    let checkup = Checkup::new(plan, inherited, environment);
    let health = Health { plan, checkup, log, leave: left, found, looks, withheld };
    (Looked { tree, patient: Some(patient) }, Some(health))
}

/// Looks as often as is asked for, if it is.
pub(super) async fn keep_looking(health: Option<Health<'_>>) -> Infallible {
    let Some(mut health) = health else { return std::future::pending().await };
    loop {
        health.look_at_one().await;
    }
}

impl Health<'_> {
    /// Looks at one command from its start to its end.
    async fn look_at_one(&mut self) {
        self.until(false).await;
        let (mut failures, mut stuck) = (0, Vec::new());
        let mut pause = Box::pin(sleep(self.plan.interval));
        while self.waits_for(pause.as_mut()).await {
            pause.set(sleep(self.plan.interval));
            if self.plan.command.is_some() {
                self.has_the_ticket_withheld().await;
            }
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

    /// What looks has a guardian of its own: before it begins nobody is to have a ticket, which the command's guardian
    /// might redeem too early.
    async fn has_the_ticket_withheld(&mut self) {
        self.looks.send_replace(true);
        if self.withheld.wait_for(|withheld| *withheld).await.is_err() {
            std::future::pending::<()>().await;
        }
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

impl<T: Tree> Looked<T> {
    pub(super) fn into_inner(self) -> T {
        self.tree
    }

    /// For how long the command had run when it was found not to be well, if it was.
    pub(super) fn relapse(&self) -> Option<Duration> {
        self.patient.as_ref()?.relapse
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

    /// Withholds the ticket while something looks. Says whether the tree is empty now.
    fn withholds(&mut self, looks: bool) -> bool {
        let Some(patient) = &mut self.patient else { return false };
        patient.withheld.send_replace(looks);
        match &patient.ticket {
            _ if looks => self.tree.keep(None),
            Some(ticket) => self.tree.keep(Some(ticket)),
            None => {}
        }
        !looks && std::mem::take(&mut patient.is_empty)
    }

    /// Takes in what happened to the tree. What is to be known later is nothing now.
    fn happened(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Started => {
                if let Some(patient) = &mut self.patient {
                    patient.started = Some(guard::now());
                }
                self.runs(true);
            }
            Event::Ended(_) | Event::EndedByKey(_) | Event::NotStarted(_) | Event::GuardianDied => {
                self.runs(false);
            }
            Event::Empty => {
                if let Some(patient) = &mut self.patient
                    && *patient.looks.borrow()
                {
                    patient.is_empty = true;
                    return None;
                }
            }
            _ => {}
        }
        Some(event)
    }
}

/// What a patient gets to hear.
enum News {
    Sick(String),
    /// Something looks, or nothing does any more.
    Looks(bool),
}

impl Patient {
    async fn news(&mut self) -> News {
        loop {
            tokio::select! {
                biased;
                Ok(()) = self.looks.changed() => return News::Looks(*self.looks.borrow_and_update()),
                Ok(()) = self.found.changed() => {
                    if let Some(why) = self.found.borrow_and_update().clone() {
                        self.relapse = self.started.map(|started| guard::now().since(started));
                        return News::Sick(why);
                    }
                }
                else => std::future::pending().await,
            }
        }
    }
}

#[async_trait]
impl<T: Tree> Tree for Looked<T> {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        self.tree.start(token, holds)
    }

    fn obey(&mut self, order: Order) {
        self.tree.obey(order);
        match order {
            Order::Renewed(deadlines) => {
                if let Some(patient) = &self.patient {
                    patient.leave.send_modify(|leave| leave.deadlines = Some(deadlines));
                }
            }
            Order::Stop { .. } | Order::Kill => self.runs(false),
            Order::Signal { .. } => {}
        }
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        if let Some(patient) = &mut self.patient {
            patient.ticket = ticket.cloned();
            if ticket.is_some() && *patient.withheld.borrow() {
                return;
            }
        }
        self.tree.keep(ticket);
    }

    fn resigns(&mut self) {
        self.tree.resigns();
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
                news = patient.news() => match news {
                    News::Sick(why) => return Event::Sick(why),
                    News::Looks(looks) if self.withholds(looks) => return Event::Empty,
                    News::Looks(_) => continue,
                },
            };
            if let Some(event) = self.happened(event) {
                return event;
            }
        }
    }
}
