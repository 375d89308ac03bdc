//! `elect status`: who leads and who waits.

use std::time::SystemTime;

use anyhow::Context;

use super::attempts::aloud;
use super::look::{FRESH, Reach, look};
use super::runtime::block_on;
use crate::config::{self, OutputFormat, StatusPlan};
use crate::guard;
use crate::report::{self, Log, StatusReport};

/// How often a store is asked.
const ATTEMPTS: u32 = 5;

/// Reports on the elections of a plan. The exit code is 0 if every named one is led, else 1.
///
/// # Errors
/// The store cannot be reached or read, or stdout cannot be written.
pub(super) fn status(plan: &StatusPlan, log: &Log, now: SystemTime) -> anyhow::Result<u8> {
    let store = config::connect(&plan.backend)?;
    let profile = store.profile();
    let looking = look(&*store, &plan.elections, ATTEMPTS, Reach::Parts);
    let snapshot = block_on(aloud(log, &profile.location, looking))?;
    for (name, error) in &snapshot.left_out {
        log.warn(format_args!("{name} is left out: {error:#}"));
    }
    let location = &profile.location;
    let report = StatusReport { elections: snapshot.statuses(&profile) };
    if report.elections.is_empty() {
        log.warn(format_args!("there are no elections at {location}; `elect run` makes one"));
    }
    let age = guard::now().since(snapshot.at);
    if age >= FRESH {
        log.warn(format_args!(
            "some of this is {} old: the store answers slowly",
            report::age(age)
        ));
    }
    let text = match plan.output {
        OutputFormat::Table => {
            format!("backend: {}\n{}", report::escape(location), report.table(now))
        }
        OutputFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
        OutputFormat::Yaml => serde_yaml::to_string(&report)?,
    };
    report::print(&text).context("cannot write to stdout")?;
    Ok(u8::from(!plan.elections.is_empty() && !report.is_led()))
}
