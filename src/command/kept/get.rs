//! `elect get`: what a leader keeps.

use anyhow::Context;

use super::{ATTEMPTS, with_store};
use crate::command::attempts::insist;
use crate::config::GetPlan;
use crate::report;

/// There is nothing.
const NOTHING: u8 = 1;

/// Prints the value as it was written. The exit code is 0 then, and [`NOTHING`] if there is none.
///
/// # Errors
/// The store refuses, does not answer, or keeps no values; stdout cannot be written.
pub(in crate::command) fn get(plan: &GetPlan) -> anyhow::Result<u8> {
    let GetPlan { backend, election, key } = plan;
    let value = with_store(backend, async |store, location| {
        insist(location, ATTEMPTS, async || store.get(election, key).await).await
    });
    let Some(value) = value.with_context(|| format!("cannot read {key}"))? else {
        return Ok(NOTHING);
    };
    report::write_out(&value).context("cannot write to stdout")?;
    Ok(0)
}
