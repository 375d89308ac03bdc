//! The terms of one candidacy of `elect run`: the plan, the store, the candidate, and the rules that follow
//! from them.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use elect_api::{Boottime, Candidate, Division, ElectionName, Lease, Store, Token};
use tokio::sync::Semaphore;

use super::outcome::no_guardian;
use crate::command::candidacy::{Charge, Hooks, environment};
use crate::config::{BackendUrl, RunPlan, Wait, variables};
use crate::election::driver::{Candidacy, Once};
use crate::election::machine::{Heeds, LetIn, Machine, Rules, Settles};
use crate::election::slots::Slot;
use crate::election::timing::Timing;
use crate::guard::{
    Containment, Enclosure, Forked, Inherited, Leftover, Redeem, Role, Settings, Starts,
};
use crate::report::Log;

/// The terms of one candidacy.
pub(super) struct Terms<'a> {
    pub(super) plan: &'a RunPlan,
    pub(super) log: Log,
    pub(super) store: &'a dyn Store,
    pub(super) election: ElectionName,
    pub(super) candidate: Candidate,
    pub(super) timing: Timing,
    /// The number of the shard, if this candidacy is for one shard of the election in the plan.
    pub(super) shard: Option<u16>,
    /// The slot in which this candidate leads, if the election has slots.
    pub(super) slot: Option<Slot>,
    /// Whether elect has led in this process before, and lost the leadership.
    pub(super) has_led: bool,
    /// The greatest token with which it has led then.
    pub(super) floor: Option<Token>,
    /// The limit on surveys that all candidacies of this process share: see [`Candidacy::surveys`].
    surveys: Arc<Semaphore>,
}

/// The number of surveys that may go on at once.
const SURVEYS: usize = 2;

impl<'a> Terms<'a> {
    /// Makes the terms for the election that the plan names.
    ///
    /// # Errors
    /// Some part of the plan does not fit the store.
    pub(super) fn new(
        plan: &'a RunPlan,
        log: &Log,
        store: &'a dyn Store,
        containment: Containment,
    ) -> anyhow::Result<Self> {
        let log = log.about(&plan.campaign.election);
        let profile = store.profile();
        let timing = plan.campaign.timing(&profile)?;
        let candidate = plan.campaign.candidate(containment.name());
        let log = log.of_candidate(&candidate.id);
        let stands_by = plan.rules.wait == Wait::Forever && plan.once.is_none();
        let log = if stands_by { log.telling_turns() } else { log };
        log.debug(format_args!(
            "store {}, candidate {}, containment {containment}{}",
            profile.location,
            candidate.id,
            if plan.named_after_command { ", election named after the command" } else { "" }
        ));
        if containment == Containment::Group && plan.containment.is_none() {
            log.warn("processes that leave the command's process group cannot be found here: /proc does not list children");
        }
        let election = plan.campaign.election.clone();
        Ok(Self {
            plan,
            log,
            store,
            election,
            candidate,
            timing,
            shard: None,
            slot: None,
            has_led: false,
            floor: None,
            surveys: Arc::new(Semaphore::new(SURVEYS)),
        })
    }

    /// Returns the terms for a shard of this election.
    ///
    /// # Errors
    /// The name of the election leaves no room for the number of the shard.
    pub(super) fn of_shard(&self, shard: u16) -> anyhow::Result<Self> {
        let election = Division::part(&self.election, shard)?;
        Ok(Self {
            plan: self.plan,
            log: self.log.about_one_of_many(&election),
            store: self.store,
            election,
            candidate: self.candidate.clone(),
            timing: self.timing,
            shard: Some(shard),
            slot: None,
            has_led: self.has_led,
            floor: None,
            surveys: Arc::clone(&self.surveys),
        })
    }

    /// Forks the guardian of the command.
    ///
    /// # Errors
    /// The system refuses the fork.
    pub(super) fn fork(
        &self,
        inherited: &Inherited,
        enclosure: Enclosure,
        http: Option<SocketAddr>,
    ) -> anyhow::Result<Forked> {
        let role = match self.plan.campaign.candidate.division {
            Division::Shards(_) => Role::LeadsAmongOthers,
            Division::Whole | Division::Slots(_) => Role::Leads,
        };
        let rules = &self.plan.rules;
        let kill_grace = self.timing.kill_grace;
        let leftover = rules
            .leftover_grace
            .map_or(Leftover::Wait, |grace| Leftover::Kill { grace, kill_grace });
        Forked::fork(Settings {
            command: &self.plan.command,
            role,
            environment: self.environment(http),
            whole: self.slot.as_ref().map(|_| self.election.to_string()),
            gets_sockets: role == Role::Leads && environment::has_sockets(),
            starts: if rules.restarts.is_some() { Starts::Again } else { Starts::Once },
            leftover,
            signal: rules.signal,
            is_timed: self.store.profile().lease != Lease::Unlimited,
            inherited,
            enclosure,
            redeem: self.redeem(),
        })
        .map_err(|error| {
            let what = no_guardian(&error);
            anyhow::Error::from(error).context(what)
        })
    }

    fn environment(&self, http: Option<SocketAddr>) -> Vec<(OsString, OsString)> {
        let mut environment =
            environment::for_command(&self.election, &self.candidate, &self.told(), http);
        self.tell_part(&mut environment);
        environment
    }

    /// Returns the environment for a health command. It is made for each check, as the number of the slot is
    /// known only once this candidate leads.
    pub(super) fn environment_of_health(&self) -> Vec<(OsString, OsString)> {
        let mut environment = environment::for_helper();
        self.tell_part(&mut environment);
        environment
    }

    fn tell_part(&self, environment: &mut Vec<(OsString, OsString)>) {
        let shard = self.shard.map(|number| (variables::SHARD, number));
        let slot =
            self.slot.as_ref().and_then(Slot::number).map(|number| (variables::SLOT, number));
        for (name, number) in shard.into_iter().chain(slot) {
            environment.retain(|(other, _)| other != name);
            environment.push((name.into(), number.to_string().into()));
        }
    }

    pub(super) fn hooks<'h>(
        &'h self,
        inherited: &'h Inherited,
        http: Option<SocketAddr>,
    ) -> Hooks<'h> {
        let has_any = self.plan.campaign.hooks.has_any();
        let environment = if has_any { self.environment(http) } else { Vec::new() };
        let slot = self.slot.clone();
        let grace = self.plan.rules.stop_timeout.unwrap_or(self.timing.kill_grace);
        Hooks { plan: &self.plan.campaign, environment, slot, inherited, grace, log: &self.log }
    }

    /// Returns the URL of the store as the command gets it.
    fn told(&self) -> BackendUrl {
        self.plan.campaign.backend.for_other_users(&self.store.profile())
    }

    /// Returns the command that gives up the entry after a crash. A store whose leases do not end by time
    /// needs none, as it notices by itself that elect is dead.
    fn redeem(&self) -> Option<Redeem> {
        (self.store.profile().lease != Lease::Unlimited).then(|| Redeem {
            arguments: vec!["elect".into(), "redeem".into()],
            environment: environment::for_redeemer(&self.plan.campaign.backend, &self.election),
            variable: variables::TICKET,
        })
    }

    /// Makes the machine of the candidacy. It begins after `pause`, which is not zero if the command was
    /// unhealthy in the leadership before.
    pub(super) fn machine(&self, now: Boottime, pause: Duration) -> Machine {
        let machine = Machine::new(self.rules(), self.timing, now, fastrand::u64(..));
        if pause.is_zero() {
            return machine;
        }
        let shown = humantime::format_duration(pause);
        self.log.warn(format_args!("health check failed; campaigning again in {shown}"));
        machine.after(pause)
    }

    pub(super) fn candidacy(&self) -> Candidacy<'_> {
        Candidacy {
            store: self.store,
            election: &self.election,
            candidate: &self.candidate,
            once: self.plan.once.as_deref().map(|key| {
                let attempts = self.plan.once_attempts.map(NonZeroU32::get);
                Once { key, attempts }
            }),
            surveys: Some(&self.surveys),
        }
    }

    pub(super) fn charge(&self) -> Charge<'_> {
        Charge {
            election: &self.election,
            slot: self.slot.as_ref(),
            stop_timeout: self.plan.rules.stop_timeout,
            after_loss: self.plan.after_loss,
        }
    }

    pub(super) fn rules(&self) -> Rules {
        let rules = self.plan.rules.clone();
        // The division of the election does not concern a shard, which is an election of its own.
        let rules = match self.shard {
            Some(_) => Rules { division: Division::Whole, settles: Settles::IfShown, ..rules },
            None => rules,
        };
        // A candidate that has led before, or that holds a shard, has reached the store before.
        let returns = self.has_led || self.shard.is_some();
        let let_in = if returns { LetIn::Before } else { LetIn::Never };
        Rules { insists: returns, let_in, floor: self.floor, ..rules }
    }

    /// Returns the rules for a candidacy in the roster, which runs no command.
    pub(super) fn roster_rules(&self) -> Rules {
        Rules {
            heeds: Heeds::Resigning,
            restarts: None,
            max_run: None,
            lock_delay: None,
            keeps_history: false,
            ..self.rules()
        }
    }
}
