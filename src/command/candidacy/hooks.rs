//! Hooks, and the commands that run for them and for health checks.

use std::convert::Infallible;
use std::ffi::OsString;
use std::pin::Pin;
use std::time::Duration;

use elect_api::{Boottime, Holds, Token};
use tokio::time::{Sleep, sleep};

use crate::command::look::{Look, Rhythm, Watcher};
use crate::config::variables::{LEADER_ELECTION, LEADER_ID, SLOT, TOKEN};
use crate::config::{self, CampaignPlan, CommandLine, HookArgs};
use crate::election::slots::Slot;
use crate::guard::{
    Deadlines, Enclosure, Ended, Fate, Forked, FromGuardian, Guardian, Inherited, Left, Leftover,
    Order, Role, Settings, Starts,
};
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
    /// How long one that is asked to stop has.
    pub(in crate::command) grace: Duration,
    pub(in crate::command) log: &'a Log,
}

impl Hooks<'_> {
    pub(super) const fn wanted(&self) -> &HookArgs {
        &self.plan.flags.hooks
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

    /// With these variables in the place of the command's.
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
        let spec = HelperSpec { command, environment, limit: self.wanted().hook_timeout, lease };
        self.log.debug(format_args!("running the hook of {flag}"));
        let started = Helper::start(spec, self.inherited);
        started.map_err(|why| self.log.warn(format_args!("{flag}: {why}"))).ok()
    }

    /// A hook is over. What it had left running is told, and how it failed.
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

    /// Runs the hook of `--on-change` for whoever leads at first, and whenever that is another. What changes while
    /// one runs is told to the next, as it stands then.
    pub(in crate::command) async fn follow_changes(&self) -> Infallible {
        let Some(command) = &self.wanted().on_change else { return std::future::pending().await };
        if let Err(error) = self.follow(command).await {
            self.log.warn(format_args!("--on-change: nothing more is told: {error:#}"));
        }
        std::future::pending().await
    }

    async fn follow(&self, command: &CommandLine) -> anyhow::Result<()> {
        let store = config::connect(&self.plan.flags.backend)?;
        let mut watcher = Watcher::over(store, vec![self.plan.election.clone()], Rhythm::Calm)?;
        let mut known = None;
        loop {
            let Look::Seen(snapshot) = watcher.next().await? else { continue };
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

/// As for the command, by default. The limit of a helper is that of all that it leaves, too.
const LEFTOVER: Leftover =
    Leftover::Kill { grace: Duration::from_secs(1), kill_grace: Duration::from_secs(4) };

/// What is to be run.
pub(in crate::command) struct HelperSpec<'a> {
    pub(in crate::command) command: &'a CommandLine,
    pub(in crate::command) environment: Vec<(OsString, OsString)>,
    /// How long it may take.
    pub(in crate::command) limit: Duration,
    /// What it must not outlive, if that is a lease.
    pub(in crate::command) lease: Option<HeldLease<'a>>,
}

/// A lease.
#[derive(Clone, Copy)]
pub(in crate::command) struct HeldLease<'a> {
    /// Where it ends by time.
    pub(in crate::command) deadlines: Option<Deadlines>,
    /// What holds it.
    pub(in crate::command) holds: &'a Holds<'a>,
}

/// One that runs. Dropping it has it killed.
pub(in crate::command) struct Helper {
    name: String,
    guardian: Guardian,
    limit: Duration,
    late: Pin<Box<Sleep>>,
    is_late: bool,
    /// It was asked to end, or killed, before its time was over: whatever its end is, it is no failure.
    is_asked: bool,
    guardian_is_dead: bool,
    outcome: Option<Result<(), String>>,
    /// What it had left running when it ended by itself.
    left: Option<Left>,
}

impl Helper {
    /// Starts it.
    ///
    /// # Errors
    /// What kept it from being started, for people.
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
        let (limit, outcome) = (spec.limit, None);
        let (is_late, is_asked, guardian_is_dead) = (false, false, false);
        let left = None;
        Ok(Self { name, guardian, limit, late, is_late, is_asked, guardian_is_dead, outcome, left })
    }

    /// Its lease was renewed.
    pub(in crate::command) fn renewed(&mut self, deadlines: Deadlines) {
        self.guardian.obey(Order::Renewed(deadlines));
    }

    /// Asks it to stop, once, and kills it at this instant.
    pub(in crate::command) fn stop(&mut self, kill_at: Option<Boottime>) {
        let is_asked = std::mem::replace(&mut self.is_asked, true);
        let signal = if is_asked { libc::SIGCONT } else { libc::SIGTERM };
        self.guardian.obey(Order::Ask { signal, kill_at });
    }

    /// Kills it now.
    pub(in crate::command) fn kill(&mut self) {
        self.is_asked = true;
        self.guardian.obey(Order::Kill);
    }

    /// Ends when nothing of it lives any more, which is soon after its limit; as long as the kernel cannot kill it,
    /// it does not end. How it ended is said in words for people, unless it was asked to.
    ///
    /// # Cancellation
    /// Nothing is lost.
    pub(in crate::command) async fn over(&mut self) -> Result<(), String> {
        while !self.is_empty().await {}
        self.end(Err("was killed".to_owned()));
        self.outcome.clone().unwrap_or(Ok(()))
    }

    /// What there is to say of one that is not over though its limit is.
    pub(in crate::command) fn overdue(&self) -> String {
        format!("{} did not end within {}", self.name, humantime::format_duration(self.limit))
    }

    /// Lets go of one that is over.
    pub(in crate::command) fn dismiss(self) {
        self.guardian.dismiss();
    }

    /// Waits for what comes next, and says whether that is the end.
    async fn is_empty(&mut self) -> bool {
        if self.guardian_is_dead {
            self.guardian.sweep().await;
            return true;
        }
        let report = tokio::select! {
            report = self.guardian.next_report() => report,
            () = self.late.as_mut(), if !self.is_late => {
                self.is_late = true;
                self.outcome.get_or_insert(Err(self.overdue()));
                self.guardian.obey(Order::Kill);
                return false;
            }
        };
        match report {
            Some(FromGuardian::Ended(Ended::Exited(0))) => self.end(Ok(())),
            Some(FromGuardian::Ended(ended)) => self.end(Err(ended.to_string())),
            Some(FromGuardian::NotStarted(errno)) => {
                self.end(Err(format!("cannot be executed: {}", crate::guard::reason(errno))));
            }
            Some(FromGuardian::SoftPassed) => self.is_asked = true,
            Some(FromGuardian::Left(left)) if left.fate == Fate::Asked => self.left = Some(left),
            Some(FromGuardian::Empty) => return true,
            Some(_) => {}
            None => {
                self.guardian_is_dead = true;
                self.end(Err("was killed with its guardian".to_owned()));
            }
        }
        false
    }

    /// What is said first counts.
    fn end(&mut self, outcome: Result<(), String>) {
        let (name, is_asked) = (&self.name, self.is_asked);
        let outcome = if is_asked { Ok(()) } else { outcome };
        self.outcome.get_or_insert_with(|| outcome.map_err(|why| format!("{name} {why}")));
    }
}
