//! `--preempt`: a candidate that has waited for long asks a leader of less priority to hand over.

use std::convert::Infallible;
use std::time::Duration;

use elect_api::{Candidate, Leader, Survey, Token};

use super::ControlClient;
use crate::command::candidacy::BootClock;
use crate::config::CampaignPlan;
use crate::election::driver::Clock as _;
use crate::election::orders::{Orders, Request};
use crate::guard;
use crate::report::Log;

/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(5);

/// Asks each leader that has less priority than `candidate`, once it has waited for the time that the plan has for
/// that. Where programs other than elect take part nobody is asked: they might come to lead instead.
pub(in crate::command) async fn preempt(
    plan: &CampaignPlan,
    candidate: &Candidate,
    log: &Log,
) -> Infallible {
    let Some(after) = plan.preempt_after else { return std::future::pending().await };
    // Without a clock there is no engine either, and that says so.
    let Ok(clock) = BootClock::new() else { return std::future::pending().await };
    clock.until(Some(guard::now() + after)).await;
    let mut told = None;
    loop {
        if let Err(error) = ask_each(plan, candidate, log).await {
            let text = format!("{error:#}");
            if told.as_ref() != Some(&text) {
                log.warn(format_args!("no leader is asked to hand over to us: {text}"));
                told = Some(text);
            }
        }
        clock.until(Some(guard::now() + PAUSE)).await;
    }
}

async fn ask_each(plan: &CampaignPlan, candidate: &Candidate, log: &Log) -> anyhow::Result<()> {
    let client = ControlClient::new(&plan.backend, &plan.election, None, log)?;
    let mut asked = None;
    loop {
        let is_met = |survey: &Survey| lesser(survey, &candidate.id, asked).is_some();
        let Some(survey) = client.wait_until(is_met).await? else { return Ok(()) };
        let Some(Lesser { leader, priority }) = lesser(&survey, &candidate.id, asked) else {
            continue;
        };
        if let Some(foreign) = survey.entries().find(|entry| entry.candidate.is_foreign()) {
            anyhow::bail!(
                "{} takes part, is no elect, and knows of no priorities",
                foreign.candidate.id
            );
        }
        let reason = format!("of priority {priority}");
        let request = Request::new(candidate.id.clone(), Some(reason));
        client.ask(|orders| asking(orders, leader.token, &request)).await?;
        asked = Some(leader.token);
    }
}

/// The orders that have whoever leads with this token hand over. Whoever has asked for that already may have named
/// who is to be next.
fn asking(orders: Orders, token: Token, request: &Request) -> Orders {
    if orders.ends(token) { orders } else { orders.stepping_down(token, request.clone()) }
}

/// A leader that has less priority than we have.
struct Lesser<'a> {
    leader: &'a Leader,
    /// Ours.
    priority: u32,
}

/// The leader, if we wait for it, it has less priority, and it has not been asked.
fn lesser<'a>(survey: &'a Survey, id: &str, asked: Option<Token>) -> Option<Lesser<'a>> {
    let priority = survey.waiting.iter().find(|entry| entry.candidate.id == id)?.candidate.priority;
    let leader = survey.leader.as_ref()?;
    let is_lesser = leader.entry.candidate.priority < priority && asked != Some(leader.token);
    is_lesser.then_some(Lesser { leader, priority })
}

#[cfg(test)]
mod tests {
    use elect_api::Entry;

    use super::*;

    fn survey(leads: u32, waits: u32) -> Survey {
        let entry = |id: &str, priority| {
            Entry::new(Candidate { priority, ..Candidate::foreign(id) }, None, 1)
        };
        let (since, remaining, renewed) = (None, None, None);
        let entry_of_leader = entry("leader", leads);
        let token = Token::new(7);
        let leader = Leader { entry: entry_of_leader, token, since, remaining, renewed };
        Survey { leader: Some(leader), waiting: vec![entry("us", waits)] }
    }

    #[test]
    fn only_a_leader_of_less_priority_is_asked_and_once() {
        let is_asked = |survey: &Survey, id, asked| lesser(survey, id, asked).is_some();
        assert!(is_asked(&survey(80, 100), "us", None));
        assert!(is_asked(&survey(80, 100), "us", Some(Token::new(6))));
        assert!(!is_asked(&survey(80, 100), "us", Some(Token::new(7))));
        assert!(!is_asked(&survey(100, 100), "us", None));
        assert!(!is_asked(&survey(80, 100), "who does not wait", None));
        assert!(!is_asked(&Survey { leader: None, ..survey(80, 100) }, "us", None));
    }

    #[test]
    fn what_was_asked_of_the_leader_already_stays() {
        let request = Request::new("me".into(), None);
        let token = Token::new(7);
        assert!(asking(Orders::default(), token, &request).ends(token));
        let named = Orders::default().handing_over(token, Some("b".into()), request.clone());
        assert_eq!(asking(named.clone(), token, &request), named);
        assert!(asking(named, Token::new(8), &request).ends(Token::new(8)));
    }
}
