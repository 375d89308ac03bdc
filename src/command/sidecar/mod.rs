//! `elect sidecar`: takes part in an election for an application that it has not started, and tells the
//! application whether it leads.
//!
//! elect can kill no part of the application, so its answers must stay true for as long as the
//! application may act on them. After the announced end of a leadership, the entry in the store stays
//! for the grace. An application is never active beside another leader's application if it asks at least
//! once per grace, and stops when it does not lead.

mod application;
mod health;

use std::sync::Arc;

use anyhow::Context;
use elect_api::{Candidate, Store};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::watch;

use self::application::{Application, forward};
use self::health::{ApplicationHealth, Fitness};
use super::candidacy::{
    CandidatePage, Charge, Feed, HookSupervisor, Hooks, LabelKeeper, LeaseFileWriter, Observer,
    Service, Shared, environment, keep_in_touch, listen, warn_of,
};
use super::runtime::{BootClock, block_on};
use super::steer::preempt;
use crate::config::{self, AfterLoss, SidecarPlan};
use crate::election::driver::{self, Candidacy, Clock as _, Inbox, OnDuty};
use crate::election::machine::{Event, LetIn, Machine, Rules, Verdict};
use crate::guard::{self, Incoming, Inherited};
use crate::report::Log;
use crate::report::http::HttpState;

/// The containment that other candidates see: there is none.
const CONTAINMENT: &str = "none";

/// Takes part in the election again and again, while the application is healthy. The exit code is 0
/// after a signal.
///
/// # Errors
/// Returns an error if elect cannot take part at all.
pub(super) fn sidecar(plan: &SidecarPlan, log: &Log) -> anyhow::Result<u8> {
    let inherited = Inherited::take().context("cannot block signals")?;
    inherited.release().context("cannot let go of stdin")?;
    let log = log.about(&plan.campaign.election).telling_turns();
    block_on(serve(plan, &log, &inherited)).map(|()| 0)
}

async fn serve(plan: &SidecarPlan, log: &Log, inherited: &Inherited) -> anyhow::Result<()> {
    // Errors in the plan are reported now, and not only when the application becomes healthy.
    plan.find_programs()?;
    let candidate = plan.campaign.candidate(CONTAINMENT);
    let log = &log.of_candidate(&candidate.id);
    let store = config::connect(&plan.campaign.backend)?;
    let profile = store.profile();
    let grace = plan.campaign.timing(&profile)?.kill_grace;
    warn_of(&*store, log);
    let lease_file = LeaseFileWriter::of(&plan.campaign, Some(grace), log)?;
    let label = LabelKeeper::of(&plan.campaign, log)?;
    let page = plan.campaign.http.as_ref().map(|address| {
        let listener = listen(address, None)?;
        log.info(format_args!("HTTP is served on http://{}/", listener.address()));
        anyhow::Ok(CandidatePage::new(listener, &plan.campaign, &candidate, &profile, Some(grace)))
    });
    let page = page.transpose()?;
    let board = page.as_ref().map(|page| Arc::clone(&page.board));
    let address = page.as_ref().map(CandidatePage::address);
    let server = page.map(|page| page.serve(&plan.campaign)).transpose()?;
    let incoming = Incoming::new(inherited).context("cannot read signals")?;
    let (told, fitness) = watch::channel(Fitness::Unknown);
    let (tell, inbox) = unbounded_channel();
    let clock = BootClock::new()?;
    let application = Application { lease_file, board: board.as_deref() };
    let application = OnDuty::new(application, &clock, Some(grace));
    let known = plan.campaign.backend.for_other_users(&profile);
    let environment =
        environment::for_command(&plan.campaign.election, &candidate, &known, address);
    let hooks = Hooks { plan: &plan.campaign, environment, slot: None, inherited, grace, log };
    let changes = hooks.clone();
    let application = HookSupervisor::new(application, hooks, None, label);
    let charge = Charge {
        election: &plan.campaign.election,
        slot: None,
        stop_timeout: Some(grace),
        after_loss: AfterLoss::Campaign,
    };
    let service = Service::new(charge, None, log);
    let mut sidecar = Sidecar {
        plan,
        store: &*store,
        let_in: LetIn::Never,
        log,
        candidate,
        board: board.as_deref(),
        service: service.as_ref(),
        clock: &clock,
        application,
        inbox,
        fitness: fitness.clone(),
    };
    let health = ApplicationHealth::new(plan.health.as_ref(), inherited, log, told);
    let outcome = tokio::select! {
        outcome = sidecar.campaign() => outcome,
        never = health.run_health_checks() => match never {},
        never = forward(&incoming, fitness, &tell) => match never {},
        never = changes.follow_changes() => match never {},
        never = keep_in_touch(service.as_ref()) => match never {},
    };
    if let Some(server) = server {
        server.stop();
    }
    outcome
}

/// The next step after a candidacy.
enum Next {
    Again,
    End,
}

struct Sidecar<'a> {
    plan: &'a SidecarPlan,
    /// The store for all candidacies of this process, which keep to the store that they know.
    store: &'a dyn Store,
    /// Whether there was a candidacy before.
    let_in: LetIn,
    log: &'a Log,
    candidate: Candidate,
    board: Option<&'a HttpState>,
    service: Option<&'a Service<'a>>,
    clock: &'a BootClock,
    application: HookSupervisor<'a, OnDuty<'a, Application<'a>>>,
    /// Signals that end elect, and changes of the application's health.
    inbox: Inbox,
    fitness: watch::Receiver<Fitness>,
}

impl Sidecar<'_> {
    /// Takes part until a signal ends elect.
    async fn campaign(&mut self) -> anyhow::Result<()> {
        loop {
            if let Next::End = self.wait_until_fit().await {
                return Ok(());
            }
            if let Next::End = self.take_part().await? {
                return Ok(());
            }
            self.let_in = LetIn::Before;
        }
    }

    /// Waits until the application is healthy, or a signal ends elect. An unhealthy candidate may not
    /// lead, so it keeps no entry, which would only delay others.
    async fn wait_until_fit(&mut self) -> Next {
        loop {
            // Events in the inbox are from the last candidacy, except for signals.
            let mut told = self.inbox.try_recv().ok();
            if told.is_none() {
                if *self.fitness.borrow() == Fitness::Fit {
                    return Next::Again;
                }
                if let Some(service) = self.service {
                    service.rests("the application is not well");
                }
                told = self.inbox.recv().await;
            }
            if let Some(Event::Signal(signal)) = told {
                self.log.info(guard::told_to_end(signal));
                return Next::End;
            }
        }
    }

    async fn take_part(&mut self) -> anyhow::Result<Next> {
        if let Some(board) = self.board {
            board.joins();
        }
        let campaign = &self.plan.campaign;
        let profile = self.store.profile();
        let timing = campaign.timing(&profile)?;
        let candidate = &self.candidate;
        self.log.debug(format_args!("store {}, candidate {}", profile.location, candidate.id));
        let candidacy = Candidacy {
            store: self.store,
            election: &campaign.election,
            candidate,
            once: None,
            surveys: None,
        };
        let shared = Shared::new(self.log, self.clock.now());
        let feed = self.board.map(|board| Feed::new(board, self.store, &candidate.host));
        let mut observer = Observer::new(self.log, &shared, candidate, self.service, feed);
        observer.is_sidecar = true;
        let rules = self.rules();
        let machine = Machine::new(rules, timing, self.clock.now(), fastrand::u64(..));
        let (tree, inbox) = (&mut self.application, &mut self.inbox);
        let drive = driver::drive(&candidacy, machine, self.clock, tree, inbox, &mut observer);
        let verdict = tokio::select! {
            verdict = drive => verdict,
            never = preempt(campaign, candidate, self.log) => match never {},
            never = shared.keep_drawing() => match never {},
        };
        let told_to_end = self.application.see_out(&mut self.inbox).await;
        shared.clear();
        let next = self.judge(verdict, &profile.location)?;
        Ok(if told_to_end { Next::End } else { next })
    }

    fn rules(&self) -> Rules {
        Rules { insists: true, let_in: self.let_in, ..self.plan.campaign.rules() }
    }

    fn judge(&self, verdict: Verdict, location: &str) -> anyhow::Result<Next> {
        match verdict {
            Verdict::Lost(why) | Verdict::SteppedDown(why) | Verdict::Withdrawn(why) => {
                self.log.info(format_args!("leadership was given up: {why}"));
                Ok(Next::Again)
            }
            Verdict::Ended(_) | Verdict::LostForGood(_) => {
                self.log.info("leadership was given up: elect was told to end");
                Ok(Next::End)
            }
            Verdict::Interrupted(signal) => {
                self.log.info(guard::told_to_end(signal));
                Ok(Next::End)
            }
            Verdict::StoreFailed { error, .. } => Err(error.into()),
            Verdict::Failed(why) => Err(anyhow::anyhow!(why)),
            // The rules of a sidecar lead to none of these verdicts.
            Verdict::NotAcquired(_)
            | Verdict::Unwanted(_)
            | Verdict::Unreached
            | Verdict::NotStarted(_)
            | Verdict::MaxRun(..)
            | Verdict::AlreadyDone
            | Verdict::UsedUp(_) => Err(anyhow::anyhow!("{location} did not answer in time")),
        }
    }
}
