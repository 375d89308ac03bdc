//! `elect run`: runs a command while this candidate leads an election.

mod comeback;
mod leaders;
mod shards;
mod terms;
mod tree;
mod words;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use elect_api::StoreId;
use elect_api::{Candidate, Division, Store, Token};
use elect_system::path::Output;
use nix::sys::signal::Signal;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use self::comeback::wait_for_files;
use self::leaders::in_words;
use self::terms::Terms;
use self::tree::{CommandTree, Job};
use self::words::{cannot_execute, unstarted, warn_of_strays};
use super::attempts::with_members;
use super::candidacy::{
    CandidatePage, Feed, HookSupervisor, HttpHandoff, LabelKeeper, LeaseFileWriter, Observer,
    Service, Shared, keep_in_touch, keep_looking, listen, look_after, warn_of,
};
use super::runtime::{BootClock, block_on, forward};
use super::steer::preempt;
use crate::config::{self, AfterLoss, RunPlan, Wait};
use crate::election::driver::{self, Clock as _, Inbox, Tree};
use crate::election::history::since;
use crate::election::machine::{IN_DOUBT, LED, Verdict};
use crate::election::slots::{Slot, Slots};
use crate::guard::{self, Enclosure, Ended, ExecHandoff, Forked, Incoming, Inherited, Whom};
use crate::report::http::{HttpState, Listener};
use crate::report::{
    self, Level, Log, LogEvent, NOT_ACQUIRED, Outcome, OutcomeRecord, rfc3339, wall_clock,
};

/// Takes part in the election, runs the command while it leads, and returns the outcome. If a signal ended the command
/// and a shell would look at that, this process ends by the same signal instead.
///
/// # Errors
/// Returns an error if elect cannot take part at all.
pub(super) fn run(mut plan: RunPlan, log: &Log) -> anyhow::Result<Outcome> {
    let mut inherited = Inherited::take().context("cannot block signals")?;
    let handoff = inherited.handoff();
    let started = wall_clock();
    if let Some(period) = plan.once_per {
        // A candidate that starts over after a loss keeps the key of its first start, even if the period has changed.
        let before = handoff.as_ref().and_then(|handoff| handoff.once.clone());
        plan.once = Some(before.unwrap_or_else(|| period.key(started)));
    }
    if plan.once.is_some() && handoff.is_none() && log.is_of_default_store() {
        log.warn(ONCE_PER_MACHINE);
    }
    if plan.rules.stop_timeout.is_none() && handoff.is_none() {
        inherited.unheard().into_iter().for_each(|signal| log.warn(is_unheard(signal)));
    }
    let plan = &plan;
    if handoff.is_none() {
        warn_of_strays(plan, log);
    }
    let outcome_file = plan.outcome.as_deref().map(open_outcome).transpose()?;
    // A candidate that starts over has found the programs before. A program that is missing by now is reported when it
    // is needed.
    let is_first = handoff.is_none();
    let found = if is_first { plan.find_programs() } else { Ok(()) };
    let obstacle = plan.obstacle().filter(|_| is_first);
    let files = if is_first { Ok(None) } else { wait_for_files(plan, log, &inherited) };
    let result = match plan.campaign.candidate.division {
        _ if let Some(errno) = obstacle => Ok(Finished::before_the_start(plan, log, errno)),
        _ if let Err(error) = found => Err(error.into()),
        _ if let Some(past) = Finished::without_files(files, log).transpose() => past,
        Division::Shards(shards) => {
            shards::take_part(plan, log, &inherited, handoff.is_some(), shards)
        }
        Division::Whole | Division::Slots(_) => take_part(plan, log, &inherited, handoff),
    };
    if let Some(file) = outcome_file {
        write_outcome(&file, plan, started, &result)?;
    }
    let Finished { outcome, may_campaign, handoff, ended_by_key, .. } = result?;
    if may_campaign && plan.after_loss == AfterLoss::Campaign {
        // The new start is needed because a guardian that has begun to kill starts nothing more. A fresh process can
        // fork a new guardian.
        return Err(inherited.start_over(&handoff)).context("cannot start over to campaign again");
    }
    if let Some(signal) = outcome.own_signal() {
        guard::end_by(signal, if ended_by_key { Whom::OurJob } else { Whom::Ourselves });
    }
    Ok(outcome)
}

/// Warns that the command inherits a blocked or ignored signal: a program that does not unblock it itself cannot be
/// stopped with it.
fn is_unheard(signal: Signal) -> String {
    format!(
        "the process that started elect blocks or ignores {}, and the command inherits that: it may never stop. Limit the \
         time to stop with --stop-timeout",
        signal.as_str()
    )
}

/// The warning for a user who forgot to name the store: the job then runs once on each of many machines.
const ONCE_PER_MACHINE: &str = "no store is named with -b, ELECT_BACKEND or a configuration file: \
     the key counts on this machine only; write -b file: if that is meant";

/// How long a survey may take whose only purpose is to name the leader to people.
const LOOK: Duration = Duration::from_secs(1);

/// The result of a candidacy that is over.
struct Finished {
    outcome: Outcome,
    reason: String,
    /// The id of the candidate, if there was one.
    id: Option<String>,
    token: Option<Token>,
    /// The number of the slot in which this candidate led.
    slot: Option<u16>,
    /// Leadership was lost or given up, and no signal has asked elect to end.
    may_campaign: bool,
    /// The data for a new start to campaign again.
    handoff: ExecHandoff,
    /// A key in the terminal ended the command, and no other process of the job.
    ended_by_key: bool,
}

impl Finished {
    /// Reports a command that cannot be executed. elect did not take part for it.
    fn before_the_start(plan: &RunPlan, log: &Log, errno: i32) -> Self {
        let (outcome, reason) = unstarted(errno);
        let exit_code = Some(outcome.exit_code(plan.conflict_exit_code));
        let event = LogEvent { exit_code, ..LogEvent::named(outcome.name()) };
        log.event(Level::Error, event, cannot_execute(plan, outcome, &reason), &[]);
        Self::of_none(outcome, reason)
    }

    /// Returns the end of a run that a signal ended while it waited for the files of the store; `None` without a
    /// signal.
    ///
    /// # Errors
    /// The store could not be opened with its files in time.
    fn without_files(
        files: anyhow::Result<Option<i32>>,
        log: &Log,
    ) -> anyhow::Result<Option<Self>> {
        let Some(signal) = files? else { return Ok(None) };
        let reason = guard::told_to_end(signal);
        log.info(&reason);
        Ok(Some(Self::of_none(Outcome::Interrupted(signal), reason)))
    }

    /// Of a run that was no candidate.
    fn of_none(outcome: Outcome, reason: String) -> Self {
        Self {
            outcome,
            reason,
            id: None,
            token: None,
            slot: None,
            may_campaign: false,
            handoff: ExecHandoff::default(),
            ended_by_key: false,
        }
    }
}

fn take_part(
    plan: &RunPlan,
    log: &Log,
    inherited: &Inherited,
    handoff: Option<ExecHandoff>,
) -> anyhow::Result<Finished> {
    let has_led = handoff.is_some();
    let ExecHandoff { pause, store, token: before, listener, .. } = handoff.unwrap_or_default();
    let (socket, note) = listener.unzip();
    let (store, slot) = connect(plan, store.as_deref())?;
    let listener =
        plan.campaign.http.as_ref().map(|address| listen(address, socket)).transpose()?;
    let enclosure = Enclosure::choose(plan.containment, plan.require_containment)?;
    let containment = enclosure.containment();
    let terms = Terms::new(plan, log, &*store, containment)?.in_slot(slot).again(has_led, before);
    if !has_led {
        warn_of(&*store, &terms.log);
    }
    let page = listener.map(|listener| terms.page(listener, note.as_deref()));
    let guardian = terms.fork(inherited, enclosure, page.as_ref().map(CandidatePage::address))?;
    if plan.after_loss == AfterLoss::Exit {
        inherited.release().context("cannot let go of stdin")?;
    }
    let starts_over = plan.after_loss == AfterLoss::Campaign;
    let kept = page.as_ref().filter(|_| starts_over).map(CandidatePage::kept).transpose()?;
    let close = terms.campaign(guardian, inherited, page, pause)?;
    let CampaignEnd { verdict, leader, token, told_to_end, ended_by_key, relapse } = close;
    let may_campaign =
        !told_to_end && matches!(verdict, Verdict::Lost(_) | Verdict::SteppedDown(_));
    let location = store.profile().location;
    let known = VerdictContext { location: &location, once: plan.once.as_deref(), leader };
    let (outcome, reason) = judge(verdict, &known);
    terms.tell(outcome, &reason, token);
    if let (Outcome::Interrupted(_), Some(_), Some(key)) = (outcome, token, &plan.once) {
        terms.log.warn(format_args!(
            "{reason} before the command had done its work: the key {} stays open",
            report::escape(key)
        ));
    }
    let pause = relapse.map(|ran| plan.relapses.next_pause(pause, Some(ran)));
    let handoff = ExecHandoff {
        pause: pause.unwrap_or_default(),
        store: store.profile().id.map(|id| id.to_string()),
        token: token.map(Token::get).max(before),
        once: plan.once_per.and_then(|_| plan.once.clone()),
        listener: kept.map(HttpHandoff::into_listener),
    };
    let slot = terms.slot.as_ref().and_then(Slot::number);
    let id = Some(terms.candidate.id);
    Ok(Finished { outcome, reason, id, token, slot, may_campaign, handoff, ended_by_key })
}

/// Connects to the store, and returns the slot in which this candidate leads, if the election has slots. `before` is
/// the id of the store before a new start: any other store is refused then.
fn connect(plan: &RunPlan, before: Option<&str>) -> anyhow::Result<(Box<dyn Store>, Option<Slot>)> {
    let backend = &plan.campaign.backend;
    let pinned = before.and_then(|id| StoreId::read(id.as_bytes())).map(|id| backend.pinned(&id));
    let store = config::connect(pinned.as_ref().unwrap_or(backend))?;
    let Division::Slots(number) = plan.campaign.candidate.division else {
        return Ok((store, None));
    };
    let store = Slots::new(store, &plan.campaign.election, number, plan.rules.wait == Wait::No)?;
    let slot = store.slot();
    Ok((Box::new(store), Some(slot)))
}

/// Opens the file of `--outcome`, and empties it.
///
/// # Errors
/// The file cannot be written.
pub(super) fn open_outcome(path: &Path) -> anyhow::Result<Output> {
    Output::create(path).with_context(|| format!("cannot write the outcome to {}", path.display()))
}

fn write_outcome(
    file: &Output,
    plan: &RunPlan,
    started: SystemTime,
    result: &anyhow::Result<Finished>,
) -> anyhow::Result<()> {
    let failure;
    let (outcome, reason) = match result {
        Ok(past) => (past.outcome, past.reason.as_str()),
        Err(error) => {
            failure = format!("{error:#}");
            (Outcome::Failed, failure.as_str())
        }
    };
    let past = result.as_ref().ok();
    let record = OutcomeRecord {
        outcome: outcome.name(),
        exit_code: outcome.exit_code(plan.conflict_exit_code),
        election: &plan.campaign.election,
        id: past.and_then(|past| past.id.as_deref()),
        token: past.and_then(|past| past.token),
        slot: past.and_then(|past| past.slot),
        reason,
        started: rfc3339(started),
        ended: rfc3339(wall_clock()),
    };
    let path = file.path().display();
    file.write(record.line().as_bytes())
        .with_context(|| format!("cannot write the outcome to {path}"))
}

impl Terms<'_> {
    /// Makes the page of `--http`. `note` holds the metrics from before a new start.
    fn page(&self, listener: Listener, note: Option<&str>) -> CandidatePage {
        let (plan, store) = (&self.plan.campaign, self.store.profile());
        let page = CandidatePage::new(listener, plan, &self.candidate, &store, None);
        if let Some(note) = note {
            page.board.metrics().resume(note);
        }
        self.log.info(format_args!("HTTP is served on http://{}/", page.address()));
        page
    }

    fn campaign(
        &self,
        guardian: Forked,
        inherited: &Inherited,
        page: Option<CandidatePage>,
        pause: Duration,
    ) -> anyhow::Result<CampaignEnd> {
        let board = page.as_ref().map(|page| Arc::clone(&page.board));
        let http = page.as_ref().map(CandidatePage::address);
        let server = page.map(|page| page.serve(&self.plan.campaign)).transpose()?;
        let outcome = block_on(async {
            let clock = BootClock::new()?;
            let incoming = Incoming::new(inherited).context("cannot read signals")?;
            let guardian = guardian.attach().context("cannot watch the guardian")?;
            let lease_file = LeaseFileWriter::of(&self.plan.campaign, None, &self.log)?;
            let label = LabelKeeper::of(&self.plan.campaign, &self.log)?;
            let service = Service::new(self.charge(), Some(guardian.pulse()), &self.log);
            let (tell, mut inbox) = unbounded_channel();
            let job = Some(Job::new(self.plan.once.is_some()));
            let tree = CommandTree::new(guardian, job, self.slot.clone(), lease_file);
            let shared = Shared::new(&self.log, clock.now());
            let told = Audience {
                shared: &shared,
                service: service.as_ref(),
                board: board.as_deref(),
                http,
                label,
                gives_way: false,
            };
            let CandidacyEnd { verdict, told_to_end, relapse, tree } = tokio::select! {
                past = self.compete(tree, &mut inbox, inherited, &clock, told, pause) => past,
                never = forward(&incoming, &tell) => match never {},
                never = preempt(&self.plan.campaign, &self.candidate, &self.log) => match never {},
                never = keep_in_touch(service.as_ref()) => match never {},
            };
            let ended_by_key = tree.ended_by_key();
            let guardian = tree.guardian;
            guardian.send_off();
            let leader = self.who_leads_instead(&verdict).await;
            let token = shared.token();
            let close = CampaignEnd { verdict, leader, token, told_to_end, ended_by_key, relapse };
            anyhow::Ok((close, guardian))
        });
        if let Some(server) = server {
            server.stop();
        }
        let (close, guardian) = outcome?;
        guardian.dismiss();
        Ok(close)
    }

    /// Returns who leads, in words, if that is the reason for the verdict and if people read it. A leader that runs
    /// another job is logged even if conflicts are silent: with the same name, this job may never run.
    async fn who_leads_instead(&self, verdict: &Verdict) -> Option<String> {
        let is_led = matches!(verdict, Verdict::NotAcquired(why) if why == LED || why == IN_DOUBT);
        if !is_led || !(self.log.tells(Level::Warn) || self.plan.outcome.is_some()) {
            return None;
        }
        timeout(LOOK, self.see_leader(verdict)).await.ok()?
    }

    /// Returns who leads, in words, as far as the store tells.
    async fn see_leader(&self, verdict: &Verdict) -> Option<String> {
        let mut leader = self.store.survey(&self.election).await.ok()?.leader?;
        if self.candidate.is_of_another_job(&leader.entry.candidate) {
            self.log.warn(self.another_job(&leader.entry.candidate));
        }
        let is_read = self.plan.outcome.is_some() || self.plan.conflict_exit_code != 0;
        if !is_read || self.slot.is_some() {
            return None;
        }
        leader.since = since(self.store, &self.election, &leader).await;
        let is_in_doubt = matches!(verdict, Verdict::NotAcquired(why) if why == IN_DOUBT);
        Some(in_words(&leader, is_in_doubt))
    }

    /// Returns the warning that another job has the same name. The arguments of its command are unknown, except that
    /// they differ.
    fn another_job(&self, leader: &Candidate) -> String {
        let Candidate { command, host, .. } = leader;
        let ours = self.candidate.command.as_str();
        let what = if ours == command {
            "the same program with other arguments"
        } else {
            "another command"
        };
        format!(
            "not run: the leader on {host} runs {what} ({command}) under the same name, {}; \
             give each job a name of its own with -e NAME, or both this one if they are to exclude each other",
            self.plan.campaign.election
        )
    }

    /// Takes part with this tree, and with the hooks and checks of the plan, until all of their processes are dead.
    async fn compete<T: Tree>(
        &self,
        tree: T,
        inbox: &mut Inbox,
        inherited: &Inherited,
        clock: &BootClock,
        told: Audience<'_>,
        pause: Duration,
    ) -> CandidacyEnd<T> {
        let environment = || self.environment_of_health();
        let looks = look_after(self.plan.health.as_ref(), inherited, &self.log, environment);
        let (monitor, health) = looks.unzip();
        let changes = self.hooks(inherited, told.http);
        let mut tree = HookSupervisor::new(tree, changes.clone(), monitor, told.label);
        let candidacy = self.candidacy();
        let verdict = {
            let feed = told.board.map(|board| Feed::new(board, self.store, &self.candidate.host));
            let mut observer =
                Observer::new(&self.log, told.shared, &self.candidate, told.service, feed)
                    .giving_way(told.gives_way)
                    .silent(self.plan.conflict_exit_code == 0)
                    .in_slot(self.slot.as_ref(), &self.election);
            let machine = self.machine(clock.now(), pause);
            tokio::select! {
                verdict = driver::drive(&candidacy, machine, clock, &mut tree, inbox, &mut observer) => verdict,
                never = changes.follow_changes() => match never {},
                never = keep_looking(health) => match never {},
                never = told.shared.keep_drawing() => match never {},
            }
        };
        told.shared.clear();
        let told_to_end = tree.see_out(inbox).await;
        CandidacyEnd { verdict, told_to_end, relapse: tree.relapse(), tree: tree.tree }
    }

    /// Logs the outcome, at a level that fits it.
    fn tell(&self, outcome: Outcome, reason: &str, token: Option<Token>) {
        let conflict = self.plan.conflict_exit_code;
        let level = match outcome {
            Outcome::NotAcquired | Outcome::AttemptsUsedUp if conflict == 0 => return,
            Outcome::NotAcquired | Outcome::AttemptsUsedUp => Level::Warn,
            Outcome::Failed | Outcome::NotExecutable | Outcome::NotFound => Level::Error,
            Outcome::Exited(_)
            | Outcome::Signaled(_)
            | Outcome::MaxRun(_)
            | Outcome::AlreadyDone
            | Outcome::Lost
            | Outcome::SteppedDown
            | Outcome::Interrupted(_) => Level::Info,
        };
        let exit_code = Some(outcome.exit_code(conflict));
        let event = LogEvent { exit_code, ..LogEvent::named(outcome.name()).with_token(token) };
        match outcome {
            Outcome::NotExecutable | Outcome::NotFound => {
                let what = cannot_execute(self.plan, outcome, reason);
                self.log.event(level, event, what, &[]);
            }
            _ => self.log.event(level, event, reason, &[]),
        }
    }
}

/// The receivers of the news of a candidacy.
struct Audience<'a> {
    shared: &'a Shared,
    service: Option<&'a Service<'a>>,
    board: Option<&'a HttpState>,
    http: Option<SocketAddr>,
    label: Option<LabelKeeper>,
    /// Whether giving up leadership is normal, as with shards.
    gives_way: bool,
}

/// The end of a candidacy, and its empty tree.
struct CandidacyEnd<T> {
    verdict: Verdict,
    /// A signal asked elect to end while it only waited for a hook.
    told_to_end: bool,
    /// How long the command had run when it was found unhealthy, if it was.
    relapse: Option<Duration>,
    tree: T,
}

/// The end of a campaign.
struct CampaignEnd {
    verdict: Verdict,
    /// The leader in words, if people read it.
    leader: Option<String>,
    token: Option<Token>,
    /// A signal asked elect to end while it only waited for a hook.
    told_to_end: bool,
    ended_by_key: bool,
    /// How long the command had run when it was found unhealthy, if it was.
    relapse: Option<Duration>,
}

/// The facts that the message about a verdict needs.
struct VerdictContext<'a> {
    /// The location of the store.
    location: &'a str,
    /// The key of `--once`.
    once: Option<&'a str>,
    /// The leader in words, if it is known.
    leader: Option<String>,
}

/// Returns the outcome that a verdict leads to, and the reason in words.
fn judge(verdict: Verdict, known: &VerdictContext<'_>) -> (Outcome, String) {
    match verdict {
        Verdict::Ended(Ended::Exited(code)) => {
            (Outcome::Exited(code), format!("the command exited with code {code}"))
        }
        Verdict::Ended(Ended::Signaled(signal)) => (
            Outcome::Signaled(signal.into()),
            format!("{} ended the command", guard::signal_name(signal.into())),
        ),
        Verdict::MaxRun(ended, limit) => {
            let (outcome, reason) = judge(Verdict::Ended(ended), known);
            let limit = humantime::format_duration(limit);
            let open = known.once.as_ref().map_or("", |_| "; its key stays open");
            let reason = format!("stopped after {limit} (--max-run): {reason}{open}");
            let code = match outcome.exit_code(NOT_ACQUIRED) {
                0 if known.once.is_some() => NOT_ACQUIRED,
                code => code,
            };
            (Outcome::MaxRun(code), reason)
        }
        Verdict::NotStarted(errno) => unstarted(errno),
        Verdict::Lost(why) | Verdict::LostForGood(why) => {
            (Outcome::Lost, format!("leadership was lost: {why}"))
        }
        Verdict::SteppedDown(why) => (Outcome::SteppedDown, why),
        Verdict::AlreadyDone => {
            let key = known.once.map_or("it".to_owned(), |key| format!("{key:?}"));
            (Outcome::AlreadyDone, format!("{key} was done already"))
        }
        Verdict::NotAcquired(why) => {
            let leader = known.leader.as_ref().map(|leader| format!(": {leader}"));
            (Outcome::NotAcquired, format!("{why}{}", leader.unwrap_or_default()))
        }
        Verdict::Unwanted(why) => (Outcome::NotAcquired, why),
        Verdict::UsedUp(why) => (Outcome::AttemptsUsedUp, why),
        Verdict::Interrupted(signal) => (Outcome::Interrupted(signal), guard::told_to_end(signal)),
        Verdict::StoreFailed(error) if error.is_permanent() => {
            (Outcome::Failed, format!("{:#}", anyhow::Error::from(error)))
        }
        Verdict::StoreFailed(error) => {
            (Outcome::Failed, format!("{:#}", with_members(known.location, error.into())))
        }
        Verdict::Unreached => {
            let error = anyhow::anyhow!("{} did not answer in time", known.location);
            (Outcome::Failed, format!("{:#}", with_members(known.location, error)))
        }
        // A verdict of `Withdrawn` does not get here: only members of a roster and sidecars withdraw.
        Verdict::Failed(why) | Verdict::Withdrawn(why) => (Outcome::Failed, why),
    }
}
