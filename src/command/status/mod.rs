//! `elect status`: reports on elections, once or with `--watch`.

mod watch;

use std::time::SystemTime;

use elect_api::{Finding, Severity, Store};

use super::attempts::ATTEMPTS;
use super::cells::UnknownName;
use super::runtime::block_on;
use super::survey::{FRESH, Reach, Snapshot, survey_closely};
use crate::config::{self, StatusPlan};
use crate::guard;
use crate::report::{self, ElectionStatus, Log, StatusReport, wall_clock};

/// The exit code if it is unknown whether some named election has a leader, and all others have one.
const UNKNOWN: u8 = 2;

/// Reports on the elections of a plan. The exit code is 0 if every named election has a leader, [`UNKNOWN`] if that
/// cannot be told, and else 1.
///
/// # Errors
/// The store cannot be reached or read, or stdout cannot be written.
pub(super) fn status(plan: &StatusPlan, log: &Log) -> anyhow::Result<u8> {
    if plan.watch { watch::watch(plan, log) } else { print(plan, log, wall_clock()) }
}

fn print(plan: &StatusPlan, log: &Log, now: SystemTime) -> anyhow::Result<u8> {
    let store = config::connect(&plan.backend)?;
    let profile = store.profile();
    let survey = async {
        let snapshot =
            survey_closely(&*store, &plan.elections, ATTEMPTS, Reach::Parts, log).await?;
        warn_of_unknown(&*store, &snapshot, plan, log).await;
        Ok(snapshot)
    };
    let snapshot = block_on(survey)?;
    for (name, error) in &snapshot.left_out {
        log.warn(format_args!("{name} is left out: {error:#}"));
    }
    let location = &profile.location;
    let report = StatusReport { elections: snapshot.statuses(&profile) };
    if report.elections.is_empty() {
        log.warn(format_args!("there are no elections at {location}; `elect run` creates one"));
    }
    for (election, leader) in report.elections.iter().flat_map(ElectionStatus::stopped) {
        let (id, host) =
            (&leader.candidate.id, leader.candidate.host.as_deref().unwrap_or_default());
        let pid = leader.candidate.pid.map(|pid| pid.to_string()).unwrap_or_default();
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
        let promise = report::promise(&profile);
        let notes = notes(&profile.cautions);
        let table = report.table(now, report::width());
        format!("backend: {}\n{promise}{notes}{table}", log.place(location))
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
async fn warn_of_unknown(store: &dyn Store, snapshot: &Snapshot, plan: &StatusPlan, log: &Log) {
    let named = snapshot.elections.iter().filter(|_| !plan.elections.is_empty());
    for seen in named.filter(|seen| seen.division.is_whole() && seen.pause.is_none()) {
        if seen.survey.entries().next().is_none() {
            UnknownName::warn_of(store, &seen.election, log).await;
        }
    }
}
