//! `elect wait`: until an election has a leader, or a certain one, or none.

use anyhow::bail;
use elect_api::{Cell, Division, ElectionName, Store, Survey};

use super::attempts::insist;
use super::look::{Rhythm, Seen, Until, Watcher, until};
use super::runtime::block_on;
use crate::config::{self, Goal, WaitPlan, is_known_as};
use crate::election::orders::Orders;
use crate::guard;
use crate::report::{Log, NOT_ACQUIRED};

/// Waits. The exit code is 0 when it is so, and [`NOT_ACQUIRED`] when the time was over before.
///
/// # Errors
/// The store refuses us, or has not answered once before the time was over.
pub(super) fn wait(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(look_on(plan, &log.about(&plan.target.election)))
}

async fn look_on(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    let end = plan.timeout.map(|timeout| guard::now() + timeout);
    let store = config::connect(&plan.target.backend)?;
    expect_one(store.as_ref(), &plan.target.election).await?;
    let watcher = Watcher::over(store, vec![plan.target.election.clone()], Rhythm::Calm)?;
    let limit = humantime::format_duration(plan.timeout.unwrap_or_default());
    match until(watcher, end, log, |seen| is_met(&plan.goal, &seen.survey)).await? {
        Until::So(_) => Ok(0),
        Until::NotSo(seen) => {
            log.warn(format_args!("not so within {limit}: {}", in_words(&seen)));
            Ok(NOT_ACQUIRED)
        }
        Until::Unknown(reason) => bail!("no answer within {limit}: {reason}"),
    }
}

/// That the election is one. What cannot be known now is waited for.
async fn expect_one(store: &dyn Store, election: &ElectionName) -> anyhow::Result<()> {
    let location = store.profile().location;
    let asked = insist(&location, 1, async || store.read(election, Cell::Control).await);
    let Ok(kept) = asked.await else { return Ok(()) };
    let division = Orders::read(kept.bytes.as_deref()).unwrap_or_default().division();
    if division.is_whole() {
        return Ok(());
    }
    bail!("{election} has {division}: name one of them, such as {}", Division::part(election, 0)?);
}

fn is_met(goal: &Goal, survey: &Survey) -> bool {
    let leader = survey.leader.as_ref().map(|leader| leader.entry.candidate.id.as_str());
    match goal {
        Goal::Led => leader.is_some(),
        Goal::Vacant => leader.is_none(),
        Goal::LedBy(text) => leader.is_some_and(|id| is_known_as(id, text)),
    }
}

fn in_words(seen: &Seen) -> String {
    match (&seen.survey.leader, &seen.pause) {
        (Some(leader), _) => format!("{} leads", leader.entry.candidate.id),
        (None, Some(pause)) => {
            format!("nobody leads, the election is {}", pause.in_words("paused"))
        }
        (None, None) => "nobody leads".to_owned(),
    }
}
