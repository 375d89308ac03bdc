//! The store on Redis and Valkey: hashes of rows.
//!
//! # Theory of operation
//!
//! This crate is a [`Table`](elect_record::table::Table). `elect_record` builds an election store on top of it, and
//! documents who leads, for how long, and how lost requests are handled. Each row is a field of a hash:
//!
//! ```text
//! {elect}             id                     the id of the store, which its maker has drawn
//! {elect}             ELECTION/leader        the tag and the head; ELECTION/leader/cells has the cells
//! {elect}:ELECTION    WAITER                 the same for a waiter
//! ```
//!
//! The records of all leaders, their fences and the id stand in one key (`script.rs`). So a flush or an eviction cannot
//! take a record and leave the id. No key expires.
//!
//! **Writing** is one script. It compares the epoch and the tag, tells those who wait, and writes the row. The tag is a
//! random number, which the writer draws.
//!
//! **The epoch** names the store (its id) and the history of the server (`run_id`, which each start draws, and
//! `master_replid`, which each promotion draws). So a restart, a fail-over and a flush each begin another epoch.
//!
//! **The promise is weak.** A primary that was replaced without being ended may acknowledge renewals while another
//! candidate leads by its successor. Nothing that a client can ask for excludes that.
//!
//! **Unknown outcomes**: a request without an answer may have been carried out. An error of the server itself says
//! that nothing was written: the write is the last step of a script. The errors of proxies do not say so.
//!
//! **Waiting**: `SUBSCRIBE` to a channel of the row, on the connection of all other requests (the protocol RESP3).
//! Renewals send no notice.
//!
//! **Connections**: a process has one, with the primary: the one that a Sentinel names, or the node of a cluster that
//! has the slot of the prefix (`session.rs`). The crate `redis` speaks the protocol, and `elect_remote` makes the
//! connection.

mod address;
mod error;
mod examine;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod script;
mod session;
mod table;

use elect_api::{Error, Store, StoreKind};
use elect_record::RecordStore;
use elect_record::table::TableDocuments;
use elect_remote::Product;

/// The scheme of this store's URLs. `rediss`, `valkey` and `valkeys` are others.
pub const SCHEME: &str = "redis";

/// The words of messages about this kind of database.
const PRODUCT: Product = Product {
    name: "Redis",
    scheme: SCHEME,
    names: ["ca", "cert", "key"],
    no_tls: "it does not speak TLS, which the scheme asks for: set tls-port there, or write redis://",
    password: "REDISCLI_AUTH",
    hang_up: "",
};

/// The description of this kind of store, which elect needs before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: PRODUCT.name,
    schemes: &[SCHEME, "rediss", "valkey", "valkeys"],
    example: "redis://HOST",
    nicknames: &["sentinel"],
    lacks: "a host is missing: write redis://HOST",
    manual: ("redis", include_str!("manual.md")),
    credentials: None,
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Prepares to use the hashes of a server: `redis://[USER[:PASSWORD]@][HOST[:PORT],...][/NUMBER][?OPTION=VALUE]`.
///
/// Nothing is sent before the first call that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no such store,
/// or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let documents = TableDocuments::new(table::RedisTable::new(url)?);
    Ok(Box::new(RecordStore::new(documents)))
}

/// The table in a server, for tests of what it promises. The URL and the errors are as for [`connect`].
///
/// # Errors
/// As [`connect`].
pub fn table(url: &str) -> Result<impl elect_record::table::Table + use<>, Error> {
    table::RedisTable::new(url)
}
