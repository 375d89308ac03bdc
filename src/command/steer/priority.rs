//! `elect priority` and `--preempt`: which candidates lead before others.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::{Candidate, Division, ElectionName, Leader, Survey, Token};

use super::{ControlClient, is_decided, is_led_by, print_leader, request};
use crate::command::runtime::BootClock;
use crate::command::runtime::block_on;
use crate::config::{CampaignPlan, Preference, PriorityPlan, is_known_as};
use crate::election::control::{Control, Request};
use crate::election::driver::Clock as _;
use crate::guard;
use crate::report::{self, Log};

/// Sets the priority of a candidate, or of all candidates with a label. With priority 0, waits until none of them
/// leads, and prints who leads then. The exit code is 0, or [`NOT_ACQUIRED`](report::NOT_ACQUIRED) if the time ran out
/// before.
///
/// # Errors
/// The store refuses access or does not answer, or no candidate has that name.
pub(in crate::command) fn priority(plan: &PriorityPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let ask = &plan.ask;
        let client =
            ControlClient::new(&ask.target.backend, &ask.target.election, ask.timeout, log)?;
        client.queues("elect priority")?;
        has_ranks(&client, &ask.target.election).await?;
        let survey = client.survey().await?;
        if survey.entries().next().is_none() {
            client.warn_if_unknown().await?;
        }
        check(&survey, plan, client.asked().await?.sets_priority_of(&plan.id))?;
        let priority = match plan.priority {
            Preference::Own => None,
            Preference::Set(priority) => Some(priority),
        };
        let request = request(ask.reason.as_deref());
        let is_gone = |id: &str| is_gone(&survey, id);
        client
            .ask(|control| {
                control.without(is_gone).prioritizing(&plan.id, priority, request.clone())
            })
            .await?;
        // The warning comes before the wait, as the leader's command may take long to end.
        let is_drained = priority == Some(0) && warn_if_drained(&client, &survey).await?;
        let division = client.asked().await?.division();
        if let (Division::Shards(_), Some(0)) = (division, priority) {
            return until_drained(&client, division, plan).await;
        }
        let leader = survey.leader.filter(|leader| {
            priority == Some(0) && is_known_as(&leader.entry.candidate.id, &plan.id)
        });
        let Some(leader) = leader else {
            return report_priority(plan);
        };
        let why = format!("{} was asked, and has not handed over yet", leader.entry.candidate.id);
        let end = client
            .wait_until_seen(&why, |seen| {
                !is_led_by(&seen.survey, leader.token) && is_decided(seen)
            })
            .await?;
        if let Some(seen) = end {
            if !is_drained {
                warn_if_drained(&client, &seen.survey).await?;
            }
            return print_leader(seen.survey.leader.as_ref());
        }
        Ok(client.gives_up(&why))
    })
}

/// Checks that the election neither has slots nor is a slot. In slots, the first candidate to arrive leads.
async fn has_ranks(client: &ControlClient<'_>, election: &ElectionName) -> anyhow::Result<()> {
    let whole = Division::whole(election);
    for name in [Some(election), whole.as_ref()].into_iter().flatten() {
        if !client.at(name)?.slots().await?.is_empty() {
            bail!("{name} has slots, and slots have no priorities: who comes first leads");
        }
    }
    Ok(())
}

/// Waits until no candidate of that name leads a shard.
async fn until_drained(
    client: &ControlClient<'_>,
    division: Division,
    plan: &PriorityPlan,
) -> anyhow::Result<u8> {
    let name = &plan.id;
    let is_others = |survey: &Survey| {
        let leader = survey.leader.as_ref();
        leader.is_none_or(|leader| !is_known_as(&leader.entry.candidate.id, name))
    };
    let why = format!("{name} was asked, and has not handed over all shards yet");
    if client.wait_for_parts(division, &why, is_others).await? {
        return report_priority(plan);
    }
    Ok(client.gives_up(&why))
}

/// Prints the priority that holds now. The exit code is 0.
fn report_priority(plan: &PriorityPlan) -> anyhow::Result<u8> {
    let id = &plan.id;
    let line = match plan.priority {
        Preference::Own => format!("{id} has the priority that it was started with\n"),
        Preference::Set(0) => format!("{id} has priority 0, and does not lead\n"),
        Preference::Set(priority) => format!("{id} has priority {priority}\n"),
    };
    report::print(&line).context("cannot write to stdout")?;
    Ok(0)
}

/// Warns if no candidate may lead any more, and returns whether that is so. It happens when the last candidate is given
/// priority 0, perhaps by mistake.
async fn warn_if_drained(client: &ControlClient<'_>, survey: &Survey) -> anyhow::Result<bool> {
    let control = client.asked().await?;
    let may_lead = |candidate: &Candidate| {
        candidate.is_foreign() || control.priority_of(&candidate.id, candidate.priority) > 0
    };
    let is_drained = !survey.entries().any(|entry| may_lead(&entry.candidate));
    if is_drained {
        client.log.warn(
            "no candidate with a priority above 0 is left: nobody leads until one joins, or `elect priority` raises one",
        );
    }
    Ok(is_drained)
}

/// Checks that a candidate has this name, and that candidates with this name are elect runs, which know priorities.
fn check(survey: &Survey, plan: &PriorityPlan, is_set: bool) -> anyhow::Result<()> {
    let known: Vec<&Candidate> = survey
        .entries()
        .map(|entry| &entry.candidate)
        .filter(|candidate| is_known_as(&candidate.id, &plan.id))
        .collect();
    if known.is_empty() && !(is_set && plan.priority == Preference::Own) {
        let (election, id) = (&plan.ask.target.election, &plan.id);
        bail!("no candidate of {election} has the id or label {id}: `elect status` shows them");
    }
    match known.into_iter().find(|candidate| candidate.is_foreign()) {
        Some(foreign) => bail!("{} is not an elect run, and has no priority", foreign.id),
        None => Ok(()),
    }
}

/// Returns whether this is the id of a single run, with its nonce, and that run has ended. A label may be used again.
fn is_gone(survey: &Survey, id: &str) -> bool {
    let is_one_run = id.rsplit_once('-').is_some_and(|(label, _)| is_known_as(id, label));
    is_one_run && !survey.entries().any(|entry| entry.candidate.id == id)
}

/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(5);

/// `--preempt`: a candidate that has waited long enough asks a leader of lower priority to hand over.
///
/// Waits for the time in the plan, then asks each leader of lower priority than `candidate` to hand over. If
/// programs other than elect take part, it asks no leader: such a program might lead next.
pub(in crate::command) async fn preempt(
    plan: &CampaignPlan,
    candidate: &Candidate,
    log: &Log,
) -> Infallible {
    let Some(after) = plan.preempt_after else { return std::future::pending().await };
    // The engine needs a clock as well, and reports the failure.
    let Ok(clock) = BootClock::new() else { return std::future::pending().await };
    clock.until(Some(guard::now() + after)).await;
    let mut told = None;
    loop {
        if let Err(error) = ask_each(plan, candidate, log).await {
            let text = format!("{error:#}");
            if told.as_ref() != Some(&text) {
                log.warn(format_args!(
                    "--preempt-after cannot ask the leader to hand over: {text}"
                ));
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
                "{} takes part, is not an elect run, and has no priority",
                foreign.candidate.id
            );
        }
        let reason = format!("of priority {priority}");
        let request = Request::new(candidate.id.clone(), Some(reason));
        client.ask(|control| asking(control, leader.token, &request)).await?;
        asked = Some(leader.token);
    }
}

/// Adds the order that the leader with this token hands over. An earlier order to hand over stays, as it may name the
/// next leader.
fn asking(control: Control, token: Token, request: &Request) -> Control {
    if control.ends(token) { control } else { control.stepping_down(token, request.clone()) }
}

/// A leader of lower priority than this candidate.
struct Lesser<'a> {
    leader: &'a Leader,
    /// The priority of this candidate.
    priority: u32,
}

/// Returns the leader if this candidate waits for it, its priority is lower, and it has not been asked yet.
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
        let leader = Leader::new(entry("leader", leads), Token::new(7));
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
    fn an_earlier_request_to_the_leader_stays() {
        let request = Request::new("me".into(), None);
        let token = Token::new(7);
        assert!(asking(Control::default(), token, &request).ends(token));
        let named = Control::default().handing_over(token, Some("b".into()), request.clone());
        assert_eq!(asking(named.clone(), token, &request), named);
        assert!(asking(named, Token::new(8), &request).ends(Token::new(8)));
    }
}
