//! A duel: a leader and a waiting candidate of a self-test, and the judgement of their stamps.

use std::time::Duration;

use anyhow::{Context, anyhow};
use elect_api::{Boottime, ElectionName};
use nix::sys::signal::Signal;
use tokio::time::sleep;

use super::candidate::{self, Candidate, Scratch};
use super::proxy::Proxy;
use super::report::{CheckReport, CheckResult};
use super::trace::{Promise, Stamps};
use crate::election::timing::{Timing, TimingOptions};
use crate::guard::{self, Containment};
use crate::report::{FAILED, LOST, fine_ms};

/// The tags of the two candidates in the stamps.
const LEADER: &str = "A";
const NEXT: &str = "B";

/// The time limit for a candidate to lead an empty election, and to enter the queue.
const START: Duration = Duration::from_secs(30);
/// The time limit for a SIGSTOP to take effect.
const STOP: Duration = Duration::from_secs(5);
/// The time between two reads of the stamps.
pub(super) const READ_PAUSE: Duration = Duration::from_millis(2);

/// The reason why a check does not hold.
#[derive(Debug)]
pub(super) enum Failure {
    /// The promise was broken, as described here.
    Broken(String),
    /// The leader lost its lease before anything was done to it.
    Lost,
    /// The check cannot be made.
    Unable(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Unable(error)
    }
}

impl From<elect_api::Error> for Failure {
    fn from(error: elect_api::Error) -> Self {
        Self::Unable(error.into())
    }
}

/// The set-up of a candidate in a duel.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    /// The kind of tree that it runs.
    pub(super) tree: &'static str,
    /// The number of processes in that tree.
    pub(super) processes: usize,
    /// How many times longer the TTL is than usual.
    pub(super) leases: u32,
    /// Flags for it.
    pub(super) flags: &'static [&'static str],
    /// Whether it reaches the store through a proxy.
    pub(super) proxied: bool,
}

impl Setting {
    /// A command with one child.
    pub(super) const PLAIN: Self =
        Self { tree: "tree", processes: 2, leases: 1, flags: &[], proxied: false };
    /// A command that ends soon.
    pub(super) const BRIEF: Self = Self { tree: "brief", processes: 1, ..Self::PLAIN };
}

/// A leader, and a candidate that waits for its end.
pub(super) struct Duel<'a> {
    scratch: &'a Scratch<'a>,
    stamps: Stamps,
    pub(super) leader: Candidate,
    next: Candidate,
    pub(super) proxy: Option<Proxy>,
    /// The name of the containment that holds the leader's tree.
    pub(super) containment: String,
    /// The length of the leader's lease, if it is known and the deadlines follow from it alone.
    window: Option<Duration>,
    /// When the leader's lease ends at the latest, by the request that it counts from, if the check knows that.
    pub(super) lease_end: Option<Boottime>,
}

impl<'a> Duel<'a> {
    pub(super) async fn start(scratch: &'a Scratch<'a>, setting: Setting) -> Result<Self, Failure> {
        let (election, stamps) = (scratch.election()?, memory()?);
        let proxy = if setting.proxied { Some(proxy(scratch, 0).await?) } else { None };
        let way = proxy.as_ref().and_then(|proxy| scratch.through(proxy.addresses()));
        let backend = way.as_ref().unwrap_or(scratch.backend);
        let Setting { processes, leases, flags, .. } = setting;
        let mut leader = Candidate::start(scratch, &election, &stamps, (LEADER, backend), setting)?;
        until(START, || {
            let is_complete = stamps.tree(LEADER).is_some_and(|tree| tree.processes >= processes);
            is_complete
                .then_some(Ok(()))
                .or_else(|| leader.ended().map(|_| Err(early(&mut leader))))
        })
        .await
        .unwrap_or_else(|| {
            Err(unable("no candidate leads, though the queue before it is empty"))
        })?;
        let next = (NEXT, scratch.backend);
        let mut next = Candidate::start(scratch, &election, &stamps, next, Setting::BRIEF)?;
        let containment = in_line(scratch, &election, &mut leader, &mut next).await?;
        leader.guardian()?;
        let is_usual = leases == 1 && flags.is_empty();
        let window = scratch.granted.get().filter(|_| is_usual);
        let lease_end = None;
        Ok(Self { scratch, stamps, leader, next, proxy, containment, window, lease_end })
    }

    /// Stops a process, and waits until it is stopped.
    pub(super) async fn stop(&mut self, pid: i32) -> Result<(), Failure> {
        self.expect_leading()?;
        candidate::signal(pid, Signal::SIGSTOP);
        let stopped = until(STOP, || candidate::is_stopped(pid).then_some(())).await;
        stopped.ok_or_else(|| unable("a process cannot be stopped"))
    }

    /// Checks that the leader still leads before anything is done to it.
    pub(super) fn expect_leading(&mut self) -> Result<(), Failure> {
        match self.leader.ended() {
            None => Ok(()),
            Some(_) => Err(early(&mut self.leader)),
        }
    }

    /// Makes the leader's command end.
    pub(super) fn end(&self) -> Result<(), Failure> {
        // The containment `group` cannot find the processes that a command leaves, so all of them must end by
        // themselves.
        let all = self.containment == Containment::Group.name();
        self.stamps.end(LEADER, all).context("cannot have a command end").map_err(Failure::Unable)
    }

    /// Checks that the leader's tree runs on for this span, and that the next command does not start.
    pub(super) async fn expect_standstill(&self, span: Duration) -> Result<(), Failure> {
        let until = guard::now() + span;
        loop {
            if self.stamps.tree(NEXT).is_some() {
                return Err(Failure::Broken(
                    "the next command was started though the first one may run on".into(),
                ));
            }
            let Some(tree) = self.stamps.tree(LEADER).filter(|tree| tree.is_alive) else {
                let why = "the command was killed though its lease has no limit of time";
                return Err(Failure::Broken(why.into()));
            };
            if tree.last >= until {
                return Ok(());
            }
            if guard::now() > until + STOP {
                return Err(Failure::Broken("the command stands still".into()));
            }
            sleep(READ_PAUSE).await;
        }
    }

    /// Waits until the next candidate has led and ended, and checks that no process of the leader ran beside it.
    /// The hand-over is measured from `since`, or else from the end of the leader's tree.
    pub(super) async fn follows(
        mut self,
        since: Option<Boottime>,
        seen: impl Into<String>,
    ) -> Result<CheckReport, Failure> {
        let patience = patience(self.scratch);
        let ended = until(patience, || self.next.ended()).await;
        match ended {
            Some(status) if status.success() => {}
            Some(_) => return Err(early(&mut self.next)),
            None => {
                let why = format!(
                    "no candidate took over within {}",
                    humantime::format_duration(patience)
                );
                return Err(Failure::Broken(why));
            }
        }
        // The store may be late to end a lease.
        let last = self.stamps.tree(LEADER).map(|tree| tree.last);
        if let Some((last, end)) = last.zip(self.lease_end)
            && last > end
        {
            let why =
                format!("the command ran for {:.1?} after the end of its lease", last.since(end));
            return Err(Failure::Broken(why));
        }
        verdict(&self.stamps, since, self.window, seen.into())
    }
}

/// Makes memory for the stamps of an election.
fn memory() -> anyhow::Result<Stamps> {
    Stamps::new().context("cannot make memory for stamps")
}

/// Makes a proxy to each machine of the store.
async fn proxy(scratch: &Scratch<'_>, fragile: u32) -> Result<Proxy, Failure> {
    let proxy = Proxy::start(&scratch.machines(), fragile).await;
    Ok(proxy.context("cannot listen on the loopback interface")?)
}

/// Runs one candidate alone, then another one. The first connections of the first candidate each break at a reply. The
/// first candidate may leave nothing that blocks the second.
pub(super) async fn one_after_another(
    scratch: &Scratch<'_>,
    fragile: u32,
) -> Result<CheckReport, Failure> {
    let (election, stamps) = (scratch.election()?, memory()?);
    let proxy = proxy(scratch, fragile).await?;
    let way = scratch.through(proxy.addresses());
    let way = way.context("the URL of the store names no machine")?;
    for (tag, backend) in [(LEADER, &way), (NEXT, scratch.backend)] {
        let mut candidate =
            Candidate::start(scratch, &election, &stamps, (tag, backend), Setting::BRIEF)?;
        match until(patience(scratch), || candidate.ended()).await {
            Some(status) if status.success() => {}
            Some(_) => return Err(early(&mut candidate)),
            None => {
                let why = if tag == LEADER {
                    "a candidate whose replies are lost does not lead when no more are"
                } else {
                    "a candidate whose replies were lost has left something that blocks the next"
                };
                return Err(Failure::Broken(why.into()));
            }
        }
        if tag == LEADER {
            let survey = scratch.store.survey(&election).await?;
            if survey.leader.is_some() || !survey.waiting.is_empty() {
                let why = "a candidate whose replies were lost has left an entry behind";
                return Err(Failure::Broken(why.into()));
            }
        }
    }
    let broken = proxy.connections().min(fragile);
    let seen = format!("{broken} connections broke at a reply; it led once, and left nothing");
    verdict(&stamps, None, None, seen)
}

/// Judges the stamps of a leader and of its follower. `window` is the length of the leader's lease, if it is known.
fn verdict(
    stamps: &Stamps,
    since: Option<Boottime>,
    window: Option<Duration>,
    seen: String,
) -> Result<CheckReport, Failure> {
    let broken = |why: String| Err(Failure::Broken(why));
    let trees = stamps.tree(LEADER).zip(stamps.tree(NEXT));
    let Some((leader, next)) = trees else {
        return broken("a command has exited with code 0, and never ran".into());
    };
    if leader.last >= next.first {
        let span = leader.last.since(next.first);
        return broken(format!("the command ran beside the next one, for {span:.0?} at least"));
    }
    if leader.is_alive || next.is_beside {
        return broken("a process of the command was not dead when the next one started".into());
    }
    if let Some((promise, window)) = leader.promise.zip(window)
        && let Some(why) = too_long(promise, leader.last, window)
    {
        return broken(why);
    }
    if leader.token >= next.token {
        return broken(format!("the token {} was followed by {}", leader.token, next.token));
    }
    let handover_ms = Some(fine_ms(next.first.since(since.unwrap_or(leader.last))));
    let slack_ms = Some(fine_ms(next.first.since(leader.last)));
    Ok(CheckReport { handover_ms, slack_ms, ..CheckReport::new(CheckResult::Holds, seen) })
}

/// Returns a message if a leader lived for longer than another clock allows, or was allowed to. Its lease lasts for
/// `window` after each renewal. A renewal is requested before it is seen, so the true excess can only be greater.
fn too_long(promise: Promise, last: Boottime, window: Duration) -> Option<String> {
    let counted_on = window.div_f64(1.0 + TimingOptions::default().max_clock_drift);
    let alive = last.since(promise.seen);
    if alive > counted_on {
        return Some(format!(
            "the command ran for {alive:.1?} after a renewal, and another clock may end the lease after {counted_on:.1?}"
        ));
    }
    let (longest, margin) = (promise.longest, Timing::margin_of(window));
    (longest + margin > counted_on).then(|| {
        format!(
            "the command was to be dead {longest:.1?} after a renewal, and another clock may end the lease after \
             {counted_on:.1?}: {margin:.1?} have to lie between"
        )
    })
}

/// Returns how long a change of the leader may take in the worst case.
fn patience(scratch: &Scratch<'_>) -> Duration {
    // The factor is generous, because a store may grant a longer lease than was asked for.
    scratch.ttl.map_or(Duration::from_secs(15), |ttl| ttl * 6 + Duration::from_secs(40))
}

/// Waits until the next candidate stands in the queue. Returns the name of the containment of the leader's tree.
async fn in_line(
    scratch: &Scratch<'_>,
    election: &ElectionName,
    leader: &mut Candidate,
    next: &mut Candidate,
) -> Result<String, Failure> {
    let began = guard::now();
    loop {
        for candidate in [&mut *leader, &mut *next] {
            if candidate.ended().is_some() {
                return Err(early(candidate));
            }
        }
        let survey = scratch.store.survey(election).await;
        let waited = guard::now().since(began);
        match survey {
            Ok(survey) => {
                let leader = survey.leader.filter(|_| !survey.waiting.is_empty());
                if let Some(leader) = leader {
                    return Ok(leader.entry.candidate.containment);
                }
            }
            Err(error) if waited > START => return Err(error.into()),
            Err(_) => {}
        }
        if waited > START {
            return Err(unable("the store shows no candidate that waits"));
        }
        sleep(READ_PAUSE * 10).await;
    }
}

/// Returns the failure for a candidate that ended too early.
fn early(candidate: &mut Candidate) -> Failure {
    let said = candidate.said();
    match candidate.ended().and_then(|status| status.code()) {
        Some(code) if code == i32::from(FAILED) => Failure::Unable(anyhow!("elect run: {said}")),
        Some(code) if code == i32::from(LOST) => Failure::Lost,
        Some(code) => Failure::Broken(format!("elect run exited with code {code}: {said}")),
        None => Failure::Broken(format!("elect run was killed: {said}")),
    }
}

fn unable(why: &'static str) -> Failure {
    Failure::Unable(anyhow!(why))
}

/// Returns the first result of `probe` within `patience`.
pub(super) async fn until<T>(
    patience: Duration,
    mut probe: impl FnMut() -> Option<T>,
) -> Option<T> {
    let end = guard::now() + patience;
    loop {
        if let Some(found) = probe() {
            return Some(found);
        }
        if guard::now() >= end {
            return None;
        }
        sleep(READ_PAUSE).await;
    }
}
