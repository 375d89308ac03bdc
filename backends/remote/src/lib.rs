//! What elect's stores on other machines share. It is not part of the contract between engine and store.
//!
//! A user gives hosts, passwords and certificates in the same way for every store, and reads the same words if one of
//! them is wrong.
//!
//! | what | where |
//! |---|---|
//! | the URL of a store: hosts, path, options | [`Url`], [`Host`] |
//! | user and password | [`Credentials`], [`Password`], [`Secret`] |
//! | the TLS options of a URL, or of another configuration | [`Tls`], [`TlsSettings`], [`Pem`] |
//! | several places of one database, and the session with one of them | [`Place`], [`Encryption`], [`Link`] |
//! | which store answers | [`Identity`] |
//! | dialling one server, with or without TLS, or by a proxy | [`dial`](fn@dial), [`connect`], [`Secured`], [`Stream`] |
//! | a proxy on the way to it (with the feature `proxy`) | `Proxy` |
//! | why a server cannot be used, as a type and in words | [`Trouble`] |
//! | what a server speaks instead | [`Protocol`] |
//! | the round over all servers for `elect doctor` | [`Round`], [`measure`] |
//! | files that are read anew for each connection | [`Renewed`] |

mod credentials;
mod dial;
mod exposure;
mod identity;
mod link;
mod place;
mod protocol;
#[cfg(feature = "proxy")]
mod proxy;
mod renewed;
mod round;
mod stream;
mod tls;
mod trouble;
mod url;
mod verifier;

pub use credentials::{Credentials, Password, Secret};
pub use dial::{Secured, ask, connect, dial};
pub use exposure::is_open;
pub use identity::Identity;
pub use link::{Link, Opener, Pulse, Session};
pub use place::{Demand, Encryption, Place, Way};
pub use protocol::Protocol;
#[cfg(feature = "proxy")]
pub use proxy::Proxy;
pub use renewed::{Renewed, Tries};
pub use round::{ANSWER_TIMEOUT, Measured, Respondent, Round, measure, unnamed};
pub use stream::{Seen, Stream, Witness};
pub use tls::{Check, Pem, Tls, TlsSettings, pem_of, read, system_authorities, unreadable};
pub use trouble::{Hints, Trouble, in_full};
pub use url::{Host, Url};
