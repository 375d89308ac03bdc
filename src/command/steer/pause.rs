//! `elect pause` and `elect resume`: nobody leads for now.

use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::{Division, Token};
use tokio::time::sleep;

use super::ControlClient;
use super::control_client::request;
use crate::command::look::Seen;
use crate::command::runtime::block_on;
use crate::config::{AskPlan, Target};
use crate::election::orders::Orders;
use crate::report::{self, Log, NOT_ACQUIRED};

/// Pauses an election, and waits until nobody leads. The exit code is 0 then, and [`NOT_ACQUIRED`] when the
/// time was over before.
///
/// # Errors
/// The store refuses us, or does not answer.
pub(in crate::command) fn pause(plan: &AskPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let client =
            ControlClient::new(&plan.target.backend, &plan.target.election, plan.timeout, log)?;
        let division = client.asked().await?.division();
        if !division.is_whole() {
            return pause_parts(&client, plan, division).await;
        }
        stop_everybody(&client, plan).await?;
        if let Some(leader) =
            client.survey().await?.leader.filter(|it| it.entry.candidate.is_foreign())
        {
            let id = &leader.entry.candidate.id;
            client.log().warn(format_args!("{id} leads, is no elect, and knows of no pause"));
        }
        let is_over = |seen: &Seen| seen.survey.leader.is_none() || seen.pause.is_none();
        match client.wait_until_seen(LATE, is_over).await? {
            Some(seen) if seen.pause.is_none() => bail!(RESUMED),
            Some(_) => done(plan),
            None => Ok(late(&client)),
        }
    })
}

const RESUMED: &str = "the election is not paused any more: somebody has resumed it";

/// How often we look whether it is still paused, where that is not seen beside something else.
const AGAIN: Duration = Duration::from_secs(1);

const LATE: &str = "the election is paused; whoever leads has not ended yet";

fn late(client: &ControlClient<'_>) -> u8 {
    client.log().warn(LATE);
    NOT_ACQUIRED
}

/// Who leads a part does so in an election of its own, and obeys the orders of the whole.
async fn pause_parts(
    client: &ControlClient<'_>,
    plan: &AskPlan,
    division: Division,
) -> anyhow::Result<u8> {
    client.ask(|orders| paused(orders, plan, None)).await?;
    for slot in client.slots().await? {
        stop_everybody(&client.at(&slot)?, plan).await?;
    }
    let is_over = tokio::select! {
        is_over = client.wait_for_parts(division, LATE, |survey| survey.leader.is_none()) => is_over?,
        end = until_resumed(client) => return end,
    };
    if !is_paused(client).await? {
        bail!(RESUMED);
    }
    if is_over { done(plan) } else { Ok(late(client)) }
}

/// Ends, with an error, once the election is paused no more.
async fn until_resumed(client: &ControlClient<'_>) -> anyhow::Result<u8> {
    loop {
        sleep(AGAIN).await;
        if !is_paused(client).await? {
            bail!(RESUMED);
        }
    }
}

/// Asks that nobody leads, and whoever leads to give leadership up.
async fn stop_everybody(client: &ControlClient<'_>, plan: &AskPlan) -> anyhow::Result<()> {
    let is_news = !is_paused(client).await?;
    let before = client.holder().await?;
    client.ask(|orders| paused(orders, plan, before.filter(|_| is_news))).await?;
    // Somebody may have won before the pause began, and run; who has won since starts nothing.
    let after = client.holder().await?;
    if is_news && after.is_some() && after != before {
        client.ask(|orders| paused(orders, plan, after)).await?;
    }
    Ok(())
}

async fn is_paused(client: &ControlClient<'_>) -> anyhow::Result<bool> {
    Ok(client.asked().await?.pausing().is_some())
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
    let line = format!("{} is paused: nobody leads\n", plan.target.election);
    report::print(&line).context("cannot write to stdout")?;
    Ok(0)
}

/// Ends a pause.
///
/// # Errors
/// The store refuses us, or does not answer.
pub(in crate::command) fn resume(target: &Target, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let client = ControlClient::new(&target.backend, &target.election, None, log)?;
        for slot in client.slots().await? {
            client.at(&slot)?.ask(|orders| orders.paused(None)).await?;
        }
        client.ask(|orders| orders.paused(None)).await?;
        Ok(0)
    })
}
