//! One candidacy with its command, and all that runs and listens beside it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use elect_api::Token;
use tokio::sync::mpsc::unbounded_channel;

use super::terms::Terms;
use super::tree::{CommandTree, Job};
use crate::command::candidacy::{
    CandidatePage, Feed, HookSupervisor, LabelKeeper, LeaseFileWriter, Observer, Service, Shared,
    keep_in_touch, prepare_health_checks, run_health_checks,
};
use crate::command::runtime::{BootClock, block_on, forward};
use crate::command::steer::preempt;
use crate::election::driver::{self, Clock as _, Inbox};
use crate::election::machine::Verdict;
use crate::guard::{Forked, Guardian, Incoming, Inherited};
use crate::report::Level;
use crate::report::http::{HttpState, Listener};

/// The receivers of the news of a candidacy, besides the log.
#[derive(Default)]
pub(super) struct Audience<'a> {
    service: Option<&'a Service<'a>>,
    board: Option<&'a HttpState>,
    http: Option<SocketAddr>,
    label: Option<LabelKeeper>,
}

/// The end of a candidacy.
pub(super) struct CandidacyEnd {
    pub(super) verdict: Verdict,
    /// The leader in words, if people read it.
    pub(super) leader: Option<String>,
    /// The token of the last leadership, if there was one.
    pub(super) token: Option<Token>,
    /// Leadership was lost or given up, and no signal has asked elect to end.
    pub(super) may_campaign: bool,
    /// How long the command had run when it was found unhealthy, if it was.
    pub(super) relapse: Option<Duration>,
    /// A key in the terminal ended the command, and no other process of the job.
    pub(super) ended_by_key: bool,
    /// The guardian of the empty tree.
    pub(super) guardian: Guardian,
}

impl Terms<'_> {
    /// Makes the page of `--http`. `note` holds the metrics from before a new start.
    pub(super) fn page(&self, listener: Listener, note: Option<&str>) -> CandidatePage {
        let (plan, store) = (&self.plan.campaign, self.store.profile());
        let page = CandidatePage::new(listener, plan, &self.candidate, &store, None);
        if let Some(note) = note {
            page.board.metrics().resume(note);
        }
        self.log.info(format_args!("HTTP is served on http://{}/", page.address()));
        page
    }

    /// Takes part on a runtime of its own, with all that a run of one command has beside it.
    ///
    /// # Errors
    /// Some part of it cannot be used.
    pub(super) fn campaign(
        &self,
        guardian: Forked,
        inherited: &Inherited,
        page: Option<CandidatePage>,
        pause: Duration,
    ) -> anyhow::Result<CandidacyEnd> {
        let board = page.as_ref().map(|page| Arc::clone(&page.board));
        let http = page.as_ref().map(CandidatePage::address);
        let server = page.map(|page| page.serve(&self.plan.campaign)).transpose()?;
        let end = block_on(async {
            let incoming = Incoming::new(inherited).context("cannot read signals")?;
            let guardian = guardian.attach().context("cannot watch the guardian")?;
            let label = LabelKeeper::of(&self.plan.campaign, &self.log)?;
            let service = Service::new(self.charge(), Some(guardian.pulse()), &self.log);
            let service = service.as_ref();
            let told = Audience { service, board: board.as_deref(), http, label };
            let (tell, mut inbox) = unbounded_channel();
            tokio::select! {
                end = self.compete(guardian, &mut inbox, inherited, told, pause) => end,
                never = forward(&incoming, &tell) => match never {},
                never = preempt(&self.plan.campaign, &self.candidate, &self.log) => match never {},
                never = keep_in_touch(service) => match never {},
            }
        });
        if let Some(server) = server {
            server.stop();
        }
        end
    }

    /// Takes part with the command, and with the hooks and checks of the plan, until all of their processes are dead.
    ///
    /// # Errors
    /// The clock or the file of `--lease-file` cannot be used.
    pub(super) async fn compete(
        &self,
        guardian: Guardian,
        inbox: &mut Inbox,
        inherited: &Inherited,
        told: Audience<'_>,
        pause: Duration,
    ) -> anyhow::Result<CandidacyEnd> {
        let clock = BootClock::new()?;
        let shared = Shared::new(&self.log, clock.now());
        let lease_file = LeaseFileWriter::of(&self.plan.campaign, None, &self.log)?;
        let job = self.shard.is_none().then(|| Job::new(self.plan.once.is_some()));
        let tree = CommandTree::new(guardian, job, self.slot.clone(), lease_file, &self.log);
        let environment = || self.environment_of_health();
        let health = self.plan.health.as_ref();
        let (monitor, health) =
            prepare_health_checks(health, inherited, &self.log, environment).unzip();
        let changes = self.hooks(inherited, told.http);
        let mut tree = HookSupervisor::new(tree, changes.clone(), monitor, told.label);
        let candidacy = self.candidacy();
        let verdict = {
            let feed = told.board.map(|board| Feed::new(board, self.store, &self.candidate.host));
            let level = |is_usual| if is_usual { Level::Info } else { Level::Warn };
            let mut observer =
                Observer::new(&self.log, &shared, &self.candidate, told.service, feed);
            observer.giving_way = level(self.shard.is_some());
            observer.being_led = level(self.plan.conflict_exit_code == 0);
            observer.slot = self.slot.as_ref().map(|slot| (slot, &self.election));
            let machine = self.machine(clock.now(), pause);
            tokio::select! {
                verdict = driver::drive(&candidacy, machine, &clock, &mut tree, inbox, &mut observer) => verdict,
                never = changes.follow_changes() => match never {},
                never = run_health_checks(health) => match never {},
                never = shared.keep_drawing() => match never {},
            }
        };
        shared.clear();
        let told_to_end = tree.see_out(inbox).await;
        let relapse = tree.relapse();
        let ended_by_key = tree.tree.ended_by_key();
        let guardian = tree.tree.guardian;
        guardian.send_off();
        let leader = self.leader_in_words(&verdict).await;
        let is_given_up = matches!(verdict, Verdict::Lost(_) | Verdict::SteppedDown(_));
        let (token, may_campaign) = (shared.token(), is_given_up && !told_to_end);
        Ok(CandidacyEnd { verdict, leader, token, may_campaign, relapse, ended_by_key, guardian })
    }
}
