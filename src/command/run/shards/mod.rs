//! `elect run --shards`: runs a command for each shard that this process holds, all under one elect.
//!
//! Every process is a member of the roster, which is the election with the plain name. The leader of the roster
//! coordinates ([`roster`]): it writes into the control cell which member shall hold which shards
//! ([`crate::election::spread`]).
//!
//! Each shard is an election of its own. A member takes part in the elections of its assigned shards, with an engine,
//! a guardian and a token for each. It gives up shards that are no longer assigned to it in good order. So only the
//! election of a shard decides who leads it. The coordinator's word is advice, and may come late.
//!
//! A process that ends leaves the roster first. The other members then wait for its shards while its commands are
//! being stopped.

mod roster;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use elect_api::Division;
use futures_util::future::{FutureExt, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::yield_now;

use self::roster::Coordinator;
use self::roster::{Roster, RosterObserver, RosterState};
use super::terms::Terms;
use super::{Finished, compete::Audience};
use crate::command::candidacy::{Observer, Service, Shared, keep_in_touch, warn_of};
use crate::command::runtime::{self, BootClock};
use crate::config::{self, RunPlan};
use crate::election::control::Control;
use crate::election::driver::{self, Clock as _, Inbox, OnDuty};
use crate::election::machine::{Event, Machine, Verdict};
use crate::guard::{self, Enclosure, Ended, Forked, Incoming, Inherited};
use crate::report::Log;

/// Takes part as a member until the end.
///
/// # Errors
/// Returns an error if elect cannot take part at all.
pub(super) fn take_part(
    plan: &RunPlan,
    log: &Log,
    inherited: &Inherited,
    has_led: bool,
    shards: u16,
) -> anyhow::Result<Finished> {
    let store = config::connect(&plan.campaign.backend)?;
    let enclosure = Enclosure::choose(plan.containment, plan.require_containment)?;
    let terms = Terms::new(plan, log, &*store, enclosure.containment())?;
    if !has_led {
        warn_of(&*store, &terms.log);
    }
    Division::part(&terms.election, shards - 1)
        .with_context(|| format!("{} leaves no room for the numbers of shards", terms.election))?;
    let guardian = terms.fork(inherited, enclosure, None)?;
    let verdict = runtime::block_on(campaign(&terms, inherited, shards, guardian))?;
    let may_campaign = matches!(verdict, Verdict::Lost(_) | Verdict::SteppedDown(_));
    let (outcome, reason) = terms.conclude(verdict, None, None);
    let id = Some(terms.candidate.id);
    Ok(Finished { id, may_campaign, ..Finished::of_none(outcome, reason) })
}

async fn campaign(
    terms: &Terms<'_>,
    inherited: &Inherited,
    shards: u16,
    guardian: Forked,
) -> anyhow::Result<Verdict> {
    let clock = BootClock::new()?;
    let incoming = Incoming::new(inherited).context("cannot read signals")?;
    let guardian = guardian.attach().context("cannot watch the guardian")?;
    let service = Service::new(terms.charge(), Some(guardian.pulse()), &terms.log);
    let line = Shared::new(&terms.log, clock.now());
    let (told, mut known) = watch::channel(RosterState::default());
    let (tell, mut inbox) = unbounded_channel();
    let mut roster = OnDuty::new(Roster { guardian, known: &told }, &clock, None);
    let inner = Observer::new(&terms.log, &line, &terms.candidate, service.as_ref(), None);
    let mut observer = RosterObserver { inner, known: &told };
    let coordinator =
        Coordinator { store: terms.store, election: &terms.election, shards, log: &terms.log };
    let mut member = ShardHolder {
        terms,
        shards,
        has_told: false,
        inherited,
        service: service.as_ref(),
        held: BTreeMap::new(),
        running: FuturesUnordered::new(),
        roster: Some(tell),
        verdict: None,
        runs_end: None,
        pauses: BTreeMap::new(),
        turns: Arc::new(Semaphore::new(1)),
    };
    {
        let candidacy = terms.candidacy();
        let machine =
            Machine::new(terms.roster_rules(), terms.timing, clock.now(), fastrand::u64(..));
        let roster =
            driver::drive(&candidacy, machine, &clock, &mut roster, &mut inbox, &mut observer);
        let mut roster = Box::pin(roster.fuse());
        let mut is_in_roster = true;
        let work = coordinator.work(known.clone());
        let mut beside = Box::pin(async {
            tokio::select! {
                never = work => never,
                never = keep_in_touch(service.as_ref()) => never,
            }
        });
        while is_in_roster || !member.held.is_empty() {
            tokio::select! {
                biased;
                Some((shard, past)) = member.running.next() => member.part_is_over(shard, past, &known.borrow()),
                verdict = &mut roster, if is_in_roster => {
                    is_in_roster = false;
                    member.end(verdict, "the roster was left");
                }
                signal = incoming.next() => member.signaled(signal),
                Ok(()) = known.changed() => member.follow(&known.borrow_and_update()),
                never = &mut beside => match never {},
            }
        }
    }
    roster.duty.guardian.dismiss();
    Ok(member.into_verdict())
}

type Running<'a> = LocalBoxFuture<'a, (u16, anyhow::Result<Led>)>;

/// The verdict of a candidacy for a shard, and how long its command had run if it was found unhealthy.
type Led = (Verdict, Option<Duration>);

/// The shards of this member, and their candidacies.
struct ShardHolder<'a> {
    terms: &'a Terms<'a>,
    /// The number of shards in the election.
    shards: u16,
    /// The warning about an assigned shard that does not exist has been logged.
    has_told: bool,
    inherited: &'a Inherited,
    service: Option<&'a Service<'a>>,
    /// The shards with a candidacy of this process.
    held: BTreeMap<u16, Held>,
    running: FuturesUnordered<Running<'a>>,
    /// The inbox of the candidacy in the roster, until this member leaves the roster.
    roster: Option<UnboundedSender<Event>>,
    /// The reason why this member ends, once it does.
    verdict: Option<Verdict>,
    /// The end of a command after a signal to elect: the first one that failed, or one that exited with 0 if none
    /// failed.
    runs_end: Option<Ended>,
    /// The pause before this member takes part again in a shard whose command was unhealthy.
    pauses: BTreeMap<u16, Duration>,
    /// The permit to fork a guardian. One candidacy has it at a time.
    turns: Arc<Semaphore>,
}

struct Held {
    inbox: UnboundedSender<Event>,
    is_released: bool,
}

impl ShardHolder<'_> {
    /// Follows the present content of the control cell.
    fn follow(&mut self, known: &RosterState) {
        let Some(control) = known.control.as_ref().filter(|_| self.verdict.is_none()) else {
            return;
        };
        let ours = &self.terms.candidate.id;
        let mut wanted = match control.pausing() {
            None => control.spread().of(ours),
            Some(_) => BTreeSet::new(),
        };
        // The control cell can name shards that do not exist, as anyone with access to the store may write there.
        // They are ignored.
        let strange = wanted.split_off(&self.shards);
        if let Some(shard) =
            strange.first().filter(|_| !std::mem::replace(&mut self.has_told, true))
        {
            self.terms.log.warn(format_args!(
                "we are to hold shard {shard} by the store, and there are {}, from 0: it is ignored; look who else \
                 writes there",
                self.shards
            ));
        }
        for (shard, held) in &mut self.held {
            if !wanted.contains(shard) {
                held.release(|| why_not(control, *shard));
            }
        }
        for shard in wanted {
            // A shard that is being given up is taken again once its candidacy is over.
            if !self.held.contains_key(&shard) {
                self.take(shard);
            }
        }
        if let Some(service) = self.service {
            service.holds(self.held.len(), control.division());
        }
    }

    fn take(&mut self, shard: u16) {
        let (tell, inbox) = unbounded_channel();
        self.held.insert(shard, Held { inbox: tell, is_released: false });
        let (terms, inherited) = (self.terms, self.inherited);
        let pause = self.pauses.get(&shard).copied().unwrap_or_default();
        let turns = Arc::clone(&self.turns);
        let past =
            async move { (shard, lead(terms, inherited, shard, inbox, pause, &turns).await) };
        self.running.push(past.boxed_local());
    }

    fn part_is_over(&mut self, shard: u16, past: anyhow::Result<Led>, known: &RosterState) {
        self.held.remove(&shard);
        let (verdict, relapse) =
            past.unwrap_or_else(|error| (Verdict::Failed(format!("{error:#}")), None));
        let before = self.pauses.remove(&shard).unwrap_or_default();
        if let Some(ran) = relapse {
            let pause = self.terms.plan.relapses.next_pause(before, Some(ran));
            self.pauses.insert(shard, pause);
        }
        match verdict {
            Verdict::Withdrawn(_) | Verdict::SteppedDown(_) | Verdict::Interrupted(_) => {
                self.follow(known);
            }
            Verdict::Ended(ended) | Verdict::MaxRun(ended, _)
                if matches!(self.verdict, Some(Verdict::Interrupted(_))) =>
            {
                let worse = |known: &Ended| *known == Ended::Exited(0);
                if self.runs_end.as_ref().is_none_or(worse) {
                    self.runs_end = Some(ended);
                }
            }
            verdict => self.end(verdict, &format!("shard {shard} has ended")),
        }
    }

    /// Leaves the roster, and gives up all shards.
    fn end(&mut self, verdict: Verdict, why: &str) {
        if self.verdict.is_some() {
            return;
        }
        self.verdict = Some(verdict);
        self.leave_roster(why);
        for held in self.held.values_mut() {
            held.release(|| why.to_owned());
        }
    }

    fn leave_roster(&mut self, why: &str) {
        if let Some(roster) = self.roster.take() {
            // A send fails if the candidacy in the roster is over already, which is fine.
            let _ = roster.send(Event::Withdraw(why.to_owned()));
        }
    }

    fn signaled(&mut self, signal: i32) {
        match signal {
            libc::SIGCHLD => guard::reap(),
            libc::SIGTSTP => guard::suspend(),
            signal if guard::ends_command(signal) => {
                self.verdict.get_or_insert(Verdict::Interrupted(signal));
                self.leave_roster(&guard::told_to_end(signal));
                self.pass_on(signal);
            }
            signal => self.pass_on(signal),
        }
    }

    fn pass_on(&self, signal: i32) {
        for held in self.held.values() {
            // A send fails if the candidacy is over already, which is fine.
            let _ = held.inbox.send(Event::Signal(signal));
        }
    }

    fn into_verdict(self) -> Verdict {
        match (self.verdict, self.runs_end) {
            (Some(Verdict::Interrupted(_)), Some(ended)) => Verdict::Ended(ended),
            (Some(verdict), _) => verdict,
            (None, _) => Verdict::Failed("the roster was left".into()),
        }
    }
}

impl Held {
    fn release(&mut self, why: impl FnOnce() -> String) {
        if !std::mem::replace(&mut self.is_released, true) {
            // A send fails if the candidacy is over already, which is fine.
            let _ = self.inbox.send(Event::Release(why()));
        }
    }
}

fn why_not(control: &Control, shard: u16) -> String {
    match (control.pausing(), control.spread().holder(shard)) {
        (Some(request), _) => request.in_words("paused"),
        (None, Some(holder)) => format!("the shard moves to {holder}"),
        (None, None) => "no member is assigned to the shard".to_owned(),
    }
}

/// Takes part in the election of one shard, and leads it, until the shard is no longer assigned to this member.
async fn lead(
    terms: &Terms<'_>,
    inherited: &Inherited,
    shard: u16,
    mut inbox: Inbox,
    pause: Duration,
    turns: &Semaphore,
) -> anyhow::Result<Led> {
    let plan = terms.plan;
    let terms = terms.of_shard(shard)?;
    // Many shards may be taken at once. Between any two forks, the candidacies that go on get their turn.
    let turn = turns.acquire().await;
    yield_now().await;
    match inbox.try_recv() {
        Ok(Event::Release(why)) => return Ok((Verdict::Withdrawn(why), None)),
        Ok(Event::Signal(signal)) if guard::ends_command(signal) => {
            return Ok((Verdict::Interrupted(signal), None));
        }
        _ => {}
    }
    let enclosure = Enclosure::choose(plan.containment, plan.require_containment)?;
    let guardian = terms.fork(inherited, enclosure, None)?;
    let guardian = guardian.attach().context("cannot watch the guardian")?;
    drop(turn);
    let end = terms.compete(guardian, &mut inbox, inherited, Audience::default(), pause).await?;
    end.guardian.dismiss();
    Ok((end.verdict, end.relapse))
}
