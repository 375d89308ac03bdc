//! The store on MariaDB: one table of rows.
//!
//! # Theory of operation
//!
//! This crate is a [`Table`](elect_record::table::Table). `elect_record` builds an election store on top of it, and
//! documents who leads, for how long, and how lost requests are handled. Each row is a document:
//!
//! ```text
//! CREATE TABLE elect (election, document, tag, head, cells, PRIMARY KEY (election, document)) ENGINE=InnoDB
//! ```
//!
//! **Writing** is one statement, and a transaction of its own. It compares the tag and the epoch, and writes the row.
//! The tag is a random number, which the writer draws.
//!
//! **The epoch** names the table (an id that its maker has drawn, and its birth) and the server (its start, in MariaDB
//! how often it became a replica since, its number, its port and its machine). So each start is another epoch, and so
//! is each replica that takes over: a backup may have been put back, or the newest writes may be lost. A dump makes the
//! table anew. A table that was emptied has no id. Server variables and `information_schema` tell all of this to each
//! user: no right beyond the table is needed.
//!
//! **Reads from another server**, as a proxy makes them, carry that server's epoch. So no write follows from them.
//!
//! **Unknown outcomes**: a statement without an answer may have been carried out. So may one that ends with a kill or a
//! shutdown, which may follow the commit. Other errors say that nothing happened.
//!
//! **Waiting**: MariaDB tells of no change, so candidates poll. The next in line need not wait for its
//! next poll: the leader's session holds a named lock of the server, and releases it right after the write by which it
//! leaves. The server releases it if the connection ends. The next in line waits for this lock, and polls when it ends.
//! The lock proves nothing, and no candidate needs it: the leader tries to take it a moment after each write by which
//! it leads, and a waiter that cannot wait for it tries again later.
//!
//! **The protocol** is this crate's own: a login and statements as text are all that it takes. Values stand in
//! statements in hexadecimal.
//!
//! **Connections**: a process has one, which a task drives, one request after the other. It goes to the first place of
//! the URL that accepts writes. A request that was dropped before its answer makes the connection suspect, and the next
//! one tries it first. The next in line has a second one, on which it waits for the leader's lock, of one election at a
//! time. It closes that one 3 s after the last call that waits. The server notices within a second.

mod address;
mod error;
mod examine;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod lock_watch;
mod login;
mod read;
mod session;
mod sql;
mod table;
mod wire;

use elect_api::{Error, Store, StoreKind};
use elect_record::RecordStore;
use elect_record::table::TableDocuments;
use elect_remote::Product;

/// The scheme of this store's URLs; `mysql` is the same.
pub const SCHEME: &str = "mariadb";

/// The words of messages about this kind of database.
const PRODUCT: Product = Product {
    name: "MariaDB",
    scheme: SCHEME,
    names: ["ssl-ca", "ssl-cert", "ssl-key"],
    no_tls: "it does not speak TLS, which ssl-mode asks for: set ssl_cert and ssl_key there, or write \
             ssl-mode=PREFERRED",
    password: "MYSQL_PWD",
    hang_up: "",
};

/// The description of this kind of store, which elect needs before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: PRODUCT.name,
    schemes: &[SCHEME, "mysql"],
    example: "mariadb://HOST/DATABASE",
    nicknames: &["maria"],
    lacks: "a host and a database are missing: write mariadb://HOST/DATABASE",
    manual: ("mariadb", include_str!("manual.md")),
    credentials: None,
    knows_pods: false,
    connect,
    #[cfg(feature = "fuzzing")]
    fuzz_targets: fuzzing::TARGETS,
    #[cfg(not(feature = "fuzzing"))]
    fuzz_targets: &[],
};

/// Prepares to use the table in a database: `mariadb://[USER[:PASSWORD]@][HOST[:PORT],...]/DATABASE[?OPTION=VALUE]`.
///
/// What the URL leaves out comes from the option file and the variables of MariaDB's client. Nothing is sent before the
/// first call that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no such store,
/// or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let documents = TableDocuments::new(table::MariaTable::new(url)?);
    Ok(Box::new(RecordStore::new(documents)))
}

/// The table in a database, for tests of what it promises. The URL and the errors are as for [`connect`].
///
/// # Errors
/// As [`connect`].
pub fn table(url: &str) -> Result<impl elect_record::table::Table + use<>, Error> {
    table::MariaTable::new(url)
}
