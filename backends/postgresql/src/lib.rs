//! The store on PostgreSQL: one table of rows.
//!
//! # Theory of operation
//!
//! This crate is a [`Table`](elect_record::table::Table). `elect_record` builds an election store on top of it, and
//! documents who leads, for how long, and how lost requests are handled. Each row is a document:
//!
//! ```text
//! CREATE TABLE elect.document (election, document, tag, head, cells, PRIMARY KEY (election, document))
//! ```
//!
//! **Writing** is one statement. It compares the tag and the epoch, writes the row, and notifies those who wait for it.
//! The tag is a random number, which the writer draws. The statement asks for a synchronous
//! commit where a role or a database has weakened that.
//!
//! **The epoch** names the cluster (its system identifier), its timeline, the start of the server, the database, and
//! the file of the table. A promotion begins a timeline, so an asynchronous replica that takes over is another epoch. A
//! backup or a snapshot that was put back shows by the start of the server. A table that was restored from a dump, made
//! anew or truncated has another file.
//!
//! **Unknown outcomes**: a statement without an answer may have been carried out. So may a statement during which the
//! server warned: a cancelled wait for a synchronous replica ends with a warning. An answer that is an error
//! says that nothing happened.
//!
//! **Waiting**: `LISTEN` on a channel of the row, or on that of its requests. Renewals send no notice, so a crowd of
//! waiters does not wake itself. Each notice makes the server wake all sessions of the database that listen to
//! anything, so `elect_record` has only the first 32 waiters listen.
//!
//! **Poolers**: a connection through pgbouncer in transaction mode is shared, so it has no settings and no notices of
//! its own. Each session therefore asks for a setting at its start. If the setting is not in force, the session polls.
//! All statements are unnamed, and each is a transaction of its own.
//!
//! **Connections**: a process has one. It goes to the first place of the URL that accepts writes. A request that was
//! dropped before its answer makes the connection suspect, and the next one tries it first.

mod address;
mod error;
mod examine;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod libpq;
mod link;
mod session;
mod sql;
mod table;

use elect_api::{Error, Store, StoreKind};
use elect_record::RecordStore;
use elect_record::table::TableDocuments;
use elect_remote::Product;

/// The scheme of this store's URLs; `postgres` is the same.
pub const SCHEME: &str = "postgresql";

/// The words of messages about this kind of database.
const PRODUCT: Product = Product {
    name: "PostgreSQL",
    scheme: SCHEME,
    names: ["sslrootcert", "sslcert", "sslkey"],
    no_tls: "it does not speak TLS, which sslmode asks for: set ssl=on there, or write sslmode=prefer",
    password: "PGPASSFILE",
    hang_up: "",
};

/// The description of this kind of store, which elect needs before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: PRODUCT.name,
    schemes: &[SCHEME, "postgres"],
    example: "postgresql://HOST/DATABASE",
    nicknames: &["psql", "pg"],
    lacks: "a host is missing: write postgresql://HOST/DATABASE",
    manual: ("postgresql", include_str!("manual.md")),
    credentials: None,
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Prepares to use the table in a database:
/// `postgresql://[USER[:PASSWORD]@][HOST[:PORT],...][/DATABASE][?OPTION=VALUE]`.
///
/// What the URL leaves out comes from libpq's variables and files. Nothing is sent before the first call
/// that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no such store,
/// or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let documents = TableDocuments::new(table::PostgresTable::new(url)?);
    Ok(Box::new(RecordStore::new(documents)))
}

/// The table in a database, for tests of what it promises. The URL and the errors are as for [`connect`].
///
/// # Errors
/// As [`connect`].
pub fn table(url: &str) -> Result<impl elect_record::table::Table + use<>, Error> {
    table::PostgresTable::new(url)
}
