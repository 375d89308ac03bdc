//! A command tree, and what runs beside its command: hooks, and what looks at whether it is well.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Holds, Ticket, Token};
use tokio::time::sleep;

use super::health::{Heard, Patient};
use super::hooks::{HeldLease, Helper};
use super::{Hooks, LabelKeeper};
use crate::config::variables::EXIT_CODE;
use crate::election::driver::{Inbox, Tree};
use crate::election::machine::{Event, StoppedBy};
use crate::guard::{self, Deadlines, Order};
use crate::report::{LOST, Outcome};

/// A command tree and its company, which the tree's guardian knows nothing of.
///
/// A hook of `--on-elected` belongs to the leadership: it lives on when the command is started again, has the
/// deadlines of the tree, and what holds the lease. The tree is not empty before that hook is dead, and what looks at
/// the command; and as long as any of them lives nobody has a ticket, which the guardian might have redeemed too
/// early: if we crash meanwhile, the lease ends by itself.
pub(in crate::command) struct Company<'a, T> {
    tree: T,
    hooks: Hooks<'a>,
    patient: Option<Patient>,
    ticket: Option<Ticket>,
    deadlines: Option<Deadlines>,
    /// The token of the leadership that has begun, and is not over.
    led: Option<Token>,
    elected: Option<Helper>,
    /// The tree is empty, and a look at its command is not over.
    awaits_looks: bool,
    /// The tree is empty but for the hook.
    is_outlived: bool,
    /// Nothing is started again before all is empty.
    is_to_end: bool,
    /// The hook of `--on-lost` is to be run, of the leadership with this token.
    over: Option<Token>,
    /// The code with which a shell would say that the command ended last, or [`LOST`] if elect stopped it before.
    code: Option<u8>,
    lost: Option<Helper>,
    /// Who keeps the pod's label, if it has one.
    label: Option<LabelKeeper>,
    /// What came of a start at once.
    pending: VecDeque<Event>,
}

impl<'a, T: Tree> Company<'a, T> {
    pub(in crate::command) fn new(
        tree: T,
        hooks: Hooks<'a>,
        patient: Option<Patient>,
        label: Option<LabelKeeper>,
    ) -> Self {
        Self {
            tree,
            hooks,
            patient,
            ticket: None,
            deadlines: None,
            led: None,
            elected: None,
            awaits_looks: false,
            is_outlived: false,
            is_to_end: false,
            over: None,
            code: None,
            lost: None,
            label,
            pending: VecDeque::new(),
        }
    }

    pub(in crate::command) fn into_inner(self) -> T {
        self.tree
    }

    /// For how long the command had run when it was found not to be well, if it was.
    pub(in crate::command) fn relapse(&self) -> Option<Duration> {
        self.patient.as_ref()?.relapse()
    }

    /// Waits for the hook of `--on-lost`, if there is one, and for the removal of the pod's label, for as long as either
    /// may take. Says whether a signal that wants us to end came meanwhile, or was not read before: it is passed on to
    /// the hook.
    pub(in crate::command) async fn see_out(&mut self, inbox: &mut Inbox) -> bool {
        self.resigns();
        // Both are under way already, and the label's removal goes on by itself.
        let mut label = self.label.take();
        let told_to_end = self.see_hook_out(inbox).await;
        if let Some(label) = &mut label {
            label.see_out().await;
        }
        self.label = label;
        told_to_end
    }

    async fn see_hook_out(&mut self, inbox: &mut Inbox) -> bool {
        self.start_lost();
        // Where a process cannot be killed, its guardian is left to wait for it.
        let mut patience = std::pin::pin!(sleep(self.hooks.wanted().hook_timeout * 2));
        let mut is_told_to_end = false;
        while self.lost.is_some() {
            tokio::select! {
                biased;
                () = &mut patience => self.lost = None,
                outcome = over(&mut self.lost) => self.lost_is_over(outcome),
                Some(event) = inbox.recv() => is_told_to_end |= self.tells_to_end(&event),
            }
        }
        // Nobody reads it after this, and what is in it is not pending for whatever comes next.
        while let Ok(event) = inbox.try_recv() {
            is_told_to_end |= self.tells_to_end(&event);
        }
        is_told_to_end
    }

    /// Whether this is a signal that wants us to end.
    fn tells_to_end(&mut self, event: &Event) -> bool {
        let Event::Signal(signal) = *event else { return false };
        let tells = matches!(signal, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM);
        if tells {
            self.stop_lost();
        } else {
            self.tree.signaled(signal);
        }
        tells
    }

    fn start_lost(&mut self) {
        if let (Some(token), Some(command)) = (self.over.take(), &self.hooks.wanted().on_lost) {
            // Empty if we did not see it end.
            let code = self.code.map(|code| code.to_string()).unwrap_or_default();
            let variables = vec![(EXIT_CODE.into(), code.into())];
            self.lost = self.hooks.start("--on-lost", command, token, variables, None);
        }
    }

    fn lost_is_over(&mut self, outcome: Result<(), String>) {
        self.hooks.ended("--on-lost", outcome, self.lost.take());
    }

    /// The signal that has ended the leadership does not concern the hook that comes after it; another one does.
    fn stop_lost(&mut self) {
        if let Some(hook) = &mut self.lost {
            hook.stop(Some(guard::now() + self.hooks.grace));
        }
    }

    /// Unless somebody lives beside the tree.
    fn hand_over_ticket(&mut self) {
        let is_withheld =
            self.elected.is_some() || self.patient.as_ref().is_some_and(Patient::is_withheld);
        if let Some(ticket) = self.ticket.as_ref().filter(|_| !is_withheld) {
            self.tree.keep(Some(ticket));
        }
    }

    /// Takes in what happened to the tree. What is to be known later is nothing now.
    fn happened(&mut self, event: Event) -> Option<Event> {
        if let Event::SoftPassed | Event::GuardianDied = event {
            self.label(false);
        }
        match event {
            Event::NotStarted(errno) => self.code = Some(Outcome::not_started(errno).exit_code(0)),
            Event::Ended(ended) | Event::EndedAfterKey(ended, _) => {
                self.code = self.code.or(Some(ended.code()));
            }
            _ => {}
        }
        if let Some(patient) = &mut self.patient {
            patient.happened(&event);
            if matches!(event, Event::Empty) && patient.is_looked_at() {
                self.awaits_looks = true;
                return None;
            }
        }
        Some(if matches!(event, Event::Empty) { self.tree_is_empty() } else { event })
    }

    fn tree_is_empty(&mut self) -> Event {
        self.is_outlived = self.elected.is_some();
        if self.is_outlived { Event::Outlived } else { Event::Empty }
    }

    /// Something looks at the command, or nothing does any more.
    fn looks(&mut self, looks: bool) -> Option<Event> {
        if looks {
            self.tree.keep(None);
        }
        if let Some(patient) = &self.patient {
            patient.set_withheld(looks);
        }
        if looks {
            return None;
        }
        self.hand_over_ticket();
        std::mem::take(&mut self.awaits_looks).then(|| self.tree_is_empty())
    }

    fn elected_is_over(&mut self, outcome: Result<(), String>) {
        self.hooks.ended("--on-elected", outcome, self.elected.take());
        self.hand_over_ticket();
    }

    /// The command could not be started again; the hook lives, perhaps.
    fn not_started(&mut self, error: io::Error) -> io::Result<()> {
        let is_gone =
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
        if self.elected.is_none() || is_gone {
            // It was withheld for a hook that did not come.
            self.hand_over_ticket();
            return Err(error);
        }
        self.is_outlived = true;
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        self.pending.extend([Event::NotStarted(errno), Event::Outlived]);
        Ok(())
    }

    fn label(&self, leads: bool) {
        if let Some(label) = &self.label {
            label.want(leads);
        }
    }

    /// The hook outlives the tree of the command no longer, and is not to.
    const fn is_empty(&self) -> bool {
        self.is_outlived && self.is_to_end && self.elected.is_none()
    }
}

#[async_trait]
impl<T: Tree> Tree for Company<'_, T> {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        let command = self.hooks.wanted().on_elected.as_ref();
        let command = command.filter(|_| self.led != Some(token));
        if command.is_some() {
            // Before the start, which does not overtake it.
            self.tree.keep(None);
        }
        (self.is_outlived, self.is_to_end) = (false, false);
        self.code = None;
        if let Err(error) = self.tree.start(token, holds) {
            return self.not_started(error);
        }
        self.led = Some(token);
        self.label(true);
        if let Some(command) = command {
            let lease = HeldLease { deadlines: self.deadlines, holds };
            self.elected =
                self.hooks.start("--on-elected", command, token, Vec::new(), Some(lease));
            if self.elected.is_none() {
                self.hand_over_ticket();
            }
        }
        Ok(())
    }

    fn obey(&mut self, order: Order, stopped_by: Option<StoppedBy>) {
        let ends = matches!(order, Order::Stop { .. } | Order::Kill);
        self.is_to_end |= ends;
        if ends || stopped_by.is_some() {
            self.label(false);
        }
        if stopped_by == Some(StoppedBy::Elect) {
            self.code = self.code.or(Some(LOST));
        }
        if !self.is_outlived || matches!(order, Order::Renewed(_)) {
            self.tree.obey(order, stopped_by);
        }
        if let Order::Renewed(deadlines) = order {
            self.deadlines = Some(deadlines);
        }
        if let Some(patient) = &mut self.patient {
            patient.ordered(order);
        }
        if stopped_by == Some(StoppedBy::Signal) {
            self.stop_lost();
        }
        let Some(hook) = &mut self.elected else { return };
        match order {
            Order::Renewed(deadlines) => hook.renewed(deadlines),
            Order::Stop { kill_at } => hook.stop(Some(kill_at)),
            Order::Kill => hook.kill(),
            Order::Ask { kill_at, .. } => hook.stop(kill_at),
            Order::Signal { .. } => {}
        }
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.ticket = ticket.cloned();
        if ticket.is_none() {
            self.tree.keep(None);
        }
        self.hand_over_ticket();
    }

    fn resigns(&mut self) {
        self.label(false);
        self.over = self.over.or(self.led.take());
        self.tree.resigns();
    }

    fn sweep(&mut self) {
        self.tree.sweep();
    }

    fn signaled(&mut self, signal: i32) -> Option<i32> {
        self.tree.signaled(signal)
    }

    async fn next_event(&mut self) -> Event {
        self.start_lost();
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        while !self.is_empty() {
            let event = tokio::select! {
                biased;
                event = self.tree.next_event() => self.happened(event),
                heard = hear(&mut self.patient) => match heard {
                    Heard::Sick(why) => Some(Event::Sick(why)),
                    Heard::Looks(looks) => self.looks(looks),
                },
                outcome = over(&mut self.elected) => {
                    self.elected_is_over(outcome);
                    None
                }
                outcome = over(&mut self.lost) => {
                    self.lost_is_over(outcome);
                    None
                }
            };
            if let Some(event) = event {
                return event;
            }
        }
        (self.is_outlived, self.is_to_end) = (false, false);
        Event::Empty
    }
}

/// The end of one that runs; never, if none does.
async fn over(helper: &mut Option<Helper>) -> Result<(), String> {
    match helper {
        Some(helper) => helper.over().await,
        None => std::future::pending().await,
    }
}

/// What the looks at a command say, if anybody looks.
async fn hear(patient: &mut Option<Patient>) -> Heard {
    match patient {
        Some(patient) => patient.hear().await,
        None => std::future::pending().await,
    }
}
