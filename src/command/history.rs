//! `elect history`: reports on the last leaderships.

use std::num::NonZeroUsize;

use elect_api::{Cell, Division};

use super::attempts::{ATTEMPTS, aloud, insist};
use super::cells::UnknownName;
use super::runtime::block_on;
use super::survey::control;
use crate::config::{self, HistoryPlan};
use crate::election::history::History;
use crate::report::{self, HistoryReport, LeadershipReport, Log};

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
        let is_told =
            bytes.is_none() && UnknownName::warn_of(store, &plan.target.election, log).await;
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
