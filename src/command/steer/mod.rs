//! Steering: asking something of an election, and waiting until it is so. Asking is all that happens here; who
//! takes part obeys.

mod desk;
mod force;
mod pause;
mod resign;

use desk::Desk;
pub(super) use pause::{pause, resume};
pub(super) use resign::resign;
