//! `elect resign`: a leader hands over.

use anyhow::{Context, bail};
use elect_api::{Leader, Survey};

use super::Desk;
use super::desk::request;
use super::force::see_off;
use crate::command::runtime::block_on;
use crate::config::ResignPlan;
use crate::report::{self, Log, NOT_ACQUIRED};

/// Asks the leader to give leadership up, waits until it has, and prints who leads then. The exit code is 0,
/// and [`NOT_ACQUIRED`] when the time was over before.
///
/// # Errors
/// The store refuses us, or does not answer; the leader cannot be asked.
pub(in crate::command) fn resign(plan: &ResignPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let ask = &plan.ask;
        let desk = Desk::new(&ask.backend, &ask.election, ask.timeout, log)?;
        let Some(leader) = desk.survey().await?.leader else {
            return say(None);
        };
        let (id, token) = (&leader.entry.candidate.id, leader.token);
        let is_foreign = leader.entry.candidate.is_foreign();
        if is_foreign && plan.force.is_none() {
            bail!(
                "{id} leads, is no elect, and cannot be asked: end it where it runs, or take its entry with --force"
            );
        }
        let request = request(ask.reason.as_deref());
        let orders = if is_foreign {
            desk.asked().await?
        } else {
            desk.ask(|orders| orders.stepping_down(token, request.clone())).await?
        };
        let is_paused = orders.pausing().is_some();
        if let Some(force) = plan.force {
            see_off(&desk, &leader, force).await?;
        }
        let end = desk
            .wait_until(|survey| {
                let leader = survey.leader.as_ref();
                leader.is_none_or(|leader| leader.token != token) && is_settled(survey, is_paused)
            })
            .await?;
        match end {
            Some(_) if is_paused => {
                desk.log().warn("the election is paused: nobody leads before elect resume");
                say(None)
            }
            Some(survey) => say(survey.leader.as_ref()),
            None => {
                let was_asked = if is_foreign { "cannot be asked" } else { "was asked" };
                desk.log().warn(format_args!("{id} {was_asked}, and has not handed over yet"));
                Ok(NOT_ACQUIRED)
            }
        }
    })
}

/// Whether it is plain who leads now.
fn is_settled(survey: &Survey, is_paused: bool) -> bool {
    is_paused || survey.leader.is_some() || survey.waiting.is_empty()
}

fn say(leader: Option<&Leader>) -> anyhow::Result<u8> {
    let line = match leader {
        Some(leader) => format!("{} leads, token {}\n", leader.entry.candidate.id, leader.token),
        None => "nobody leads\n".to_owned(),
    };
    report::print(&line).context("cannot write to stdout")?;
    Ok(0)
}
