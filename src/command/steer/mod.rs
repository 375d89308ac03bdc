//! Steering: asking something of an election, and waiting until it is so. Asking is all that happens here; who
//! takes part obeys. Only `--force` goes further, where somebody does not.

mod control_client;
mod pause;
mod priority;
mod resign;

use control_client::ControlClient;
pub(super) use control_client::who_asks;
pub(super) use pause::{pause, resume};
pub(super) use priority::preempt;
pub(super) use priority::priority;
pub(super) use resign::resign;
