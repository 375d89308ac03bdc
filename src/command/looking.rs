//! Subcommands that look at elections, or at the leadership that a command runs under: `elect status`, `history`,
//! `wait` and `check`.

use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime};
use std::{fmt, io};

use anyhow::{Context, anyhow, bail};
use elect_api::path::{Cause, Doubt};
use elect_api::{Cell, Division, ElectionName, Finding, Severity, Store};

use super::attempts::{aloud, insist};
use super::kept::Stranger;
use super::look::{
    Awaited, ElectionSnapshot, FRESH, Proof, Reach, Rhythm, Snapshot, Watcher, control,
    look_closely, until,
};
use super::runtime::block_on;
use crate::config::{
    self, CheckPlan, Goal, HistoryPlan, StatusPlan, WaitPlan, is_known_as, nearest_names,
};
use crate::election::control::Control;
use crate::election::history::History;
use crate::guard::{self, lease};
use crate::report::{
    self, ElectionStatus, HistoryReport, LeadershipReport, Log, NOT_ACQUIRED, StatusReport,
};

/// The exit code if it is unknown whether some named election has a leader, and all others have one.
const UNKNOWN: u8 = 2;

/// The number of attempts for a question to the store.
const ATTEMPTS: u32 = 5;

/// Reports on the elections of a plan. The exit code is 0 if every named election has a leader, [`UNKNOWN`] if that
/// cannot be told, and else 1.
///
/// # Errors
/// The store cannot be reached or read, or stdout cannot be written.
pub(super) fn status(plan: &StatusPlan, log: &Log, now: SystemTime) -> anyhow::Result<u8> {
    let store = config::connect(&plan.backend)?;
    let profile = store.profile();
    let looking = async {
        let looking = look_closely(&*store, &plan.elections, ATTEMPTS, Reach::Parts);
        let snapshot = aloud(log, &profile.location, looking).await?;
        warn_of_strangers(&*store, &snapshot, plan, log).await;
        Ok(snapshot)
    };
    let snapshot = block_on(looking)?;
    for (name, error) in &snapshot.left_out {
        log.warn(format_args!("{name} is left out: {error:#}"));
    }
    let location = &profile.location;
    let report = StatusReport { elections: snapshot.statuses(&profile) };
    if report.elections.is_empty() {
        log.warn(format_args!("there are no elections at {location}; `elect run` creates one"));
    }
    for (election, leader) in report.elections.iter().flat_map(ElectionStatus::stopped) {
        let (id, host) = (&leader.who.id, leader.who.host.as_deref().unwrap_or_default());
        let pid = leader.who.pid.map(|pid| pid.to_string()).unwrap_or_default();
        log.warn(format_args!(
            "{id} leads {election}, and its process is stopped: `kill -CONT {pid}` on {host} lets it go on"
        ));
    }
    let age = guard::now().since(snapshot.at);
    if age >= FRESH {
        log.warn(format_args!(
            "some of this is {} old: the store answers slowly",
            report::age(age)
        ));
    }
    report::print_report(&report, plan.output, || {
        let notes = notes(&profile.cautions);
        let table = report.table(now, report::width());
        format!("backend: {}\n{notes}{table}", log.place(location))
    })?;
    Ok(match plan.elections.is_empty() || report.is_led() {
        true => 0,
        false if report.is_unknown() => UNKNOWN,
        false => 1,
    })
}

/// Returns the notes about a store, one per line.
fn notes(cautions: &[Finding]) -> String {
    let notes = cautions.iter().filter(|finding| finding.severity == Severity::Note);
    let line = |Finding { what, way_out, .. }: &Finding| {
        report::escape(&format!("note: {what}; {way_out}")) + "\n"
    };
    notes.map(line).collect()
}

/// Warns about each named election of which the store knows nothing.
async fn warn_of_strangers(store: &dyn Store, snapshot: &Snapshot, plan: &StatusPlan, log: &Log) {
    let named = snapshot.elections.iter().filter(|_| !plan.elections.is_empty());
    for seen in named.filter(|seen| seen.division.is_whole() && seen.pause.is_none()) {
        if seen.survey.entries().next().is_none() {
            Stranger::warn_of(store, &seen.election, log).await;
        }
    }
}

/// Reports on the last leaderships. The exit code is 0.
///
/// # Errors
/// The store cannot be reached or read, or stdout cannot be written.
pub(super) fn history(plan: &HistoryPlan, log: &Log) -> anyhow::Result<u8> {
    let store = config::connect(&plan.target.backend)?;
    let location = store.profile().location;
    let store = &*store;
    let ask = async || {
        let found = store.read(&plan.target.election, Cell::History).await?;
        // The orders are needed for a hint only, so a failure to read them is ignored.
        Ok((found.bytes, control(store, &plan.target.election).await.unwrap_or_default()))
    };
    let (bytes, control, is_told) = block_on(async {
        let (bytes, control) = aloud(log, &location, insist(&location, ATTEMPTS, ask)).await?;
        let is_told = bytes.is_none() && Stranger::warn_of(store, &plan.target.election, log).await;
        anyhow::Ok((bytes, control, is_told))
    })?;
    let history = History::read(bytes.as_deref())?;
    if let (false, Ok(part)) =
        (control.division().is_whole(), Division::part(&plan.target.election, 0))
    {
        log.warn(format_args!(
            "{} has {}, each with its own history: see {part}",
            plan.target.election,
            control.division()
        ));
    } else if history.records().is_empty() && !is_told {
        log.warn(format_args!("{} has no history at {location}", plan.target.election));
    }
    let report = history_report(plan, &location, &history);
    report::print_report(&report, plan.output, || {
        format!("backend: {}\n{}", log.place(&location), report.table(report::width()))
    })?;
    Ok(0)
}

fn history_report(plan: &HistoryPlan, location: &str, history: &History) -> HistoryReport {
    let records = history.records();
    let older = records.len().saturating_sub(plan.last.map_or(usize::MAX, NonZeroUsize::get));
    let leaderships = records[older..].iter().map(LeadershipReport::new);
    HistoryReport {
        election: plan.target.election.as_str().to_owned(),
        backend: location.to_owned(),
        leaderships: leaderships.collect(),
    }
}

/// Waits until the goal is met. The exit code is 0 then, and [`NOT_ACQUIRED`] if the time ran out before.
///
/// # Errors
/// The store refuses access, or did not answer once before the time ran out.
pub(super) fn wait(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    block_on(look_on(plan, &log.about(&plan.target.election)))
}

async fn look_on(plan: &WaitPlan, log: &Log) -> anyhow::Result<u8> {
    let end = plan.timeout.map(|timeout| guard::now() + timeout);
    let store = config::connect(&plan.target.backend)?;
    if expect_one(store.as_ref(), &plan.target.election).await? {
        Stranger::warn_of(store.as_ref(), &plan.target.election, log).await;
    }
    let watcher = Watcher::over(store, vec![plan.target.election.clone()], Rhythm::Calm)?;
    let limit = humantime::format_duration(plan.timeout.unwrap_or_default());
    match until(watcher, end, log, |seen| is_met(&plan.goal, seen)).await? {
        Awaited::So(_) => Ok(0),
        Awaited::NotSo(seen) => {
            log.warn(format_args!("{}", in_vain(&plan.goal, &limit, &seen)));
            Ok(NOT_ACQUIRED)
        }
        Awaited::Unknown(reason) => bail!("no answer within {limit}: {reason}"),
    }
}

/// Checks that the election is not divided. If the store does not answer now, the caller goes on waiting. Returns
/// whether the election is known to have no orders.
async fn expect_one(store: &dyn Store, election: &ElectionName) -> anyhow::Result<bool> {
    let location = store.profile().location;
    let asked = insist(&location, 1, async || store.read(election, Cell::Control).await);
    let Ok(kept) = asked.await else { return Ok(false) };
    let division = Control::read(kept.bytes.as_deref()).unwrap_or_default().division();
    if division.is_whole() {
        return Ok(kept.bytes.is_none());
    }
    bail!("{election} has {division}: name one of them, such as {}", Division::part(election, 0)?);
}

/// Returns whether the goal is met. A leader that may be dead meets no goal: further looks tell whether it lives.
fn is_met(goal: &Goal, seen: &ElectionSnapshot) -> bool {
    let leader = seen.survey.leader.as_ref().map(|leader| leader.entry.candidate.id.as_str());
    let leads = seen.proof != Proof::Missing;
    match goal {
        Goal::Led => leads && leader.is_some(),
        Goal::Vacant => leader.is_none(),
        Goal::LedBy(text) => leads && leader.is_some_and(|id| is_known_as(id, text)),
    }
}

/// Returns the message for a goal that was not met in time.
fn in_vain(goal: &Goal, limit: &impl fmt::Display, seen: &ElectionSnapshot) -> String {
    let now = leader_in_words(seen);
    match goal {
        Goal::Led => format!("no leader within {limit}: {now}"),
        Goal::Vacant => format!("not vacant within {limit}: {now}"),
        Goal::LedBy(text) => {
            let meant = nearest_names(text, ["leader", "vacant"].into_iter(), 1);
            let meant = meant.first().map(|word| format!("; did you mean --for {word}?"));
            let text = report::escape(text);
            format!("no candidate {text} led within {limit}: {now}{}", meant.unwrap_or_default())
        }
    }
}

fn leader_in_words(seen: &ElectionSnapshot) -> String {
    match (&seen.survey.leader, &seen.pause) {
        (Some(leader), _) if seen.proof == Proof::Missing => format!(
            "{} has the lease, and may be dead: it was not seen to renew it",
            leader.entry.candidate.id
        ),
        (Some(leader), _) => format!("{} leads", leader.entry.candidate.id),
        (None, Some(pause)) => {
            format!("nobody leads, the election is {}", pause.in_words("paused"))
        }
        (None, None) => "nobody leads".to_owned(),
    }
}

/// The time that a leadership has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The leadership has ended, or can no longer be proven.
    Nothing,
    /// The leadership has not begun.
    NotYet,
    /// The time that is left unless the lease is renewed.
    For(Duration),
    /// The lease does not end by time.
    NoLimit,
}

/// Prints the time that is left. The exit code is 0 if it is enough, else 1.
///
/// `read` reads the lease file that `elect run` keeps.
///
/// # Errors
/// The lease file cannot be read, or stdout cannot be written.
pub(super) fn check<R>(plan: &CheckPlan, read: R) -> anyhow::Result<u8>
where
    R: FnOnce(&CheckPlan) -> anyhow::Result<Left>,
{
    let left =
        read(plan).with_context(|| format!("cannot read the lease {}", plan.lease.display()))?;
    report::print(&left_in_words(left)).context("cannot write to stdout")?;
    Ok(u8::from(!is_enough(left, plan.remaining)))
}

/// Reads the lease file that `elect run` keeps.
///
/// # Errors
/// There is no lease file, it cannot be read, or another user may have put it there.
pub(super) fn read_lease(plan: &CheckPlan) -> anyhow::Result<Left> {
    let view = lease::read(&plan.lease, plan.owner).map_err(|error| match doubt(&error) {
        Some(Doubt { cause: Cause::Owner(owner), .. }) => {
            anyhow!("{error}, or say with --lease-owner {owner} that you trust them")
        }
        _ => error.into(),
    })?;
    let view = view.context(
        "it is no lease file of elect's: name the one that another elect keeps with --lease-file",
    )?;
    let left = match view.until {
        guard::Until::Unlimited => None,
        guard::Until::Over => return Ok(Left::Nothing),
        guard::Until::NotYet => return Ok(Left::NotYet),
        guard::Until::Instant(end) => {
            let now = guard::now();
            if end <= now {
                return Ok(Left::Nothing);
            }
            Some(end.since(now))
        }
    };
    Ok(match (left, view.grace) {
        (left, None) => left.map_or(Left::NoLimit, Left::For),
        // No process is killed at the end, and the end may come at any time. So only the grace can be relied on.
        (Some(left), Some(grace)) if left < grace => Left::Nothing,
        (_, Some(grace)) => Left::For(grace),
    })
}

fn doubt(error: &io::Error) -> Option<&Doubt> {
    error.get_ref()?.downcast_ref()
}

const fn is_enough(left: Left, wanted: Duration) -> bool {
    match left {
        Left::Nothing | Left::NotYet => false,
        Left::For(left) => left.as_nanos() >= wanted.as_nanos(),
        Left::NoLimit => true,
    }
}

fn left_in_words(left: Left) -> String {
    match left {
        Left::Nothing => "leadership has ended\n".to_owned(),
        Left::NotYet => "not leading\n".to_owned(),
        Left::For(left) => {
            format!("leading, {}.{:03}s left\n", left.as_secs(), left.subsec_millis())
        }
        Left::NoLimit => "leading, no time limit\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CheckPlan, Left, check, is_enough, left_in_words};

    #[test]
    fn enough_is_at_least_what_was_asked_for() {
        let second = Duration::from_secs(1);
        assert!(is_enough(Left::NoLimit, Duration::MAX));
        assert!(is_enough(Left::For(second), second));
        assert!(!is_enough(Left::For(Duration::from_nanos(999_999_999)), second));
        assert!(is_enough(Left::For(Duration::ZERO), Duration::ZERO));
        assert!(!is_enough(Left::Nothing, Duration::ZERO));
    }

    #[test]
    fn what_is_said() {
        assert_eq!(left_in_words(Left::Nothing), "leadership has ended\n");
        assert_eq!(
            left_in_words(Left::For(Duration::from_millis(1_050))),
            "leading, 1.050s left\n"
        );
        assert_eq!(left_in_words(Left::NoLimit), "leading, no time limit\n");
    }

    #[test]
    fn a_lease_that_cannot_be_read_is_named() {
        let plan = CheckPlan { remaining: Duration::ZERO, lease: "/no/such".into(), owner: None };
        let error = check(&plan, |_| Err(anyhow::anyhow!("gone"))).unwrap_err();
        assert_eq!(format!("{error:#}"), "cannot read the lease /no/such: gone");
    }
}
