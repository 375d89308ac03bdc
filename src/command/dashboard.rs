//! `elect dashboard`: what monitoring systems are to be told about the metrics of this version.

use anyhow::Context;

use crate::cli::Dashboard;
use crate::report;

/// Prints it on stdout.
///
/// # Errors
/// When that cannot be written.
pub(super) fn dashboard(what: Dashboard) -> anyhow::Result<u8> {
    let printed = match what {
        Dashboard::Alerts { lasting } => report::print(&report::dashboard::alerts(lasting)),
        Dashboard::Grafana => report::print(report::dashboard::grafana()),
    };
    printed.context("cannot write to stdout")?;
    Ok(0)
}
