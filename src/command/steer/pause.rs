//! `elect pause` and `elect resume`: nobody leads for now.

use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::{Division, Token};
use tokio::time::sleep;

use super::Desk;
use super::desk::request;
use crate::command::look::Seen;
use crate::command::runtime::block_on;
use crate::config::{AskPlan, ResumePlan};
use crate::election::orders::Orders;
use crate::report::{self, Log, NOT_ACQUIRED};

/// Pauses an election, and waits until nobody leads. The exit code is 0 then, and [`NOT_ACQUIRED`] when the
/// time was over before.
///
/// # Errors
/// The store refuses us, or does not answer.
pub(in crate::command) fn pause(plan: &AskPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let desk = Desk::new(&plan.backend, &plan.election, plan.timeout, log)?;
        let division = desk.asked().await?.division();
        if !division.is_whole() {
            return pause_parts(&desk, plan, division).await;
        }
        stop_everybody(&desk, plan).await?;
        if let Some(leader) =
            desk.survey().await?.leader.filter(|it| it.entry.candidate.is_foreign())
        {
            let id = &leader.entry.candidate.id;
            desk.log().warn(format_args!("{id} leads, is no elect, and knows of no pause"));
        }
        let is_over = |seen: &Seen| seen.survey.leader.is_none() || seen.pause.is_none();
        match desk.wait_until_seen(LATE, is_over).await? {
            Some(seen) if seen.pause.is_none() => bail!(RESUMED),
            Some(_) => done(plan),
            None => Ok(late(&desk)),
        }
    })
}

const RESUMED: &str = "the election is not paused any more: somebody has resumed it";

/// How often we look whether it is still paused, where that is not seen beside something else.
const AGAIN: Duration = Duration::from_secs(1);

const LATE: &str = "the election is paused; whoever leads has not ended yet";

fn late(desk: &Desk<'_>) -> u8 {
    desk.log().warn(LATE);
    NOT_ACQUIRED
}

/// Who leads a part does so in an election of its own, and obeys the orders of the whole.
async fn pause_parts(desk: &Desk<'_>, plan: &AskPlan, division: Division) -> anyhow::Result<u8> {
    desk.ask(|orders| paused(orders, plan, None)).await?;
    for slot in desk.slots().await? {
        stop_everybody(&desk.at(&slot)?, plan).await?;
    }
    let is_over = tokio::select! {
        is_over = desk.wait_for_parts(division, LATE, |survey| survey.leader.is_none()) => is_over?,
        end = until_resumed(desk) => return end,
    };
    if !is_paused(desk).await? {
        bail!(RESUMED);
    }
    if is_over { done(plan) } else { Ok(late(desk)) }
}

/// Ends, with an error, once the election is paused no more.
async fn until_resumed(desk: &Desk<'_>) -> anyhow::Result<u8> {
    loop {
        sleep(AGAIN).await;
        if !is_paused(desk).await? {
            bail!(RESUMED);
        }
    }
}

/// Asks that nobody leads, and whoever leads to give leadership up.
async fn stop_everybody(desk: &Desk<'_>, plan: &AskPlan) -> anyhow::Result<()> {
    let is_news = !is_paused(desk).await?;
    let before = desk.holder().await?;
    desk.ask(|orders| paused(orders, plan, before.filter(|_| is_news))).await?;
    // Somebody may have won before the pause began, and run; who has won since starts nothing.
    let after = desk.holder().await?;
    if is_news && after.is_some() && after != before {
        desk.ask(|orders| paused(orders, plan, after)).await?;
    }
    Ok(())
}

async fn is_paused(desk: &Desk<'_>) -> anyhow::Result<bool> {
    Ok(desk.asked().await?.pausing().is_some())
}

/// The orders that pause the election, and that have whoever leads with this token give that up. A pause that
/// is there stays as it is, unless there is another reason for it now.
fn paused(orders: Orders, plan: &AskPlan, token: Option<Token>) -> Orders {
    let request = request(plan.reason.as_deref());
    let keeps = plan.reason.is_none()
        || orders.pausing().is_some_and(|known| known.reason() == plan.reason.as_deref());
    let pause = orders.pausing().filter(|_| keeps).cloned().unwrap_or_else(|| request.clone());
    let orders = orders.paused(Some(pause));
    match token.filter(|token| !orders.ends(*token)) {
        Some(token) => orders.stepping_down(token, request),
        None => orders,
    }
}

fn done(plan: &AskPlan) -> anyhow::Result<u8> {
    let line = format!("{} is paused: nobody leads\n", plan.election);
    report::print(&line).context("cannot write to stdout")?;
    Ok(0)
}

/// Ends a pause.
///
/// # Errors
/// The store refuses us, or does not answer.
pub(in crate::command) fn resume(plan: &ResumePlan, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let desk = Desk::new(&plan.backend, &plan.election, None, log)?;
        for slot in desk.slots().await? {
            desk.at(&slot)?.ask(|orders| orders.paused(None)).await?;
        }
        desk.ask(|orders| orders.paused(None)).await?;
        Ok(0)
    })
}
