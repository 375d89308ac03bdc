//! Runs the helper processes of hooks and health checks.

use std::convert::Infallible;
use std::ffi::OsString;
use std::pin::Pin;
use std::time::Duration;

use elect_api::{Boottime, Holds, Token};
use tokio::time::{Sleep, sleep};

use crate::command::survey::{Answer, Rhythm, Watcher};
use crate::config::variables::{LEADER_ELECTION, LEADER_ID, SLOT, TOKEN};
use crate::config::{self, CampaignPlan, CommandLine, HookPlan};
use crate::election::slots::Slot;
use crate::guard::{
    Deadlines, Enclosure, Ended, Fate, Forked, FromGuardian, Guardian, Happened, Inherited, Left,
    Leftover, Order, Role, Settings, Starts,
};
use crate::report::Log;

/// The data that it takes to run hooks.
#[derive(Clone)]
pub(in crate::command) struct Hooks<'a> {
    pub(in crate::command) plan: &'a CampaignPlan,
    /// The environment of the command.
    pub(in crate::command) environment: Vec<(OsString, OsString)>,
    /// The slot in which this candidate leads, if the election has slots.
    pub(in crate::command) slot: Option<Slot>,
    pub(in crate::command) inherited: &'a Inherited,
    /// The time that a hook has to stop once it is asked to.
    pub(in crate::command) grace: Duration,
    pub(in crate::command) log: &'a Log,
}

impl Hooks<'_> {
    pub(super) const fn wanted(&self) -> &HookPlan {
        &self.plan.hooks
    }

    pub(super) fn start(
        &self,
        flag: &str,
        command: &CommandLine,
        token: Token,
        mut variables: Vec<(OsString, OsString)>,
        lease: Option<HeldLease<'_>>,
    ) -> Option<Helper> {
        variables.push((TOKEN.into(), token.to_string().into()));
        if let Some(number) = self.slot.as_ref().and_then(Slot::number) {
            let part = format!("{}:{number}", self.plan.election);
            variables.push((SLOT.into(), number.to_string().into()));
            variables.push((LEADER_ELECTION.into(), part.into()));
        }
        self.launch(flag, command, variables, lease)
    }

    /// Starts a hook. `variables` replace those of the command with the same names.
    fn launch(
        &self,
        flag: &str,
        command: &CommandLine,
        variables: Vec<(OsString, OsString)>,
        lease: Option<HeldLease<'_>>,
    ) -> Option<Helper> {
        let mut environment = self.environment.clone();
        environment.retain(|(name, _)| variables.iter().all(|(other, _)| name != other));
        environment.extend(variables);
        let spec = HelperSpec { command, environment, limit: self.wanted().timeout, lease };
        self.log.debug(format_args!("running the hook of {flag}"));
        let started = Helper::start(spec, self.inherited);
        started.map_err(|why| self.log.warn(format_args!("{flag}: {why}"))).ok()
    }

    /// Logs how a hook ended: the processes that it left running, and the reason of a failure.
    pub(super) fn ended(&self, flag: &str, outcome: Result<(), String>, helper: Option<Helper>) {
        if let Some(helper) = helper {
            if let Some(left) = helper.left {
                let name = &helper.name;
                self.log
                    .warn(format_args!("{flag}: {name} left {left} running, which elect ended"));
            }
            helper.guardian.dismiss();
        }
        if let Err(why) = outcome {
            self.log.warn(format_args!("{flag}: {why}"));
        }
    }

    /// Runs the hook of `--on-change` for the first known leader and after each change of the leader. Changes
    /// during one run of the hook are merged: the next run gets the leader of that time.
    pub(in crate::command) async fn follow_changes(&self) -> Infallible {
        let Some(command) = &self.wanted().change else { return std::future::pending().await };
        if let Err(error) = self.follow(command).await {
            self.log.warn(format_args!("--on-change: nothing more is told: {error:#}"));
        }
        std::future::pending().await
    }

    async fn follow(&self, command: &CommandLine) -> anyhow::Result<()> {
        let store = config::connect(&self.plan.backend)?;
        let mut watcher = Watcher::over(store, vec![self.plan.election.clone()], Rhythm::Calm)?;
        let mut known = None;
        loop {
            let Answer::Seen(snapshot) = watcher.next().await? else { continue };
            let leader = snapshot.into_only().leader;
            let leader = leader.map(|leader| (leader.token, leader.entry.candidate.id));
            if known.as_ref() == Some(&leader) {
                continue;
            }
            let (token, id) = leader.clone().unwrap_or((Token::new(0), String::new()));
            known = Some(leader);
            let variables =
                vec![(LEADER_ID.into(), id.into()), (TOKEN.into(), token.to_string().into())];
            if let Some(mut helper) = self.launch("--on-change", command, variables, None) {
                let outcome = helper.over().await;
                self.ended("--on-change", outcome, Some(helper));
            }
        }
    }
}

/// The default of the command. The time limit of a helper holds for the processes that it leaves, too.
const LEFTOVER: Leftover =
    Leftover::Kill { grace: Duration::from_secs(1), kill_grace: Duration::from_secs(4) };

/// A helper to run.
pub(in crate::command) struct HelperSpec<'a> {
    pub(in crate::command) command: &'a CommandLine,
    pub(in crate::command) environment: Vec<(OsString, OsString)>,
    /// The time limit.
    pub(in crate::command) limit: Duration,
    /// The lease that the helper must not outlive, if it runs under one.
    pub(in crate::command) lease: Option<HeldLease<'a>>,
}

/// A lease that a helper runs under.
#[derive(Clone, Copy)]
pub(in crate::command) struct HeldLease<'a> {
    /// The deadlines of the lease, if it ends by time.
    pub(in crate::command) deadlines: Option<Deadlines>,
    /// The descriptors that hold the lease.
    pub(in crate::command) holds: &'a Holds<'a>,
}

/// A helper that runs. Dropping this value kills it.
pub(in crate::command) struct Helper {
    name: String,
    guardian: Guardian,
    limit: Duration,
    late: Pin<Box<Sleep>>,
    is_late: bool,
    /// The helper was asked to end, or killed, before its time limit. Then its end counts as no failure.
    is_asked: bool,
    outcome: Option<Result<(), String>>,
    /// The processes that the helper left running when it ended by itself.
    left: Option<Left>,
}

impl Helper {
    /// Starts the helper.
    ///
    /// # Errors
    /// Returns a message for people that says why it was not started.
    pub(in crate::command) fn start(
        spec: HelperSpec<'_>,
        inherited: &Inherited,
    ) -> Result<Self, String> {
        let words = spec.command.words();
        let name = words.first().map(|word| word.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let deadlines = spec.lease.and_then(|lease| lease.deadlines);
        let start = || {
            let forked = Forked::fork(Settings {
                command: words,
                role: Role::Helps,
                environment: spec.environment,
                whole: None,
                gets_sockets: false,
                starts: Starts::Once,
                leftover: LEFTOVER,
                enclosure: Enclosure::unseen()?,
                signal: libc::SIGTERM,
                is_timed: deadlines.is_some(),
                inherited,
                redeem: None,
            })?;
            let mut guardian = forked.attach()?;
            if let Some(deadlines) = deadlines {
                guardian.obey(Order::Renewed(deadlines));
            }
            let nothing = Holds::default();
            guardian.start(Token::new(0), spec.lease.map_or(&nothing, |lease| lease.holds))?;
            Ok(guardian)
        };
        let refused = |error: std::io::Error| format!("cannot start {name}: {error}");
        let guardian = start().map_err(refused)?;
        let late = Box::pin(sleep(spec.limit));
        Ok(Self {
            name,
            guardian,
            limit: spec.limit,
            late,
            is_late: false,
            is_asked: false,
            outcome: None,
            left: None,
        })
    }

    /// Passes on that the lease was renewed.
    pub(in crate::command) fn renewed(&mut self, deadlines: Deadlines) {
        self.guardian.obey(Order::Renewed(deadlines));
    }

    /// Asks the helper to stop, and kills it at `kill_at`. Repeated calls send no second TERM.
    pub(in crate::command) fn stop(&mut self, kill_at: Option<Boottime>) {
        let is_asked = std::mem::replace(&mut self.is_asked, true);
        let signal = if is_asked { libc::SIGCONT } else { libc::SIGTERM };
        self.guardian.obey(Order::Ask { signal, kill_at });
    }

    /// Returns whether the helper was asked to end, or killed.
    pub(in crate::command) const fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Kills the helper now.
    pub(in crate::command) fn kill(&mut self) {
        self.is_asked = true;
        self.guardian.obey(Order::Kill);
    }

    /// Waits until all processes of the helper are dead, which is soon after its time limit. Does not return while
    /// the kernel cannot kill one of them.
    ///
    /// Returns how the helper failed, in words for people. An end that was asked for is no failure.
    ///
    /// # Cancellation
    /// No outcome is lost if the future is dropped.
    pub(in crate::command) async fn over(&mut self) -> Result<(), String> {
        while !self.is_empty().await {}
        self.end(Err("was killed".to_owned()));
        self.outcome.clone().unwrap_or(Ok(()))
    }

    /// Returns the message for a helper that has not ended within its time limit.
    pub(in crate::command) fn overdue(&self) -> String {
        format!("{} did not end within {}", self.name, humantime::format_duration(self.limit))
    }

    /// Releases the guardian of a helper that is over.
    pub(in crate::command) fn dismiss(self) {
        self.guardian.dismiss();
    }

    /// Waits for the next event. Returns whether the helper is over.
    async fn is_empty(&mut self) -> bool {
        let happened = tokio::select! {
            happened = self.guardian.next() => happened,
            () = self.late.as_mut(), if !self.is_late => {
                self.is_late = true;
                self.outcome.get_or_insert(Err(self.overdue()));
                self.guardian.obey(Order::Kill);
                return false;
            }
        };
        let report = match happened {
            Happened::Reported(report) => report,
            Happened::Swept => return true,
            Happened::Died => {
                self.is_late = true;
                self.end(Err("was killed with its guardian".to_owned()));
                self.guardian.sweep();
                return false;
            }
        };
        match report {
            FromGuardian::Ended(Ended::Exited(0)) => self.end(Ok(())),
            FromGuardian::Ended(ended) => self.end(Err(ended.to_string())),
            FromGuardian::NotStarted(errno) => {
                self.end(Err(format!("cannot be executed: {}", crate::guard::reason(errno))));
            }
            FromGuardian::SoftPassed => self.is_asked = true,
            FromGuardian::Left(left) if left.fate == Fate::Asked => self.left = Some(left),
            FromGuardian::Empty => return true,
            _ => {}
        }
        false
    }

    /// Records the outcome. The first one counts.
    fn end(&mut self, outcome: Result<(), String>) {
        let (name, is_asked) = (&self.name, self.is_asked);
        let outcome = if is_asked { Ok(()) } else { outcome };
        self.outcome.get_or_insert_with(|| outcome.map_err(|why| format!("{name} {why}")));
    }
}
