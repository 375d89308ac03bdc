//! `elect pause` and `elect resume`: keep every candidate from leading for a while.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use elect_api::{Candidate, Division, Token, stamp};
use tokio::time::sleep;

use super::{ControlClient, request};
use crate::command::runtime::block_on;
use crate::command::survey::ElectionSnapshot;
use crate::config::{PausePlan, Target};
use crate::election::control::{Control, Request};
use crate::report::{self, Log};

/// Just less than a second, to round up.
const LEAST: Duration = Duration::from_nanos(999_999_999);

/// The pause to order.
struct Pause<'a> {
    reason: Option<&'a str>,
    /// The end of the pause in milliseconds since 1970. `None` for a pause without an end.
    end: Option<u64>,
}

/// Pauses an election, and waits until no candidate leads. The exit code is 0 then, or
/// [`NOT_ACQUIRED`](report::NOT_ACQUIRED) if the time ran out before.
///
/// # Errors
/// The store refuses access or does not answer. Or the election is unknown, and `--create` is missing.
pub(in crate::command) fn pause(
    plan: &PausePlan,
    now: SystemTime,
    log: &Log,
) -> anyhow::Result<u8> {
    let ask = &plan.ask;
    let end = plan.end.map(|end| end.from(now));
    if let Some(end) = end.filter(|end| *end <= now) {
        bail!("a pause until {} is over already", humantime::format_rfc3339_seconds(end));
    }
    let end = end.and_then(|end| end.duration_since(UNIX_EPOCH).ok());
    // The end is rounded up to whole seconds, as people are told seconds.
    let end = end.map(|end| (end + LEAST).as_secs().saturating_mul(1000));
    let pause = Pause { reason: ask.reason.as_deref(), end };
    block_on(async {
        let client =
            ControlClient::new(&ask.target.backend, &ask.target.election, ask.timeout, log)?;
        let division = client.asked().await?.division();
        if !plan.create
            && let Some(unknown) = client.unknown().await?
        {
            bail!(unknown.unless("--create pauses it all the same"));
        }
        if !division.is_whole() {
            return pause_parts(&client, &pause, division).await;
        }
        stop_leader(&client, &pause).await?;
        let leader = client.survey().await?.leader.map(|leader| leader.entry.candidate);
        if let Some(Candidate { id, .. }) = leader.as_ref().filter(|it| it.is_foreign()) {
            client
                .log
                .warn(format_args!("{id} leads, is not an elect run, and does not heed the pause"));
        }
        let why = late(leader.as_ref());
        let is_over =
            |seen: &ElectionSnapshot| seen.survey.leader.is_none() || seen.pause.is_none();
        match client.wait_until_seen(&why, is_over).await? {
            Some(seen) if seen.pause.is_none() => bail!(pause.why_over()),
            Some(_) => pause.done(&client),
            None => Ok(client.gives_up(&why)),
        }
    })
}

impl Pause<'_> {
    /// Prints that the election is paused.
    fn done(&self, client: &ControlClient<'_>) -> anyhow::Result<u8> {
        let until = self.end.and_then(stamp::read).map(humantime::format_rfc3339_seconds);
        let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
        let line = format!("{} is paused{until}: nobody leads\n", client.election);
        report::print(&line).context("cannot write to stdout")?;
        Ok(0)
    }

    /// Returns why the pause does not last any more.
    fn why_over(&self) -> &'static str {
        if self.end.is_some_and(|end| end <= stamp::display()) { LAPSED } else { RESUMED }
    }
}

const LAPSED: &str = "the pause ended before the leader had stopped";

const RESUMED: &str = "the election is no longer paused: it was resumed";

/// The time between two looks at whether the pause still lasts, where no survey shows it.
const AGAIN: Duration = Duration::from_secs(1);

/// Returns the message that the leader has not stopped yet. No other candidate can lead by now, so it led when
/// the pause began.
fn late(leader: Option<&Candidate>) -> String {
    let leader = match leader {
        Some(Candidate { id, host, pid, .. }) => format!("{id} (process {pid} on {host})"),
        None => "its leader".to_owned(),
    };
    format!("the election is paused, and {leader} has not stopped yet")
}

/// Pauses an election that is divided. The leader of a part leads an election of its own, and obeys the orders
/// to the whole election.
async fn pause_parts(
    client: &ControlClient<'_>,
    pause: &Pause<'_>,
    division: Division,
) -> anyhow::Result<u8> {
    client.ask(|control| paused(control, pause, None)).await?;
    for slot in client.slots().await? {
        stop_leader(&client.at(&slot)?, pause).await?;
    }
    let why = late(None);
    let is_over = tokio::select! {
        is_over = client.wait_for_parts(division, &why, |survey| survey.leader.is_none()) => is_over?,
        end = until_resumed(client, pause) => return end,
    };
    if !is_paused(client).await? {
        bail!(pause.why_over());
    }
    if is_over { pause.done(client) } else { Ok(client.gives_up(&why)) }
}

/// Returns an error once the pause is over.
async fn until_resumed(client: &ControlClient<'_>, pause: &Pause<'_>) -> anyhow::Result<u8> {
    loop {
        sleep(AGAIN).await;
        if !is_paused(client).await? {
            bail!(pause.why_over());
        }
    }
}

/// Orders the pause, and orders the leader to give up leadership.
async fn stop_leader(client: &ControlClient<'_>, pause: &Pause<'_>) -> anyhow::Result<()> {
    let is_news = !is_paused(client).await?;
    let before = client.holder().await?;
    client.ask(|control| paused(control, pause, before.filter(|_| is_news))).await?;
    // A candidate may have won after the first look, but before the pause began, and run its command. A
    // candidate that has won since then starts nothing.
    let after = client.holder().await?;
    if is_news && after.is_some() && after != before {
        client.ask(|control| paused(control, pause, after)).await?;
    }
    Ok(())
}

async fn is_paused(client: &ControlClient<'_>) -> anyhow::Result<bool> {
    Ok(client.asked().await?.pausing().is_some())
}

/// Adds the pause to the orders, and the order that the leader with this token gives up leadership. An earlier
/// pause with the same reason keeps its record, and gets the new end. So does any earlier pause if no reason is
/// given now.
fn paused(control: Control, pause: &Pause<'_>, token: Option<Token>) -> Control {
    let control = control.as_of(stamp::display());
    let request = request(pause.reason);
    let keeps = |known: &&Request| pause.reason.is_none() || known.reason() == pause.reason;
    let known = control.pausing().filter(keeps).cloned();
    let asked = known.unwrap_or_else(|| request.clone()).until(pause.end);
    let control = control.paused(Some(asked));
    match token.filter(|token| !control.ends(*token)) {
        Some(token) => control.stepping_down(token, request),
        None => control,
    }
}

/// Ends a pause, and prints whether there was one.
///
/// # Errors
/// The store refuses access, or does not answer.
pub(in crate::command) fn resume(target: &Target, log: &Log) -> anyhow::Result<u8> {
    block_on(async {
        let client = ControlClient::new(&target.backend, &target.election, None, log)?;
        let mut pauses = Vec::new();
        for slot in client.slots().await? {
            pauses.extend(end_pause(&client.at(&slot)?).await?);
        }
        pauses.extend(end_pause(&client).await?);
        if pauses.is_empty() {
            client.warn_if_unknown().await?;
        }
        let line =
            format!("{} {}\n", target.election, outcome_of_resume(&pauses, stamp::display()));
        report::print(&line).context("cannot write to stdout")?;
        Ok(0)
    })
}

/// Removes the pause of one election, and returns it. A pause whose end has passed is removed too, as older
/// versions of elect do not know that it is over.
async fn end_pause(client: &ControlClient<'_>) -> anyhow::Result<Option<Request>> {
    let pause = client.ever_asked().await?.pausing().cloned();
    client.ask(|control| control.paused(None)).await?;
    Ok(pause)
}

/// Returns what happened to an election with these pauses.
fn outcome_of_resume(pauses: &[Request], now: u64) -> String {
    match pauses.iter().map(|pause| pause.end().unwrap_or(u64::MAX)).max() {
        None => "was not paused".to_owned(),
        Some(end) if end > now => "is resumed".to_owned(),
        Some(end) => {
            let end = stamp::read(end).map(humantime::format_rfc3339_seconds);
            let when = end.map(|end| format!(" at {end}")).unwrap_or_default();
            format!("is resumed; its pause had ended{when}, except for older versions of elect")
        }
    }
}
