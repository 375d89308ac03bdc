//! Hooks: what is run beside the command as leadership begins and when it is over, and on every change of leader.

use std::convert::Infallible;
use std::ffi::OsString;
use std::time::Duration;

use elect_api::Token;

use super::environment::{LEADER_ID, SLOT, TOKEN};
use super::helper::{Errand, Helper, Hold};
use crate::command::look::{Look, Lookout, Rhythm};
use crate::config::nesting::LEADER_ELECTION;
use crate::config::{self, CampaignPlan, CommandLine, HookPlan};
use crate::election::slots::Slot;
use crate::guard::Inherited;
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
    pub(super) const fn wanted(&self) -> &HookPlan {
        &self.plan.hooks
    }

    pub(super) fn start(
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

    pub(super) fn ended(&self, flag: &str, outcome: Result<(), String>) {
        if let Err(why) = outcome {
            self.log.warn(format_args!("{flag}: {why}"));
        }
    }

    /// Runs the hook of `--on-change` for whoever leads at first, and whenever that is another. What changes while
    /// one runs is told to the next, as it stands then.
    pub(in crate::command) async fn follow_changes(&self) -> Infallible {
        let Some(command) = &self.wanted().change else { return std::future::pending().await };
        if let Err(error) = self.follow(command).await {
            self.log.warn(format_args!("--on-change: nothing more is told: {error:#}"));
        }
        std::future::pending().await
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
