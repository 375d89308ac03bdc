//! The store on DynamoDB: one item of a table for each row.
//!
//! # Theory of operation
//!
//! This crate is a [`Table`](elect_record::table::Table). `elect_record` builds an election store on top of it, and
//! documents who leads, for how long, and how lost requests are handled. The items, by partition key `election` and
//! sort key `document`:
//!
//! ```text
//! ELECTION  DOCUMENT               tag, head, cells      a row with short cells, or none
//! ELECTION  DOCUMENT               tag, head, parcel     a row whose cells are in another item
//! ELECTION  cells-DOCUMENT-TAG     cells                 that item, named by `parcel`
//! -         id                     cells                 the id of the store, which its maker has drawn
//! ```
//!
//! **A write** is one `UpdateItem` whose condition compares the tag, which the writer draws at random (`table.rs`).
//! DynamoDB bills each kilobyte that an item has, and a leader writes its row every few seconds. So cells that would
//! make a row longer than that are written once, before the row, as an item of their own. A renewal leaves them alone.
//!
//! **A read** is consistent: it shows each write that was acknowledged before it. If the row names an item of cells
//! that is gone, another writer has replaced both, and the row is read again.
//!
//! **Nothing acknowledged is lost**: DynamoDB answers once two of three copies are on disk. A table with replicas in
//! other regions that are only eventually consistent is refused, as each region would grant the same write.
//!
//! **Unknown outcomes**: a request without an answer may have been carried out. So may one that was answered with a
//! status of 500 or more, or without the name of an error of DynamoDB's. All other refusals have changed nothing.
//!
//! **Credentials** are found where Amazon's tools find them (`elect_amazon`), but for profiles with `sso_session` or
//! `role_arn`, which are refused. They are renewed in the background while they are still good, so no renewal waits for
//! that.
//!
//! **Connections**: a process has one, and sends one request after the other (`session.rs`). Nothing tells of changes:
//! candidates look again and again.

mod address;
mod creation;
mod error;
mod examine;
mod item;
mod session;
mod table;

use elect_api::{Error, Price, Store, StoreKind};
use elect_record::RecordStore;
use elect_record::table::TableDocuments;
use elect_remote::Product;

/// The scheme of this store's URLs.
pub const SCHEME: &str = "dynamodb";

/// The price of requests to a table on demand, with items below a kilobyte and consistent reads.
pub const PRICE: Price =
    Price { writes: 625, reads: 125, lists: None, listed: "us-east-1, on demand, 1 November 2024" };

/// The words of messages about this kind of store.
const PRODUCT: Product = Product {
    name: "DynamoDB",
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
    example: "dynamodb://TABLE",
    nicknames: &["dynamo", "aws"],
    lacks: "the name of the table is missing: write dynamodb://TABLE",
    manual: ("dynamodb", include_str!("manual.md")),
    credentials: Some("credentials come from Amazon's variables and files"),
    knows_pods: false,
    connect,
    fuzz_targets: &[],
};

/// Prepares to use a table: `dynamodb://TABLE[?OPTION=VALUE]`.
///
/// Nothing is sent before the first call that needs an answer.
///
/// # Errors
/// [`Unfit`](elect_api::ErrorKind::Unfit) or [`Denied`](elect_api::ErrorKind::Denied) if the URL means no such table,
/// or a file that it names cannot be used.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let documents = TableDocuments::new(table::ItemTable::new(url)?);
    Ok(Box::new(RecordStore::new(documents)))
}

/// The rows in a table, for tests of what they promise. The URL and the errors are as for [`connect`].
///
/// # Errors
/// As [`connect`].
pub fn table(url: &str) -> Result<impl elect_record::table::Table + use<>, Error> {
    table::ItemTable::new(url)
}
