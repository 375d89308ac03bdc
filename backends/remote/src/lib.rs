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
//! | what the files and variables of a database's client say | [`Settings`], [`Address`] |
//! | the destinations of one database, and the session with one | [`Destination`], [`Encryption`], [`Opener`], [`Link`] |
//! | why a database does not answer, or not as asked | [`Failure`], [`Product`] |
//! | which store answers | [`Identity`] |
//! | dialling one server, with or without TLS, or by a proxy | [`dial`](fn@dial), [`connect`], [`Secured`], [`Stream`] |
//! | a connection that speaks HTTP, and a queue for it (with the feature `http`) | `Http`, `HttpQueue` |
//! | a proxy on the way to it (with the feature `proxy`) | `Proxy` |
//! | why a server cannot be used, as a type and in words | [`Trouble`] |
//! | what a server speaks instead | [`Protocol`] |
//! | the round over all servers for `elect doctor` | [`Round`], [`measure`] |
//! | versions that are too old, or have defects that affect elections | [`Versions`] |
//! | files that are read anew for each connection | [`Renewed`] |
//! | files of other tools that can have elect run a program | [`read_instructions`] |
//! | notices of changes, each passed on to all that wait for it | [`Notices`] |

mod credentials;
mod destination;
mod dial;
mod exposure;
mod failure;
#[cfg(feature = "http")]
mod http;
mod identity;
mod instructions;
mod link;
mod notices;
mod protocol;
#[cfg(feature = "proxy")]
mod proxy;
mod renewed;
mod round;
mod settings;
mod stream;
mod tls;
mod trouble;
mod url;
mod verifier;
mod versions;

pub use credentials::{Credentials, Password, Secret};
pub use destination::{Demand, Destination, Encryption, Wanted, Way};
pub use dial::{Secured, ask, connect, dial};
pub use exposure::is_open;
pub use failure::{Failure, Product, Refusal, unfit};
#[cfg(feature = "http")]
pub use http::{Http, HttpQueue, Unanswered, Unread, wire_form};
pub use identity::Identity;
pub use instructions::read_instructions;
pub use link::{FailureOf, Link, Opener, Pulse, Session};
pub use notices::{Notices, NoticesEnd};
pub use protocol::Protocol;
#[cfg(feature = "proxy")]
pub use proxy::Proxy;
pub use renewed::{Renewed, Tries};
pub use round::{ANSWER_TIMEOUT, Measured, Respondent, Round, measure, unnamed};
pub use settings::{Address, Parts, Settings, Variable, fuzz_url};
pub use stream::{Seen, Stream, Witness};
pub use tls::{
    Check, Pem, Tls, TlsSettings, pem_of, read, read_text, system_authorities, unreadable,
};
pub use trouble::{Hints, Trouble, in_full};
pub use url::{Host, Url};
pub use versions::{Defect, Version, Versions};
