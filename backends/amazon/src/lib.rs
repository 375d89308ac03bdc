//! What elect's stores on Amazon's services share. It is not part of the contract between engine and store.
//!
//! | what | where |
//! |---|---|
//! | region, endpoint and profile, from the URL, Amazon's variables and files | [`Service`] |
//! | credentials that are renewed before they end, and signatures by them | [`Signer`] |
//! | how far this machine's clock is from the service's | [`Skew`] |

mod address;
mod credentials;
mod fetch;
mod profile;
mod program;
mod skew;
mod sources;

pub use address::{OPTIONS, Service, order};
pub use credentials::{Credential, Refused, Signer};
pub use skew::Skew;

/// The names of the settings for the authority, the client's certificate, and its key.
pub const NAMES: [&str; 3] = ["ca", "cert", "key"];
