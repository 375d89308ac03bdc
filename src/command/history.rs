//! `elect history`: who has led, and how that ended.

use std::num::NonZeroUsize;

use anyhow::Context;
use elect_api::{Cell, Division};

use super::attempts::{aloud, insist};
use super::look::orders;
use super::runtime::block_on;
use crate::config::{self, HistoryPlan, OutputFormat};
use crate::election::history::History;
use crate::report::{self, HistoryReport, LeadershipReport, Log};

/// How often a store is asked.
const ATTEMPTS: u32 = 5;

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
        // They make for a hint only.
        Ok((found.bytes, orders(store, &plan.target.election).await.unwrap_or_default()))
    };
    let (bytes, orders) = block_on(aloud(log, &location, insist(&location, ATTEMPTS, ask)))?;
    let history = History::read(bytes.as_deref())?;
    if let (false, Ok(part)) =
        (orders.division().is_whole(), Division::part(&plan.target.election, 0))
    {
        log.warn(format_args!(
            "{} has {}, each with a history of its own: see {part}",
            plan.target.election,
            orders.division()
        ));
    } else if history.records().is_empty() {
        log.warn(format_args!(
            "nobody is known to have led {} at {location}; `elect run` does",
            plan.target.election
        ));
    }
    let report = reported(plan, &location, &history);
    let text = match plan.output {
        OutputFormat::Table => {
            format!("backend: {}\n{}", report::escape(&location), report.table())
        }
        OutputFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
        OutputFormat::Yaml => serde_yaml::to_string(&report)?,
    };
    report::print(&text).context("cannot write to stdout")?;
    Ok(0)
}

fn reported(plan: &HistoryPlan, location: &str, history: &History) -> HistoryReport {
    let records = history.records();
    let older = records.len().saturating_sub(plan.last.map_or(usize::MAX, NonZeroUsize::get));
    let leaderships = records[older..].iter().map(|record| LeadershipReport {
        token: record.token().get(),
        id: record.id().to_owned(),
        start: record.start().map(report::rfc3339),
        end: record.end().map(report::rfc3339),
        reason: record.reason().map(ToOwned::to_owned),
    });
    HistoryReport {
        election: plan.target.election.as_str().to_owned(),
        backend: location.to_owned(),
        leaderships: leaderships.collect(),
    }
}
