//! One function for each aspect of each law; [`conformance!`](crate::conformance) lists them.

mod ambiguity;
mod changes;
mod crowd;
mod examination;
mod expiry;
mod forgetting;
mod last_words;
mod notes;
mod order;
mod orders;
mod proof;
mod removal;
mod resigning;
mod surveys;
mod tickets;
mod tokens;

pub use ambiguity::*;
pub use changes::*;
pub use crowd::*;
pub use examination::*;
pub use expiry::*;
pub use forgetting::*;
pub use last_words::*;
pub use notes::*;
pub use order::*;
pub use orders::*;
pub use proof::*;
pub use removal::*;
pub use resigning::*;
pub use surveys::*;
pub use tickets::*;
pub use tokens::*;
