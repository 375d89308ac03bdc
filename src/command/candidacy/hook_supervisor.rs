//! Runs a command tree together with the processes beside its command: the hooks and the health checks.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Holds, Ticket, Token};
use tokio::time::sleep;

use super::health::{HealthMonitor, Heard};
use super::hooks::{HeldLease, Helper};
use super::{Hooks, LabelKeeper};
use crate::config::variables::EXIT_CODE;
use crate::election::driver::{Inbox, Tree};
use crate::election::machine::{Event, StoppedBy};
use crate::guard::{self, Deadlines, Order};
use crate::report::{LOST, Outcome};

/// The time after its limit in which a hook has to be dead. It is longer only if the kernel cannot kill a process of
/// it. elect then leaves, and the hook's guardian goes on waiting.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// A command tree and the processes that elect runs beside it. The guardian of the tree does not know about them.
///
/// A hook of `--on-elected` belongs to the leadership. It lives on when the command has ended or is started again, and
/// it gets the deadlines of the tree and the descriptors that hold the lease. The tree counts as empty only when that
/// hook and any running health command are dead as well.
///
/// While one of them lives, the guardian has no ticket. It could redeem the ticket before they are dead. So if elect
/// crashes in that time, the lease ends by its TTL.
pub(in crate::command) struct HookSupervisor<'a, T> {
    pub(in crate::command) tree: T,
    hooks: Hooks<'a>,
    monitor: Option<HealthMonitor>,
    ticket: Option<Ticket>,
    deadlines: Option<Deadlines>,
    /// The token of the current leadership, while it lasts.
    led: Option<Token>,
    elected: Option<Helper>,
    /// The tree is empty, but a health check of its command has not ended.
    awaits_checks: bool,
    /// The tree is empty, but the hook of `--on-elected` still runs.
    is_outlived: bool,
    /// The token of the ended leadership for which the hook of `--on-lost` has not been started yet.
    over: Option<Token>,
    /// The exit code of the last command as a shell reports it, or [`LOST`] if elect stopped the command first.
    code: Option<u8>,
    lost: Option<Helper>,
    /// The task that keeps the label of the pod, if a label is configured.
    label: Option<LabelKeeper>,
    /// Events that a failed start has caused, and that the engine has not read yet.
    pending: VecDeque<Event>,
}

impl<'a, T: Tree> HookSupervisor<'a, T> {
    pub(in crate::command) fn new(
        tree: T,
        hooks: Hooks<'a>,
        monitor: Option<HealthMonitor>,
        label: Option<LabelKeeper>,
    ) -> Self {
        Self {
            tree,
            hooks,
            monitor,
            ticket: None,
            deadlines: None,
            led: None,
            elected: None,
            awaits_checks: false,
            is_outlived: false,
            over: None,
            code: None,
            lost: None,
            label,
            pending: VecDeque::new(),
        }
    }

    /// Returns how long the command had run when it was found unhealthy, if it was.
    pub(in crate::command) fn relapse(&self) -> Option<Duration> {
        self.monitor.as_ref()?.relapse()
    }

    /// Waits for the hook of `--on-lost` and for the removal of the pod's label. Each has its own time limit.
    ///
    /// Returns whether a signal to end elect came meanwhile, or was still unread in the inbox. Such a signal is passed
    /// on to the hook.
    pub(in crate::command) async fn see_out(&mut self, inbox: &mut Inbox) -> bool {
        self.resigns();
        // Both have begun already, and the removal of the label goes on by itself.
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
        let mut patience = std::pin::pin!(sleep(self.hooks.wanted().timeout + KILL_PATIENCE));
        let mut is_told_to_end = false;
        while self.lost.is_some() {
            tokio::select! {
                biased;
                () = &mut patience => {
                    if let Some(hook) = self.lost.take() {
                        let why = format!("{}, and could not be killed: it may run on", hook.overdue());
                        self.hooks.ended("--on-lost", Err(why), None);
                    }
                }
                outcome = over(&mut self.lost) => self.lost_is_over(outcome),
                Some(event) = inbox.recv() => is_told_to_end |= self.tells_to_end(&event),
            }
        }
        // This is the last reader of the inbox. No event in it may count for a later candidacy.
        while let Ok(event) = inbox.try_recv() {
            is_told_to_end |= self.tells_to_end(&event);
        }
        is_told_to_end
    }

    /// Returns whether this event is a signal that ends elect. Such a signal stops the hook of `--on-lost`.
    fn tells_to_end(&mut self, event: &Event) -> bool {
        let Event::Signal(signal) = *event else { return false };
        let tells = guard::ends_elect(signal);
        if tells {
            self.stop_lost();
        } else {
            self.tree.signaled(signal);
        }
        tells
    }

    fn start_lost(&mut self) {
        if let (Some(token), Some(command)) = (self.over.take(), &self.hooks.wanted().lost) {
            // The code is empty if elect did not see the command end.
            let code = self.code.map(|code| code.to_string()).unwrap_or_default();
            let variables = vec![(EXIT_CODE.into(), code.into())];
            self.lost = self.hooks.start("--on-lost", command, token, variables, None);
        }
    }

    fn lost_is_over(&mut self, outcome: Result<(), String>) {
        self.hooks.ended("--on-lost", outcome, self.lost.take());
    }

    /// Asks the hook of `--on-lost` to stop. The signal that ended the leadership does not get here, as the hook runs
    /// after it; only a further signal does.
    fn stop_lost(&mut self) {
        if let Some(hook) = &mut self.lost {
            hook.stop(Some(guard::now() + self.hooks.grace));
        }
    }

    /// Gives the ticket to the guardian, unless a hook or a health command still runs.
    fn hand_over_ticket(&mut self) {
        let is_withheld =
            self.elected.is_some() || self.monitor.as_ref().is_some_and(HealthMonitor::is_withheld);
        if let Some(ticket) = self.ticket.as_ref().filter(|_| !is_withheld) {
            self.tree.keep(Some(ticket));
        }
    }

    /// Takes in an event of the tree. Returns `None` for the end of the tree if a health check still runs: the event
    /// follows later.
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
        if let Some(monitor) = &mut self.monitor {
            monitor.happened(&event);
            if matches!(event, Event::Empty) && monitor.is_checking() {
                self.awaits_checks = true;
                return None;
            }
        }
        Some(if matches!(event, Event::Empty) { self.tree_is_empty() } else { event })
    }

    fn tree_is_empty(&mut self) -> Event {
        self.is_outlived = self.elected.is_some();
        if self.elected.as_ref().is_some_and(|hook| !hook.is_asked()) {
            self.hooks.log.info("the command has ended; the hook of --on-elected runs on");
        }
        if self.is_outlived { Event::Outlived } else { Event::Empty }
    }

    /// Takes in that a health command has begun or that none runs any more.
    fn checking_changed(&mut self, checking: bool) -> Option<Event> {
        if checking {
            self.tree.keep(None);
        }
        if let Some(monitor) = &self.monitor {
            monitor.set_withheld(checking);
        }
        if checking {
            return None;
        }
        self.hand_over_ticket();
        std::mem::take(&mut self.awaits_checks).then(|| self.tree_is_empty())
    }

    fn elected_is_over(&mut self, outcome: Result<(), String>) {
        self.hooks.ended("--on-elected", outcome, self.elected.take());
        self.hand_over_ticket();
    }

    /// Takes in that the command was not started. If the hook of `--on-elected` lives, the leadership goes on until it
    /// ends.
    fn not_started(&mut self, error: io::Error) -> io::Result<()> {
        let is_gone =
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
        if self.elected.is_none() || is_gone {
            // The ticket was withheld for a hook that was not started.
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

    /// Returns whether the hook was the last to end.
    const fn is_empty(&self) -> bool {
        self.is_outlived && self.elected.is_none()
    }
}

#[async_trait]
impl<T: Tree> Tree for HookSupervisor<'_, T> {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        let command = self.hooks.wanted().elected.as_ref();
        let command = command.filter(|_| self.led != Some(token));
        if command.is_some() {
            // The ticket is taken back first. Orders to the guardian keep their order, so the start does not overtake
            // this one.
            self.tree.keep(None);
        }
        self.is_outlived = false;
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
        if let Some(monitor) = &mut self.monitor {
            monitor.ordered(order);
        }
        if stopped_by == Some(StoppedBy::Signal) {
            self.stop_lost();
        }
        let Some(hook) = &mut self.elected else { return };
        // As long as the command lives, the hook has as long as the command.
        let own_end = self.is_outlived.then(|| guard::now() + self.hooks.grace);
        match order {
            Order::Renewed(deadlines) => hook.renewed(deadlines),
            Order::Stop { kill_at } => hook.stop(Some(kill_at)),
            Order::Kill => hook.kill(),
            Order::Ask { kill_at, .. } => hook.stop(kill_at.or(own_end)),
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
                heard = hear(&mut self.monitor) => match heard {
                    Heard::Sick(why) => Some(Event::Sick(why)),
                    Heard::Checking(checking) => self.checking_changed(checking),
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
        self.is_outlived = false;
        Event::Empty
    }
}

/// Waits for the end of the helper. Waits for ever if there is none.
async fn over(helper: &mut Option<Helper>) -> Result<(), String> {
    match helper {
        Some(helper) => helper.over().await,
        None => std::future::pending().await,
    }
}

/// Waits for news of the health check. Waits for ever if there is none.
async fn hear(monitor: &mut Option<HealthMonitor>) -> Heard {
    match monitor {
        Some(monitor) => monitor.hear().await,
        None => std::future::pending().await,
    }
}
