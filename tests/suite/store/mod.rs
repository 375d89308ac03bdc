//! Stores and what goes wrong in them: faults, refusals, foreign writers.

mod amazon;
pub(crate) mod balanced;
mod divided;
mod doorway;
mod flood;
pub(crate) mod full;
#[cfg(feature = "sim")]
mod fuzz;
pub(crate) mod garbled;
mod kubernetes;
pub(crate) mod mixed;
mod passwords;
mod power_cut;
pub(crate) mod real;
mod refusals;
mod renewal;
mod strangers;
mod texts;
