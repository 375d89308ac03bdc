//! One function for each aspect of each law; [`conformance!`](crate::conformance) lists them.

mod ambiguity;
mod crowd;
mod order;
mod proof;
mod resigning;
mod surveys;
mod tokens;

pub use ambiguity::*;
pub use crowd::*;
pub use order::*;
pub use proof::*;
pub use resigning::*;
pub use surveys::*;
pub use tokens::*;
