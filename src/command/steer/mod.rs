//! Steering: asking something of an election, and waiting until it is so. Asking is all that happens here; who
//! takes part obeys. Only `--force` goes further, where somebody does not, and `elect forget`, where nobody is left.

mod control_client;
mod forget;
mod pause;
mod priority;
mod resign;

use control_client::ControlClient;
pub(super) use control_client::who_asks;
pub(super) use forget::forget;
pub(super) use pause::{pause, resume};
pub(super) use priority::preempt;
pub(super) use priority::priority;
pub(super) use resign::resign;
