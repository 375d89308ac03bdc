//! `elect redeem`: the last act of a crashed `elect run`, called by its guardian once the command
//! tree is proven dead.

use anyhow::Context;

use super::attempts::insist;
use super::runtime::block_on;
use crate::config::{self, RedeemPlan};
use crate::election::slots::redeem;

/// How often it is tried. After that the entry ends by itself, which is no later than it would be.
const ATTEMPTS: u32 = 9;

/// Gives the entry up. The exit code is 0.
///
/// # Errors
/// The store refuses, or does not answer.
pub(super) fn give_up(plan: &RedeemPlan) -> anyhow::Result<u8> {
    let store = config::connect(&plan.backend)?;
    let location = store.profile().location;
    let redeeming =
        insist(&location, ATTEMPTS, async || redeem(&*store, &plan.election, &plan.ticket).await);
    block_on(redeeming).context("cannot give the entry up")?;
    Ok(0)
}
