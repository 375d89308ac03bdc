//! `elect run`: a command as the only one of its kind.

mod health;
mod job;
mod posted;
mod tree;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use elect_api::{Candidate, Lease, Store, Token};

use self::posted::Posted;
use self::tree::Watched;
use super::candidacy::{
    BootClock, Charge, Estate, Feed, Hooked, Hooks, Observer, Page, Poster, Service, Shared,
    environment, keep_in_touch, listen,
};
use super::selftest::is_scratch;
use super::steer::preempt;
use super::unstarted::{hint, outcome_of};
use crate::config::{self, AfterLoss, BackendUrl, RunPlan};
use crate::election::driver::{self, Candidacy, Clock as _};
use crate::election::machine::{Machine, Rules, Verdict};
use crate::election::timing::{Timing, Wishes};
use crate::guard::{
    self, Containment, Enclosure, Ended, Forked, Guardian, Heirloom, Incoming, Inherited, Redeem,
    Settings, Starts, Whom,
};
use crate::report::http::Listener;
use crate::report::{Log, Outcome, OutcomeFile, OutcomeRecord, wall_clock};

/// Takes part in the election, runs the command while it leads, and says how that ended; or ends this
/// process by the signal that ended the command, where shells look at that.
///
/// # Errors
/// Whatever keeps it from taking part at all.
pub(super) fn run(plan: &RunPlan, log: &Log) -> anyhow::Result<Outcome> {
    let mut inherited = Inherited::take().context("cannot block signals")?;
    let heirloom = inherited.heirloom();
    let started = wall_clock();
    let outcome_file = plan.outcome.as_deref().map(open_outcome).transpose()?;
    let result = take_part(plan, log, &inherited, heirloom);
    if let Some(file) = outcome_file {
        write_outcome(&file, plan, started, &result)?;
    }
    let Past { outcome, may_campaign, heirloom, ended_by_key, .. } = result?;
    if may_campaign && plan.after_loss == AfterLoss::Campaign {
        // A guardian starts one command only, and is forked by a process that is fresh.
        return Err(inherited.start_over(&heirloom)).context("cannot start over to campaign again");
    }
    if let Some(signal) = outcome.own_signal() {
        guard::end_by(signal, if ended_by_key { Whom::OurJob } else { Whom::Ourselves });
    }
    Ok(outcome)
}

/// A candidacy that is over.
struct Past {
    outcome: Outcome,
    reason: String,
    id: String,
    token: Option<Token>,
    /// Leadership was lost or given up, and nobody wants us to end.
    may_campaign: bool,
    /// For that.
    heirloom: Heirloom,
    /// A key in the terminal ended the command, and nothing else of our job.
    ended_by_key: bool,
}

fn take_part(
    plan: &RunPlan,
    log: &Log,
    inherited: &Inherited,
    heirloom: Option<Heirloom>,
) -> anyhow::Result<Past> {
    let Heirloom { pause, listener } = heirloom.unwrap_or_default();
    let (socket, note) = listener.unzip();
    let store = config::connect(&plan.campaign.backend)?;
    let listener =
        plan.campaign.http.as_ref().map(|address| listen(address, socket)).transpose()?;
    let enclosure = Enclosure::choose(plan.containment, plan.require_containment)?;
    let containment = enclosure.containment();
    let run = Run::new(plan, log.about(&plan.campaign.election), store, containment)?;
    let page = listener.map(|listener| run.page(listener, note.as_deref()));
    let guardian = run.fork(inherited, enclosure, page.as_ref().map(Page::address))?;
    if plan.after_loss == AfterLoss::Exit {
        inherited.release().context("cannot let go of stdin")?;
    }
    let starts_over = plan.after_loss == AfterLoss::Campaign;
    let estate = page.as_ref().filter(|_| starts_over).map(Page::estate).transpose()?;
    let close = run.campaign(guardian, inherited, page, pause)?;
    let Close { verdict, token, told_to_end, ended_by_key, relapse } = close;
    let may_campaign =
        !told_to_end && matches!(verdict, Verdict::Lost(_) | Verdict::SteppedDown(_));
    let (outcome, reason) = judge(verdict, &run.store.profile().location);
    run.tell(outcome, &reason);
    let pause = relapse.map(|ran| plan.relapses.next_pause(pause, Some(ran)));
    let heirloom =
        Heirloom { pause: pause.unwrap_or_default(), listener: estate.map(Estate::into_listener) };
    let id = run.candidate.id;
    Ok(Past { outcome, reason, id, token, may_campaign, heirloom, ended_by_key })
}

/// Opens the file of `--outcome`, and empties it.
///
/// # Errors
/// When it cannot be written.
pub(super) fn open_outcome(path: &Path) -> anyhow::Result<OutcomeFile> {
    OutcomeFile::create(path)
        .with_context(|| format!("cannot write the outcome to {}", path.display()))
}

fn write_outcome(
    file: &OutcomeFile,
    plan: &RunPlan,
    started: SystemTime,
    result: &anyhow::Result<Past>,
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
        outcome,
        exit_code: outcome.exit_code(plan.conflict_exit_code),
        election: &plan.campaign.election,
        id: past.map(|past| past.id.as_str()),
        token: past.and_then(|past| past.token),
        reason,
        started,
        ended: wall_clock(),
    };
    let path = file.path().display();
    file.write(&record).with_context(|| format!("cannot write the outcome to {path}"))
}

/// One candidacy with all that it needs.
struct Run<'a> {
    plan: &'a RunPlan,
    log: Log,
    store: Box<dyn Store>,
    wishes: Wishes,
    timing: Timing,
    candidate: Candidate,
}

impl<'a> Run<'a> {
    fn new(
        plan: &'a RunPlan,
        log: Log,
        store: Box<dyn Store>,
        containment: Containment,
    ) -> anyhow::Result<Self> {
        let profile = store.profile();
        let wishes = plan.campaign.wishes(&profile)?;
        let timing = Timing::new(&wishes, profile.lease)?;
        let candidate = plan.campaign.candidate(std::process::id(), containment.name());
        log.debug(format_args!(
            "store {}, candidate {}, containment {containment}{}",
            profile.location,
            candidate.id,
            if plan.named_after_command { ", election named after the command" } else { "" }
        ));
        if containment == Containment::Group && plan.containment.is_none() {
            log.warn("processes that leave the command's process group cannot be found here: /proc does not list children");
        }
        Ok(Self { plan, log, store, wishes, timing, candidate })
    }

    /// What `--http` shows. `note` is of the time before a new start.
    fn page(&self, listener: Listener, note: Option<&str>) -> Page {
        let (plan, store) = (&self.plan.campaign, self.store.profile());
        let page = Page::new(listener, plan, &self.candidate, &store, None);
        if let Some(note) = note {
            page.board.metrics().resume(note);
        }
        self.log.info(format_args!("HTTP is served on http://{}/", page.address()));
        page
    }

    fn fork(
        &self,
        inherited: &Inherited,
        enclosure: Enclosure,
        http: Option<SocketAddr>,
    ) -> anyhow::Result<Forked> {
        Forked::fork(Settings {
            command: &self.plan.command,
            leads: true,
            environment: self.environment(http),
            gets_sockets: environment::has_sockets(),
            starts: if self.plan.restarts.is_some() { Starts::Again } else { Starts::Once },
            leftover: self.plan.leftover,
            signal: self.plan.signal as i32,
            is_timed: self.store.profile().lease != Lease::Unlimited,
            inherited,
            enclosure,
            redeem: self.redeem(),
        })
        .context("cannot start the guardian")
    }

    fn environment(&self, http: Option<SocketAddr>) -> Vec<(OsString, OsString)> {
        let election = &self.plan.campaign.election;
        environment::for_command(election, &self.candidate, &self.told(), http)
    }

    fn hooks<'h>(&'h self, inherited: &'h Inherited, http: Option<SocketAddr>) -> Hooks<'h> {
        let has_any = self.plan.campaign.hooks.has_any();
        let environment = if has_any { self.environment(http) } else { Vec::new() };
        let grace = self.plan.stop_timeout.unwrap_or(self.timing.kill_grace);
        Hooks { plan: &self.plan.campaign, environment, inherited, grace, log: &self.log }
    }

    /// What the command is told of the store.
    fn told(&self) -> BackendUrl {
        self.plan.campaign.backend.for_others(&self.store.profile().location)
    }

    /// A store whose leases do not end by time sees by itself that our processes are dead.
    fn redeem(&self) -> Option<Redeem> {
        (self.store.profile().lease != Lease::Unlimited).then(|| Redeem {
            arguments: vec!["elect".into(), "redeem".into()],
            environment: environment::for_redeemer(
                &self.plan.campaign.backend,
                &self.plan.campaign.election,
            ),
            variable: "ELECT_TICKET",
        })
    }

    fn campaign(
        &self,
        guardian: Forked,
        inherited: &Inherited,
        page: Option<Page>,
        pause: Duration,
    ) -> anyhow::Result<Close> {
        let board = page.as_ref().map(|page| Arc::clone(&page.board));
        let http = page.as_ref().map(Page::address);
        let server = page.map(|page| page.serve(&self.plan.campaign)).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        let outcome = runtime.block_on(async {
            let clock = BootClock::new()?;
            let incoming = Incoming::new(inherited).context("cannot read signals")?;
            let guardian = guardian.attach().context("cannot watch the guardian")?;
            let poster = Poster::of(&self.plan.campaign, None, &self.log)?;
            let service = Service::new(self.charge(), Some(guardian.pulse()), &self.log);
            let tree = Posted::new(Watched::new(guardian, incoming), poster);
            let (tree, health) =
                health::look_after(tree, &self.plan.health, inherited, &self.log);
            let changes = self.hooks(inherited, http);
            let mut tree = Hooked::new(tree, changes.clone());
            let shared = Shared::new(&self.log, clock.now());
            let candidacy = self.candidacy();
            let verdict = {
                let feed = board.as_deref().map(Feed::new);
                let mut observer = Observer::new(&self.log, &shared, &self.candidate, service.as_ref(), feed);
                let machine = Machine::new(self.rules(), self.timing, clock.now(), fastrand::u64(..));
                let machine = self.begins_after(machine, pause);
                tokio::select! {
                    verdict = driver::drive(&candidacy, machine, &clock, &mut tree, &mut observer) => verdict,
                    () = preempt(&self.plan.campaign, &self.candidate, &self.log) => unreachable!("preempting has no end"),
                    () = changes.follow_changes() => unreachable!("following changes has no end"),
                    () = health::keep_looking(health) => unreachable!("looking has no end"),
                    () = shared.keep_drawing() => unreachable!("drawing has no end"),
                    () = keep_in_touch(service.as_ref()) => unreachable!("a service has no end"),
                }
            };
            shared.clear();
            let told_to_end = tokio::select! {
                told_to_end = tree.see_out() => told_to_end,
                () = keep_in_touch(service.as_ref()) => unreachable!("a service has no end"),
            };
            let tree = tree.into_inner();
            let relapse = tree.relapse();
            let tree = tree.into_inner().into_inner();
            let ended_by_key = tree.job().ended_by_key();
            Guardian::dismiss(tree.into_guardian());
            Ok(Close { verdict, token: shared.token(), told_to_end, ended_by_key, relapse })
        });
        if let Some(server) = server {
            server.stop();
        }
        // A resolver may keep a thread for minutes.
        runtime.shutdown_background();
        outcome
    }

    fn begins_after(&self, machine: Machine, pause: Duration) -> Machine {
        if pause.is_zero() {
            return machine;
        }
        let shown = humantime::format_duration(pause);
        self.log.warn(format_args!("taking part again in {shown}, as the command was not well"));
        machine.after(pause)
    }

    fn candidacy(&self) -> Candidacy<'_> {
        Candidacy {
            store: &*self.store,
            election: &self.plan.campaign.election,
            candidate: &self.candidate,
            ttl: self.wishes.ttl,
            once: self.plan.once.as_deref(),
        }
    }

    fn charge(&self) -> Charge<'_> {
        Charge {
            election: &self.plan.campaign.election,
            stop_timeout: self.plan.stop_timeout,
            after_loss: self.plan.after_loss,
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            wait: self.plan.wait,
            signal: self.plan.signal as i32,
            stop_timeout: self.plan.stop_timeout,
            hold: self.plan.hold,
            restarts: self.plan.restarts,
            insists: false,
            once: self.plan.once.is_some(),
            id: self.candidate.id.clone(),
            priority: self.candidate.priority,
            keeps_history: !is_scratch(&self.plan.campaign.election),
            lock_delay: self.plan.campaign.lock_delay,
        }
    }

    /// Says how it ended, as loudly as it deserves.
    fn tell(&self, outcome: Outcome, reason: &str) {
        match outcome {
            Outcome::NotAcquired if self.plan.conflict_exit_code == 0 => {}
            Outcome::NotAcquired => self.log.warn(reason),
            Outcome::Failed | Outcome::NotExecutable | Outcome::NotFound => {
                let program = self.candidate.command.as_str();
                match outcome {
                    Outcome::Failed => self.log.error(reason),
                    _ => self.log.error(format_args!(
                        "cannot execute {program}: {reason}{}",
                        hint(program, outcome)
                    )),
                }
            }
            Outcome::Exited(_)
            | Outcome::Signaled(_)
            | Outcome::AlreadyDone
            | Outcome::Lost
            | Outcome::SteppedDown
            | Outcome::Interrupted(_) => self.log.info(reason),
        }
    }
}

/// How a campaign came to its end.
struct Close {
    verdict: Verdict,
    token: Option<Token>,
    /// Somebody wanted us to end when all that was left to do was to wait for a hook.
    told_to_end: bool,
    ended_by_key: bool,
    /// The command was not well, after it had run for so long.
    relapse: Option<Duration>,
}

/// What a verdict means to the outside, and why it came to it.
fn judge(verdict: Verdict, location: &str) -> (Outcome, String) {
    match verdict {
        Verdict::Ended(Ended::Exited(code)) => {
            (Outcome::Exited(code), format!("the command exited with code {code}"))
        }
        Verdict::Ended(Ended::Signaled(signal)) => {
            (Outcome::Signaled(signal.into()), format!("signal {signal} ended the command"))
        }
        Verdict::NotStarted(errno) => {
            let outcome = outcome_of(errno);
            let why = nix::errno::Errno::from_raw(errno).desc();
            let what = if outcome == Outcome::Failed { "cannot start the command: " } else { "" };
            (outcome, format!("{what}{why}"))
        }
        Verdict::Lost(why) | Verdict::LostForGood(why) => {
            (Outcome::Lost, format!("leadership was lost: {why}"))
        }
        Verdict::SteppedDown(why) => (Outcome::SteppedDown, why),
        Verdict::AlreadyDone => (Outcome::AlreadyDone, "it was done already".to_owned()),
        Verdict::NotAcquired => (Outcome::NotAcquired, "another candidate leads".to_owned()),
        Verdict::Paused(why) => (Outcome::NotAcquired, format!("the election is {why}")),
        Verdict::Interrupted(signal) => {
            (Outcome::Interrupted(signal), format!("signal {signal} ended the wait"))
        }
        Verdict::StoreFailed(error) => {
            (Outcome::Failed, format!("{:#}", anyhow::Error::from(error)))
        }
        Verdict::Unreached => (Outcome::Failed, format!("{location} did not answer in time")),
        // Nobody has a command withdraw.
        Verdict::Failed(why) | Verdict::Withdrawn(why) => (Outcome::Failed, why),
    }
}
