//! The store on object storage: one object of a bucket for each row, changed by conditional puts.
//!
//! # Theory of operation
//!
//! This crate is a [`Table`](elect_record::table::Table). `elect_record` builds an election store on top of it, and
//! documents who leads, for how long, and how lost requests are handled. The objects, by their keys:
//!
//! ```text
//! PREFIX/ELECTION/DOCUMENT   RANDOM, head, cells    a row
//! PREFIX/ELECTION/DOCUMENT   RANDOM                 a tombstone, which stands for no row
//! PREFIX/-/id                RANDOM, id, proof      the id of the store, and what its server has proven
//! PREFIX/-/probe-RANDOM      RANDOM                 objects of a proof, removed after it
//! ```
//!
//! **A write** is one put with `If-None-Match: *` or `If-Match` (`session.rs`). The tag of a row is the `ETag` of its
//! object. Most stores make that of the content, so each text begins with a random number: no `ETag` returns.
//!
//! **A read** shows each write that was acknowledged before it, and so does a list. A proxy that caches lists breaks
//! that: the library asks for fresh objects alone.
//!
//! **A delete** is a `DELETE` with `If-Match`, if the store has proven that it heeds that, and the way of this process
//! has, too. Amazon does so since 2025, and many others do not. The library has no such request: it signs the address
//! of one. Otherwise a delete is a put of a tombstone with `If-Match`. A creation that is refused reads the object, and
//! replaces a tombstone by its own `ETag`. A list shows the length of an object, so a scan skips tombstones without a
//! read.
//!
//! **A tombstone stays.** A `DELETE` without a condition may arrive late. Meanwhile a candidate may have put a row in
//! the place of the tombstone, and would lose it. This holds for the rows of waiters, too: a waiter whose row was
//! removed before it had its rank makes it anew, under the same key. Only the objects of a proof are removed so, as no
//! other candidate knows their names. On a store that ignores the condition of a `DELETE`, each waiter of `order=queue`
//! leaves an object of 16 bytes behind. With `order=race` there are two objects for each election.
//!
//! **The proof** (`session/proof.rs`): stores have ignored conditions, or compared and written in two steps. So no row
//! is written before the store has shown that it heeds them, also when several puts arrive at once. No test can show
//! that no race is ever lost. The object with the id says what was proven, and by which kind of server, as its answers
//! name it (`Server`). So the first candidate alone sends these 40 requests, and another one after `Server` names
//! another kind or version. Each other process tries one put of each kind, as a proxy on its own way may strip headers.
//! Both have to be refused. It also tries to delete an object of its own, if the store has proven deletes: without
//! that it writes tombstones. A leader renews its lease without any of that, until another kind of server answers.
//!
//! **Nothing acknowledged is lost**: Amazon answers once an object is in three places. Other stores may do less.
//!
//! **Unknown outcomes**: a request without an answer may have been carried out. So may one that was answered without
//! the name of an error of S3's, or with a status that passes: 408, 425, 429, or 500 and more. The error
//! `NotImplemented` does not pass. A status of 409 means that another write was in the middle of its work. It counts as
//! a conflict, after which `elect_record` reads the row again.
//!
//! **Credentials** are found by `elect_amazon`, and renewed in the background while they are still good, so no renewal
//! of a lease waits for that.
//!
//! **Connections**: the library `object_store` makes the requests, signs them, and reads lists. It sends them through
//! elect's own queue (`wire.rs`), so that elect knows what was sent, and one request is sent after the other. It
//! repeats none. Nothing tells of changes: candidates look again and again.

mod address;
mod error;
mod examine;
mod object;
mod session;
mod table;
mod wire;

use elect_api::{Error, Price, Store, StoreKind};
use elect_record::RecordStore;
use elect_record::table::TableDocuments;
use elect_remote::Product;

/// The scheme of this store's URLs.
pub const SCHEME: &str = "s3";

/// The price of requests for objects of the class S3 Standard. A list costs as much as a write.
pub const PRICE: Price =
    Price { writes: 5000, reads: 400, lists: Some(5000), listed: "us-east-1, S3 Standard, 2026" };

/// The words of messages about this kind of store.
const PRODUCT: Product = Product {
    name: "S3",
    scheme: SCHEME,
    names: elect_amazon::NAMES,
    no_tls: "it does not speak TLS, which https:// in the endpoint asks for",
    password: "AWS_ACCESS_KEY_ID, AWS_PROFILE",
    hang_up: "",
};

/// The description of this kind of store, which elect needs before it opens one.
pub const KIND: StoreKind = StoreKind {
    name: PRODUCT.name,
    schemes: &[SCHEME],
    example: "s3://BUCKET",
    nicknames: &["bucket", "minio"],
    lacks: "the name of the bucket is missing: write s3://BUCKET",
    manual: ("s3", include_str!("manual.md")),
    credentials: Some("credentials come from Amazon's variables and files"),
    knows_pods: false,
    connect,
    fuzz_targets: &[],
};

/// Prepares to use a bucket: `s3://BUCKET[/PREFIX][?OPTION=VALUE]`.
///
/// Nothing is sent before the first call that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no such bucket,
/// or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let documents = TableDocuments::new(table::ObjectTable::new(url)?);
    Ok(Box::new(RecordStore::new(documents)))
}

/// The rows in a bucket, for tests of what they promise. The URL and the errors are as for [`connect`].
///
/// # Errors
/// As [`connect`].
pub fn table(url: &str) -> Result<impl elect_record::table::Table + use<>, Error> {
    table::ObjectTable::new(url)
}
