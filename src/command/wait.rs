//! `elect wait`: waits until an election has a leader, or none.

use std::fmt;

use anyhow::bail;
use elect_api::{Cell, Division, ElectionName, Store};

use super::attempts::insist;
use super::cells::UnknownName;
use super::runtime::block_on;
use super::survey::{Awaited, ElectionSnapshot, Proof, Rhythm, Watcher, until};
use crate::config::{self, Goal, WaitPlan, is_known_as, label_of, nearest_names};
use crate::election::control::Control;
use crate::guard;
use crate::report::{self, Log, NOT_ACQUIRED};

/// Waits until the goal is met. The exit code is 0 then, and [`NOT_ACQUIRED`] if the time ran out before.
///
/// # Errors
/// The store refuses access, or did not answer once before the time ran out.
pub(super) fn wait(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(wait_for(plan, &log.about(&plan.target.election)))
}

async fn wait_for(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    let end = plan.timeout.map(|timeout| guard::now() + timeout);
    let store = config::connect(&plan.target.backend)?;
    if expect_one(store.as_ref(), &plan.target.election).await? {
        UnknownName::warn_of(store.as_ref(), &plan.target.election, log).await;
    }
    let watcher = Watcher::over(store, vec![plan.target.election.clone()], Rhythm::Calm)?;
    let limit = humantime::format_duration(plan.timeout.unwrap_or_default());
    let mut is_first = true;
    let is_met = |seen: &ElectionSnapshot| {
        if let Some(absent) = absent(&plan.goal, seen).filter(|_| is_first) {
            log.warn(absent);
        }
        is_first = false;
        is_met(&plan.goal, seen)
    };
    match until(watcher, end, log, is_met).await? {
        Awaited::Met(_) => Ok(0),
        Awaited::Unmet(seen) => {
            log.warn(format_args!("{}", unmet(&plan.goal, &limit, &seen)));
            Ok(NOT_ACQUIRED)
        }
        Awaited::Unknown(reason) => bail!("no answer within {limit}: {reason}"),
    }
}

/// Checks that the election is not divided. If the store does not answer now, the caller goes on waiting. Returns
/// whether the election is known to have no orders.
async fn expect_one(store: &dyn Store, election: &ElectionName) -> anyhow::Result<bool> {
    let location = store.profile().location;
    let asked = insist(&location, 1, async || store.read(election, Cell::Control).await);
    let Ok(kept) = asked.await else { return Ok(false) };
    let division = Control::read(kept.bytes.as_deref()).unwrap_or_default().division();
    if division.is_whole() {
        return Ok(kept.bytes.is_none());
    }
    bail!("{election} has {division}: name one of them, such as {}", Division::part(election, 0)?);
}

/// Returns whether the goal is met. A leader that may be dead meets no goal: further looks tell whether it lives.
fn is_met(goal: &Goal, seen: &ElectionSnapshot) -> bool {
    let leader = seen.survey.leader.as_ref().map(|leader| leader.entry.candidate.id.as_str());
    let leads = seen.proof != Proof::Missing;
    match goal {
        Goal::Led => leads && leader.is_some(),
        Goal::Vacant => leader.is_none(),
        Goal::LedBy(text) => leads && leader.is_some_and(|id| is_known_as(id, text)),
    }
}

/// Returns the warning that no candidate has the id or label of the goal, with a word that may have been meant.
fn absent(goal: &Goal, seen: &ElectionSnapshot) -> Option<String> {
    let Goal::LedBy(text) = goal else { return None };
    let ids = || seen.survey.entries().map(|entry| entry.candidate.id.as_str());
    if ids().any(|id| is_known_as(id, text)) {
        return None;
    }
    let words = ["leader", "vacant"].into_iter().chain(ids().map(label_of));
    let meant = nearest_names(text, words, 1);
    let meant = meant.first().map(|word| format!("; did you mean --for {}?", report::escape(word)));
    let (text, meant) = (report::escape(text), meant.unwrap_or_default());
    Some(format!("no candidate {text} takes part now: waiting until one leads{meant}"))
}

/// Returns the message for a goal that was not met in time.
fn unmet(goal: &Goal, limit: &impl fmt::Display, seen: &ElectionSnapshot) -> String {
    let now = leader_in_words(seen);
    match goal {
        Goal::Led => format!("no leader within {limit}: {now}"),
        Goal::Vacant => format!("not vacant within {limit}: {now}"),
        Goal::LedBy(text) => {
            let text = report::escape(text);
            format!("no candidate {text} led within {limit}: {now}")
        }
    }
}

fn leader_in_words(seen: &ElectionSnapshot) -> String {
    match (&seen.survey.leader, &seen.pause) {
        (Some(leader), _) if seen.proof == Proof::Missing => format!(
            "{} has the lease, and may be dead: it was not seen to renew it",
            leader.entry.candidate.id
        ),
        (Some(leader), _) => format!("{} leads", leader.entry.candidate.id),
        (None, Some(pause)) => {
            format!("nobody leads, the election is {}", pause.in_words("paused"))
        }
        (None, None) => "nobody leads".to_owned(),
    }
}
