//! `elect redeem`: the last act of a crashed `elect run`, called by its guardian once the command
//! tree is proven dead.

use std::time::Duration;

use anyhow::Context;

use crate::config::{self, RedeemPlan};

/// How often it is tried. After that the entry ends by itself, which is no later than it would be.
const ATTEMPTS: u32 = 8;
/// The longest that one attempt may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Gives the entry up. The exit code is 0.
///
/// # Errors
/// The store refuses, or does not answer.
pub(super) fn redeem(plan: &RedeemPlan) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let store = config::connect(&plan.backend)?;
    runtime.block_on(async {
        let mut last = anyhow::anyhow!("the store does not answer");
        for attempt in 0..ATTEMPTS {
            let redeem = store.redeem(&plan.election, &plan.ticket);
            match tokio::time::timeout(ATTEMPT_TIMEOUT, redeem).await {
                Ok(Ok(())) => return Ok(0),
                Ok(Err(error)) if error.is_permanent() => return Err(error.into()),
                Ok(Err(error)) => last = error.into(),
                Err(_) => {}
            }
            tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(attempt)).await;
        }
        Err(last).context("cannot give the entry up")
    })
}
