//! `elect pause` and `elect resume`: nobody leads for now.

use anyhow::Context;
use elect_api::Token;

use super::Desk;
use super::desk::{can_be_asked, is_led_with, request, run};
use crate::config::{PausePlan, ResumePlan};
use crate::election::orders::Orders;
use crate::report::{self, Log, NOT_ACQUIRED};

/// Pauses an election, and waits until nobody leads. The exit code is 0 then, and [`NOT_ACQUIRED`] when the
/// time was over before.
///
/// # Errors
/// The store refuses us, or does not answer.
pub(in crate::command) fn pause(plan: &PausePlan, log: &Log) -> anyhow::Result<u8> {
    run(async {
        let desk = Desk::new(&plan.backend, &plan.election, plan.timeout, log)?;
        let Some(token) = stop_everybody(&desk, plan).await? else { return done(plan) };
        if desk.wait_until(|survey| !is_led_with(survey, token)).await?.is_some() {
            return done(plan);
        }
        desk.log().warn(format_args!(
            "paused; the command of the leader with token {token} has not ended yet"
        ));
        Ok(NOT_ACQUIRED)
    })
}

/// Asks that nobody leads. Returns the token of the leader whose command has to end first, if there is one.
async fn stop_everybody(desk: &Desk<'_>, plan: &PausePlan) -> anyhow::Result<Option<Token>> {
    let mut leader = desk.survey().await?.leader;
    let is_news = !is_paused(desk).await?;
    loop {
        let token = leader.map(|leader| leader.token);
        let orders = desk.ask(|orders| paused(orders, plan, token.filter(|_| is_news))).await?;
        // Somebody may have won before the pause began, and runs; whoever has won since starts nothing.
        leader = desk.survey().await?.leader;
        let Some(found) = &leader else { return Ok(None) };
        if !is_news || token == Some(found.token) {
            if !can_be_asked(found) {
                let id = &found.entry.candidate.id;
                desk.log().warn(format_args!("{id} leads, is no elect, and knows of no pause"));
                return Ok(Some(found.token));
            }
            return Ok(Some(found.token).filter(|token| orders.ends(*token)));
        }
    }
}

async fn is_paused(desk: &Desk<'_>) -> anyhow::Result<bool> {
    Ok(desk.asked().await?.pausing().is_some())
}

/// The orders that pause the election, and that have whoever leads with this token give that up. A pause that
/// is there stays as it is, unless there is another reason for it now.
fn paused(orders: Orders, plan: &PausePlan, token: Option<Token>) -> Orders {
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

fn done(plan: &PausePlan) -> anyhow::Result<u8> {
    let line = format!("{} is paused: nobody leads\n", plan.election);
    report::print(&line).context("cannot write to stdout")?;
    Ok(0)
}

/// Ends a pause.
///
/// # Errors
/// The store refuses us, or does not answer.
pub(in crate::command) fn resume(plan: &ResumePlan, log: &Log) -> anyhow::Result<u8> {
    run(async {
        let desk = Desk::new(&plan.backend, &plan.election, None, log)?;
        desk.ask(|orders| orders.paused(None)).await?;
        Ok(0)
    })
}
