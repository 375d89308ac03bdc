//! `elect resign`: asks a leader to hand over, or removes its entry by force.

use std::time::Duration;

use anyhow::bail;
use elect_api::{Candidate, Ending, Leader, Survey};

use super::{ControlClient, ElectionSnapshot, is_decided, is_led_by, print_leader, request};
use crate::command::runtime::block_on;
use crate::command::survey;
use crate::config::{Force, ResignPlan, is_known_as};
use crate::guard;
use crate::report::{Log, NOT_ACQUIRED};

/// Asks the leader to give up leadership, waits until it has, and prints who leads then. The exit code is 0, or
/// [`NOT_ACQUIRED`] if the time ran out before, or if another candidate leads than `--to` names.
///
/// # Errors
/// The store refuses access or does not answer, or the leader cannot be asked.
pub(in crate::command) fn resign(plan: &ResignPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let ask = &plan.ask;
        let client =
            ControlClient::new(&ask.target.backend, &ask.target.election, ask.timeout, log)?;
        if plan.to.is_some() {
            client.queues("--to")?;
        }
        client.has_no_slots().await?;
        let survey = client.survey().await?;
        if let (Some(to), Some(leader)) = (&plan.to, &survey.leader)
            && is_known_as(&leader.entry.candidate.id, to)
        {
            return print_leader(Some(leader));
        }
        let heir = plan.to.as_deref().map(|name| heir(&survey, name)).transpose()?;
        let Some(leader) = survey.leader else {
            client.warn_if_unknown().await?;
            return no_leader(&client, client.asked().await?.pausing().is_some());
        };
        let (id, token) = (&leader.entry.candidate.id, leader.token);
        let is_foreign = leader.entry.candidate.is_foreign();
        if is_foreign && plan.force.is_none() {
            bail!(
                "{id} leads and is not an elect run: end it where it runs, or remove its entry with --force"
            );
        }
        let request = request(ask.reason.as_deref());
        if !is_foreign {
            client
                .ask(|control| control.handing_over(token, heir.clone(), request.clone()))
                .await?;
        }
        if let Some(force) = plan.force {
            see_off(&client, &leader, force).await?;
            if !is_followed(&client, &leader).await? {
                return no_leader(&client, false);
            }
        }
        let was_asked = if is_foreign { "is not an elect run" } else { "was asked" };
        let why = format!("{id} {was_asked}, and has not handed over yet");
        let end = client
            .wait_until_seen(&why, |seen| !is_led_by(&seen.survey, token) && is_decided(seen))
            .await?;
        match end {
            Some(seen) if seen.pause.is_some() && seen.survey.leader.is_none() => {
                no_leader(&client, true)
            }
            Some(seen) => said(&client, &seen.survey, heir.as_deref()),
            None if is_foreign || plan.force.is_some() => Ok(client.gives_up(&why)),
            None => {
                client.log.warn(format_args!(
                    "{why}; it will once its command has ended. --force is for a leader that does not answer"
                ));
                Ok(NOT_ACQUIRED)
            }
        }
    })
}

fn no_leader(client: &ControlClient<'_>, is_paused: bool) -> anyhow::Result<u8> {
    if is_paused {
        client.log.warn("the election is paused: nobody leads until the pause ends");
    }
    print_leader(None)
}

/// Returns the id of the candidate that must lead next.
fn heir(survey: &Survey, name: &str) -> anyhow::Result<String> {
    if let Some(foreign) =
        survey.entries().map(|entry| &entry.candidate).find(|candidate| candidate.is_foreign())
    {
        bail!("--to is not possible: {} is not an elect run and cannot yield", foreign.id);
    }
    let waiting = survey.waiting.iter().map(|entry| &entry.candidate);
    let known: Vec<_> = waiting.filter(|candidate| is_known_as(&candidate.id, name)).collect();
    match known[..] {
        [one] if one.priority == 0 => {
            bail!("{} has priority 0 and never leads: see `elect priority`", one.id)
        }
        [one] => Ok(one.id.clone()),
        [] => bail!("no waiting candidate has the id or label {name}: `elect status` shows them"),
        _ => bail!(
            "{} waiting candidates have the label {name}: name one of them by its id",
            known.len()
        ),
    }
}

/// Prints who leads now, and warns if that is not the candidate of `--to`.
fn said(client: &ControlClient<'_>, survey: &Survey, heir: Option<&str>) -> anyhow::Result<u8> {
    let leader = survey.leader.as_ref();
    let code = print_leader(leader)?;
    let leads = leader.map(|leader| leader.entry.candidate.id.as_str());
    match heir.filter(|heir| leads != Some(*heir)) {
        Some(heir) => {
            client.log.warn(format_args!("{heir}, which --to names, does not lead"));
            Ok(NOT_ACQUIRED)
        }
        None => Ok(code),
    }
}

/// The time that the holder of an entry without a lease has to hand over.
const HAND_OVER_TIME: Duration = Duration::from_secs(15);
/// The factor by which the store's clock may run slower than this machine's: the default of --max-clock-drift.
const DRIFT: f64 = 1.1;
/// Extra time for a store that ends a lease late.
const MARGIN: Duration = Duration::from_secs(1);

/// `elect resign --force`: removes the entry of a leader that does not hand over.
///
/// The caller has asked a leader that is an `elect run` before. This function waits until the leader has handed over,
/// or until its lease must be over. It removes an entry that is still there if the lease is over, if the entry would
/// never end, or if `force` says so. It returns when the entry is gone, or when the time of the client is over.
///
/// # Errors
/// The holder of the entry lives, or the store refuses access.
pub(super) async fn see_off(
    client: &ControlClient<'_>,
    leader: &Leader,
    force: Force,
) -> anyhow::Result<()> {
    let (candidate, token) = (&leader.entry.candidate, leader.token);
    let Some(ending) = client.ending(token).await? else { return Ok(()) };
    if ending == Ending::WithItsProcess {
        if leader.entry.is_stopped || leader.entry.outlived_by.is_some() {
            bail!("{}", last_of(&client.survey().await?, leader));
        }
        client.log.info(format_args!(
            "{} was asked, and has {} to hand over",
            candidate.id,
            humantime::format_duration(HAND_OVER_TIME)
        ));
    }
    let end = guard::now() + time_to_wait(client, ending, candidate).await?;
    let seen = client.wait_until_by(end, |survey| !is_led_by(survey, token)).await?;
    if seen.is_some() || client.is_late() {
        return Ok(());
    }
    let id = &candidate.id;
    let still = client.ending(token).await?;
    let mut over = None;
    match (still, force) {
        (None, _) => return Ok(()),
        // The leader has not renewed for longer than it may lead. If it lives, its command has been killed by now.
        (Some(Ending::Judged { mark, .. }), _) if still == Some(ending) => {
            over = Some(mark);
            client.log.info(format_args!("removing the entry of {id}, whose lease is over"));
        }
        (Some(Ending::WithItsProcess), _) => bail!("{}", last_of(&client.survey().await?, leader)),
        (Some(Ending::Never), _) => {
            client.log.warn(format_args!(
                "removing the entry of {id}: it has no lease, and would never end"
            ));
        }
        (Some(Ending::Within(_) | Ending::Granted | Ending::Judged { .. }), Force::IfDead) => {
            bail!(
                "{id} has not handed over, and lives: its lease was renewed meanwhile. Give its command time, or end it {}; \
             --even-if-alive removes its entry all the same, and two may lead then",
                place(candidate),
            )
        }
        (Some(Ending::Within(_) | Ending::Granted | Ending::Judged { .. }), Force::EvenIfAlive) => {
            client.log.warn(format_args!(
                "removing the entry of {id}, which lives: the promise is off; {}",
                if candidate.is_foreign() {
                    "it is not an elect run, and may go on beside the next leader unless it checks"
                } else {
                    "its command is killed once it finds out, and until then two may run"
                }
            ));
        }
    }
    client.remove(token, over).await
}

/// Returns whether another candidate follows the removed leader, or may still do so. Where candidates judge leases, the
/// entries of dead candidates stay in the queue, but a living candidate takes over within the time of a lease.
async fn is_followed(client: &ControlClient<'_>, leader: &Leader) -> anyhow::Result<bool> {
    let Some(Ending::Judged { within, .. }) = leader.ending else { return Ok(true) };
    let time = within.max(HAND_OVER_TIME);
    let end = guard::now() + time;
    let end = client.end.map_or(end, |own| own.min(end));
    let is_over =
        |seen: &ElectionSnapshot| !is_led_by(&seen.survey, leader.token) && is_decided(seen);
    let seen = client.wait(client.election, Some(end), is_over).await?;
    if seen.is_some() || client.is_late() || is_led_by(&client.survey().await?, leader.token) {
        return Ok(true);
    }
    client.log.warn(format_args!(
        "no waiting candidate has taken over within {}: they may be dead; the next leader removes dead ones",
        humantime::format_duration(time)
    ));
    Ok(false)
}

/// Returns a message that names the processes that keep an entry without a lease, and says how to end them.
fn last_of(survey: &Survey, leader: &Leader) -> String {
    let Candidate { id, pid, host, .. } = &leader.entry.candidate;
    let same = survey.leader.iter().find(|seen| seen.token == leader.token);
    let is_stopped = same.is_some_and(|seen| seen.entry.is_stopped);
    match same.and_then(|seen| seen.entry.outlived_by.as_deref()) {
        None if is_stopped => format!(
            "{id} is stopped and cannot hand over; on a local disk its entry lasts as long as it does. On {host}, \
             `kill -CONT {pid}` lets it hand over, and `kill -KILL {pid}` ends it and its command"
        ),
        None => format!(
            "{id} has not handed over; on a local disk its entry lasts as long as it does. On {host}, \
             `kill -KILL {pid}` ends it and its command"
        ),
        Some([]) => format!(
            "{id} is dead, but a process that cannot be seen from here keeps the lease: run `elect doctor` as root on \
             {host}, which tells how to find it"
        ),
        Some(holders) => {
            let numbers: Vec<String> = holders.iter().map(u32::to_string).collect();
            format!(
                "{id} is dead, but what its command started lives on and keeps the lease. On {host}, \
                 `kill -KILL {}` ends it",
                numbers.join(" ")
            )
        }
    }
}

/// Returns how long to wait until the leader has handed over, or its lease is over.
async fn time_to_wait(
    client: &ControlClient<'_>,
    ending: Ending,
    candidate: &Candidate,
) -> anyhow::Result<Duration> {
    Ok(match ending {
        Ending::Within(span) => span.mul_f64(DRIFT) + MARGIN,
        // The time of the client is over, so there is no wait.
        Ending::Granted if client.is_late() => Duration::ZERO,
        Ending::Granted => client.longest_ending().await?.mul_f64(DRIFT) + MARGIN,
        Ending::Judged { within, .. } => survey::time_until_over(within),
        // A foreign program does not answer.
        Ending::Never if candidate.is_foreign() => Duration::ZERO,
        Ending::Never | Ending::WithItsProcess => HAND_OVER_TIME,
    })
}

fn place(candidate: &Candidate) -> String {
    if candidate.is_foreign() {
        return "where it runs".to_owned();
    }
    format!("on {} (process {})", candidate.host, candidate.pid)
}
