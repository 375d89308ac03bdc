//! The laws of stores: one function for each aspect of each law.
//! [`conformance!`](crate::conformance) lists them.

mod ambiguity;
mod changes;
mod control;
mod crowd;
mod examination;
mod expiry;
mod fences;
mod forgetting;
mod last_words;
mod leader_cells;
mod order;
mod proof;
mod removal;
mod resigning;
mod sharing;
mod surveys;
mod tickets;
mod tokens;
mod values;

pub use ambiguity::*;
pub use changes::*;
pub use control::*;
pub use crowd::*;
pub use examination::*;
pub use expiry::*;
pub use fences::*;
pub use forgetting::*;
pub use last_words::*;
pub use leader_cells::*;
pub use order::*;
pub use proof::*;
pub use removal::*;
pub use resigning::*;
pub use sharing::*;
pub use surveys::*;
pub use tickets::*;
pub use tokens::*;
pub use values::*;
