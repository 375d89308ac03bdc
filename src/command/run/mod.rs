//! `elect run`: runs a command while this candidate leads an election.

mod comeback;
mod compete;
mod leaders;
mod outcome;
mod shards;
mod terms;
mod tree;

use anyhow::Context;
use elect_api::{Division, Store, StoreId, Token};
use nix::sys::signal::Signal;

use self::comeback::wait_for_files;
use self::compete::CandidacyEnd;
use self::outcome::{Finished, write_outcome};
use self::terms::Terms;
use super::candidacy::{CandidatePage, listen, warn_of};
use crate::config::{self, AfterLoss, RunPlan, Strays, Wait};
use crate::election::slots::{Slot, Slots};
use crate::guard::{self, Enclosure, ExecHandoff, Inherited, SignalTo};
use crate::report::{self, Level, Log, Outcome, wall_clock};

pub(super) use self::outcome::open_outcome;

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
        guard::end_by(signal, if ended_by_key { SignalTo::OurJob } else { SignalTo::Ourselves });
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

/// Warns about flags of elect that stand after the command, and that the command gets instead of
/// elect.
fn warn_of_strays(plan: &RunPlan, log: &Log) {
    if !log.tells(Level::Warn) {
        return;
    }
    let Strays { of_elect, common } = plan.strays(log.tells(Level::Info));
    let program = plan.shown_program();
    for (level, flags) in [(Level::Warn, of_elect), (Level::Info, common)] {
        if !flags.is_empty() {
            let flags = flags.join(" and ");
            let said = format!(
                "{program} gets {flags}: elect takes its own flags before the command only; a -- before the command \
                 silences this"
            );
            log.say(level, said, &[]);
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
    // Slots need not count in common.
    let floor = before.filter(|_| slot.is_none()).map(Token::new);
    let mut terms = Terms::new(plan, log, &*store, containment)?;
    (terms.slot, terms.has_led, terms.floor) = (slot, has_led, floor);
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
    let end = terms.campaign(guardian, inherited, page, pause)?;
    let CandidacyEnd { verdict, leader, token, may_campaign, relapse, ended_by_key, guardian } =
        end;
    guardian.dismiss();
    let (outcome, reason) = terms.conclude(verdict, leader, token);
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
        listener: kept.map(|kept| kept()),
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
