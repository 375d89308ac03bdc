//! `elect resign --force`: a leader's entry whose holder does not hand over.

use std::time::Duration;

use anyhow::bail;
use elect_api::{Candidate, Ending, Leader, Survey};

use super::ControlClient;
use super::control_client::is_led_by;
use crate::config::Force;
use crate::guard;

/// How long a holder has for its answer whose entry has no lease.
const PATIENCE: Duration = Duration::from_secs(15);
/// By how much the store's clock may be slower than ours: as much as with the default of --max-clock-drift.
const DRIFT: f64 = 1.1;
/// For a store that is late with what is over.
const MARGIN: Duration = Duration::from_secs(1);

/// Waits until the leader, which was asked if it can be, has handed over, or its lease must be over. Removes what is
/// there then, if nobody holds it or `force` says so. Returns when the entry is gone, or nobody wants to wait
/// any longer.
///
/// # Errors
/// Its holder lives; or the store refuses us.
pub(super) async fn see_off(
    client: &ControlClient<'_>,
    leader: &Leader,
    force: Force,
) -> anyhow::Result<()> {
    let (candidate, token) = (&leader.entry.candidate, leader.token);
    let Some(ending) = client.ending(token).await? else { return Ok(()) };
    let end = guard::now() + patience(ending, candidate);
    let seen = client.wait_until_by(end, |survey| !is_led_by(survey, token)).await?;
    if seen.is_some() || client.is_late() {
        return Ok(());
    }
    let id = &candidate.id;
    match (client.ending(token).await?, force) {
        (None, _) => return Ok(()),
        (Some(Ending::WithItsProcess), _) => bail!("{}", last_of(&client.survey().await?, leader)),
        (Some(Ending::Never), _) => {
            client
                .log()
                .warn(format_args!("the entry of {id} has no lease, and so no end: it is removed"));
        }
        (Some(Ending::Within(_)), Force::IfDead) => bail!(
            "{id} has not handed over, and lives: its lease was renewed meanwhile. Give its command time, or end it {}; \
             --even-if-alive takes its entry all the same, and two may lead then",
            place(candidate),
        ),
        (Some(Ending::Within(_)), Force::EvenIfAlive) => client.log().warn(format_args!(
            "the promise is off: the entry of {id} is removed, which lives; {}",
            if candidate.is_foreign() {
                "it is no elect, and leads on beside the next one unless it looks"
            } else {
                "its command is killed once it finds out, and until then two may run"
            }
        )),
    }
    client.remove(token).await
}

/// Which processes keep an entry that lasts as long as they do, and how they end.
fn last_of(survey: &Survey, leader: &Leader) -> String {
    let Candidate { id, pid, host, .. } = &leader.entry.candidate;
    let same = survey.leader.iter().find(|seen| seen.token == leader.token);
    match same.and_then(|seen| seen.entry.outlived_by.as_deref()) {
        None => format!(
            "{id} has not handed over, and here an entry lasts as long as a process of its holder lives: nobody can \
             remove it, but `kill -KILL {pid}` on {host} ends it, and its command with it"
        ),
        Some([]) => format!(
            "{id} is dead, but a process that cannot be seen from here keeps the lease: run `elect doctor` as root on \
             {host}"
        ),
        Some(holders) => {
            let numbers: Vec<String> = holders.iter().map(u32::to_string).collect();
            format!(
                "{id} is dead, but what its command started lives on and keeps the lease: nobody can remove it, but \
                 `kill -KILL {}` on {host} ends it",
                numbers.join(" ")
            )
        }
    }
}

/// For how long the holder of an entry is waited for.
fn patience(ending: Ending, candidate: &Candidate) -> Duration {
    match ending {
        Ending::Within(span) => span.mul_f64(DRIFT) + MARGIN,
        // There is nobody to answer.
        Ending::Never if candidate.is_foreign() => Duration::ZERO,
        Ending::Never | Ending::WithItsProcess => PATIENCE,
    }
}

fn place(candidate: &Candidate) -> String {
    if candidate.is_foreign() {
        return "where it runs".to_owned();
    }
    format!("on {} (process {})", candidate.host, candidate.pid)
}
