//! Hooks: what is run beside the command as leadership begins and when it is over, and on every change of leader.

use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;

use async_trait::async_trait;
use elect_api::{Boottime, Ticket, Token};
use tokio::time::timeout;

use super::environment::{LEADER_ID, SLOT, TOKEN};
use super::helper::{Errand, Helper, Hold};
use crate::command::look::{Look, Lookout, Rhythm};
use crate::config::nesting::LEADER_ELECTION;
use crate::config::{self, CampaignPlan, CommandLine, HookPlan};
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::election::slots::Slot;
use crate::guard::{Deadlines, Inherited};
use crate::report::Log;

/// What hooks need to be run.
#[derive(Clone)]
pub(in crate::command) struct Hooks<'a> {
    pub(in crate::command) plan: &'a CampaignPlan,
    /// That of the command.
    pub(in crate::command) environment: Vec<(OsString, OsString)>,
    /// In which slot we lead, if there are any.
    pub(in crate::command) slot: Option<Slot>,
    pub(in crate::command) inherited: &'a Inherited,
    pub(in crate::command) log: &'a Log,
}

impl Hooks<'_> {
    const fn wanted(&self) -> &HookPlan {
        &self.plan.hooks
    }

    fn start(
        &self,
        flag: &str,
        command: &CommandLine,
        token: Token,
        lease: Option<Hold<'_>>,
    ) -> Option<Helper> {
        let mut variables = vec![(TOKEN.into(), token.to_string().into())];
        if let Some(number) = self.slot.as_ref().and_then(Slot::number) {
            let part = format!("{}:{number}", self.plan.election);
            variables.push((SLOT.into(), number.to_string().into()));
            variables.push((LEADER_ELECTION.into(), part.into()));
        }
        self.launch(flag, command, variables, lease)
    }

    /// With these variables in the place of the command's.
    fn launch(
        &self,
        flag: &str,
        command: &CommandLine,
        variables: Vec<(OsString, OsString)>,
        lease: Option<Hold<'_>>,
    ) -> Option<Helper> {
        let mut environment = self.environment.clone();
        environment.retain(|(name, _)| variables.iter().all(|(other, _)| name != other));
        environment.extend(variables);
        let errand = Errand { command, environment, limit: self.wanted().timeout, lease };
        self.log.debug(format_args!("running the hook of {flag}"));
        let started = Helper::start(errand, self.inherited);
        started.map_err(|why| self.log.warn(format_args!("{flag}: {why}"))).ok()
    }

    fn ended(&self, flag: &str, outcome: Result<(), String>) {
        if let Err(why) = outcome {
            self.log.warn(format_args!("{flag}: {why}"));
        }
    }

    /// Runs the hook of `--on-change` for whoever leads at first, and whenever that is another. What changes while
    /// one runs is told to the next, as it stands then. It has no end.
    pub(in crate::command) async fn follow_changes(&self) {
        let Some(command) = &self.wanted().change else { return std::future::pending().await };
        if let Err(error) = self.follow(command).await {
            self.log.warn(format_args!("--on-change: nothing more is told: {error:#}"));
        }
        std::future::pending::<()>().await;
    }

    async fn follow(&self, command: &CommandLine) -> anyhow::Result<()> {
        let store = config::connect(&self.plan.backend)?;
        let mut lookout = Lookout::over(store, vec![self.plan.election.clone()], Rhythm::Calm)?;
        let mut known = None;
        loop {
            let Look::Seen(sight) = lookout.next().await? else { continue };
            let leader = sight.into_only().leader;
            let leader = leader.map(|leader| (leader.token, leader.entry.candidate.id));
            if known.as_ref() == Some(&leader) {
                continue;
            }
            let (token, id) = leader.clone().unwrap_or((Token::new(0), String::new()));
            known = Some(leader);
            let variables =
                vec![(LEADER_ID.into(), id.into()), (TOKEN.into(), token.to_string().into())];
            if let Some(mut helper) = self.launch("--on-change", command, variables, None) {
                self.ended("--on-change", helper.over().await);
                helper.dismiss();
            }
        }
    }
}

/// A tree beside which hooks are run.
///
/// A hook of `--on-elected` has the deadlines of the tree, and what holds the lease. The tree is not empty before the
/// hook is dead; and as long as it lives nobody has a ticket, which a guardian of another tree might have redeemed
/// too early: if we crash meanwhile, the lease ends by itself.
pub(in crate::command) struct Hooked<'a, T> {
    tree: T,
    hooks: Hooks<'a>,
    ticket: Option<Ticket>,
    deadlines: Option<Deadlines>,
    /// The token of the leadership that has begun, and is not over.
    led: Option<Token>,
    elected: Option<Helper>,
    /// The tree is empty but for the hook.
    is_emptied: bool,
    /// The hook of `--on-lost` is to be run, of the leadership with this token.
    over: Option<Token>,
    lost: Option<Helper>,
}

impl<'a, T: Tree> Hooked<'a, T> {
    pub(in crate::command) const fn new(tree: T, hooks: Hooks<'a>) -> Self {
        let (ticket, deadlines, led) = (None, None, None);
        let (elected, is_emptied, over, lost) = (None, false, None, None);
        Self { tree, hooks, ticket, deadlines, led, elected, is_emptied, over, lost }
    }

    pub(in crate::command) const fn tree(&mut self) -> &mut T {
        &mut self.tree
    }

    pub(in crate::command) fn into_inner(self) -> T {
        self.tree
    }

    /// Waits for the hook of `--on-lost`, if there is one, for as long as it may take.
    pub(in crate::command) async fn see_out(&mut self) {
        self.resigns();
        self.start_lost();
        let Some(mut helper) = self.lost.take() else { return };
        // Where a process cannot be killed, its guardian is left to wait for it.
        if let Ok(outcome) = timeout(self.hooks.wanted().timeout * 2, helper.over()).await {
            self.hooks.ended("--on-lost", outcome);
            helper.dismiss();
        }
    }

    fn start_lost(&mut self) {
        if let (Some(token), Some(command)) = (self.over.take(), &self.hooks.wanted().lost) {
            self.lost = self.hooks.start("--on-lost", command, token, None);
        }
    }

    fn hand_over_ticket(&mut self) {
        if let Some(ticket) = &self.ticket {
            self.tree.keep(ticket);
        }
    }

    fn elected_is_over(&mut self, outcome: Result<(), String>) {
        if let Some(helper) = self.elected.take() {
            helper.dismiss();
        }
        // What was killed as the command has ended has not failed.
        if !self.is_emptied {
            self.hooks.ended("--on-elected", outcome);
        }
        self.hand_over_ticket();
    }

    const fn empty(&mut self) -> Event {
        self.is_emptied = false;
        Event::Empty
    }
}

#[async_trait]
impl<T: Tree> Tree for Hooked<'_, T> {
    fn start(&mut self, token: Token, holds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let command = self.hooks.wanted().elected.as_ref();
        let command = command.filter(|_| self.led != Some(token));
        if command.is_some() {
            // Before the start, which does not overtake it.
            self.tree.withhold();
        }
        self.tree.start(token, holds)?;
        self.led = Some(token);
        if let Some(command) = command {
            let lease = Hold { deadlines: self.deadlines, holds };
            self.elected = self.hooks.start("--on-elected", command, token, Some(lease));
            if self.elected.is_none() {
                self.hand_over_ticket();
            }
        }
        Ok(())
    }

    fn keep(&mut self, ticket: &Ticket) {
        self.ticket = Some(ticket.clone());
        if self.elected.is_none() {
            self.tree.keep(ticket);
        }
    }

    fn withhold(&mut self) {
        self.ticket = None;
        self.tree.withhold();
    }

    fn resigns(&mut self) {
        self.over = self.over.or(self.led.take());
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.deadlines = Some(deadlines);
        self.tree.renewed(deadlines);
        if let Some(hook) = &mut self.elected {
            hook.renewed(deadlines);
        }
    }

    fn stop(&mut self, kill_at: Boottime) {
        self.tree.stop(kill_at);
        if let Some(hook) = &mut self.elected {
            hook.stop(kill_at);
        }
    }

    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>) {
        self.tree.signal(signal, resume, kill_at);
    }

    fn kill(&mut self) {
        self.tree.kill();
        if let Some(hook) = &mut self.elected {
            hook.kill();
        }
    }

    fn sweep(&mut self) {
        self.tree.sweep();
    }

    async fn next_event(&mut self) -> Event {
        self.start_lost();
        loop {
            tokio::select! {
                biased;
                event = self.tree.next_event() => match (event, &mut self.elected) {
                    (Event::Empty, Some(hook)) => {
                        self.is_emptied = true;
                        hook.kill();
                    }
                    (Event::Empty, None) => return self.empty(),
                    (event, _) => return event,
                },
                outcome = over(&mut self.elected) => {
                    self.elected_is_over(outcome);
                    if self.is_emptied {
                        return self.empty();
                    }
                }
                outcome = over(&mut self.lost) => {
                    self.hooks.ended("--on-lost", outcome);
                    if let Some(helper) = self.lost.take() {
                        helper.dismiss();
                    }
                }
            }
        }
    }
}

/// The end of one that runs; never, if none does.
async fn over(helper: &mut Option<Helper>) -> Result<(), String> {
    match helper {
        Some(helper) => helper.over().await,
        None => std::future::pending().await,
    }
}
