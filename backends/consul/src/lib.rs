//! The store on Consul: one key of its KV for each row.
//!
//! # Theory of operation
//!
//! This crate is a [`Table`](elect_record::table::Table). `elect_record` builds an election store on top of it, and
//! documents who leads, for how long, and how lost requests are handled. The keys:
//!
//! ```text
//! PREFIX/-/id                     the id of the store, which its maker has drawn
//! PREFIX/-/news/ELECTION/KIND     nothing: each notice is a write of it
//! PREFIX/ELECTION/DOCUMENT        a row: the head, a line feed, and the cells
//! ```
//!
//! **A write** is one transaction (`transaction.rs`). It compares the id, and the index at which the row was changed
//! last. It writes the row, and the news that wake others. The tag is the index of the transaction, which no other
//! write has. A row that is too long for a transaction is written by `?cas=`, and its tag read afterwards.
//!
//! **A read** is a transaction, too. The leader of Consul's servers answers it after the others have agreed that it
//! leads (`?consistent`). It does not compare the id, so that a leader learns at once that its record is gone. Consul
//! leaves out keys that the token may not read. So a read that finds nothing asks for one key by its name, which is
//! refused then.
//!
//! **Nothing acknowledged is lost**, as Consul's servers agree on each write. If all data is gone, the id is another
//! one, and no request of a candidate is granted.
//!
//! **Unknown outcomes**: a request without an answer may have been carried out, and so may one that was answered with
//! 500. A transaction that was refused (409, 403, 413, 400) has changed nothing.
//!
//! **Waiting** takes a second connection, with one blocking query on the news (`listener.rs`). Renewals write no news.
//!
//! **Connections**: a process has one, with the first agent or server that answers, and a task sends one request after
//! the other (`session.rs`).

mod address;
mod environment;
mod error;
mod examine;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod http;
mod keys;
mod listener;
mod session;
mod table;
mod transaction;

use elect_api::{Error, Store, StoreKind};
use elect_record::RecordStore;
use elect_record::table::TableDocuments;
use elect_remote::Product;

/// The scheme of this store's URLs. `consul+tls` is another.
pub const SCHEME: &str = "consul";

/// The words of messages about this kind of store.
const PRODUCT: Product = Product {
    name: "Consul",
    scheme: SCHEME,
    names: ["ca", "cert", "key"],
    no_tls: "it does not speak TLS, which the scheme, CONSUL_HTTP_ADDR or CONSUL_HTTP_SSL asks for: write consul://, or \
             name the port of ports.https",
    password: "CONSUL_HTTP_TOKEN, the option token-file",
    hang_up: "Consul does so beyond limits.http_max_conns_per_client, 200 for one address; or another server answers there",
};

/// The description of this kind of store, which elect needs before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: PRODUCT.name,
    schemes: &[SCHEME, "consul+tls"],
    example: "consul://HOST",
    nicknames: &[],
    lacks: "a host is missing: write consul://HOST",
    manual: ("consul", include_str!("manual.md")),
    credentials: None,
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Prepares to use the KV of an agent or a server: `consul://[HOST[:PORT],...][/PREFIX][?OPTION=VALUE]`.
///
/// Nothing is sent before the first call that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no such store,
/// or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let documents = TableDocuments::new(table::ConsulTable::new(url)?);
    Ok(Box::new(RecordStore::new(documents)))
}

/// The table in a server, for tests of what it promises. The URL and the errors are as for [`connect`].
///
/// # Errors
/// As [`connect`].
pub fn table(url: &str) -> Result<impl elect_record::table::Table + use<>, Error> {
    table::ConsulTable::new(url)
}
