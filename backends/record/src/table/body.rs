//! The bodies of rows: documents as JSON, with their version.

use elect_api::{ElectionName, Error, ErrorKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Body, Key};
use crate::{Data, Document, Name, Record, Stored};

/// The layout of rows. A row of another layout is refused.
const LAYOUT: u64 = 1;
/// The fields of a record that change seldom and may be long.
const CELLS: [&str; 4] = ["control", "once", "runs", "history"];

/// The first line of a body.
#[derive(Serialize, Deserialize)]
struct Head {
    layout: u64,
    version: u64,
    /// A random number, because some stores make equal tags of equal bodies.
    salt: u32,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// Returns the body of a document, as this version.
///
/// # Errors
/// `Unfit` if the document cannot be written as JSON.
pub(super) fn of(version: u64, document: &Document) -> Result<Body, Error> {
    let value = match document {
        Document::Record(record) => serde_json::to_value(record),
        Document::Waiter(waiter) => serde_json::to_value(waiter),
        Document::Data(data) => serde_json::to_value(data),
    };
    let Ok(Value::Object(mut fields)) = value else { return Err(unwritable()) };
    let mut cells = Map::new();
    match document {
        Document::Record(_) => {
            let found = CELLS.into_iter().filter_map(|cell| fields.remove_entry(cell));
            cells.extend(found);
        }
        Document::Data(_) => std::mem::swap(&mut fields, &mut cells),
        Document::Waiter(_) => {}
    }
    let head = Head { layout: LAYOUT, version, salt: fastrand::u32(..), fields };
    let head = serde_json::to_string(&head).map_err(|_| unwritable())?;
    let cells = if cells.is_empty() {
        String::new()
    } else {
        serde_json::to_string(&cells).map_err(|_| unwritable())?
    };
    Ok(Body { head, cells, ..Body::default() })
}

/// Returns the document in the body of a row.
///
/// # Errors
/// `Unfit` if it is damaged. Damaged fences and values are no error: [`Data::damage`] says that they are damaged.
pub(super) fn read(election: &ElectionName, name: Name, body: &Body) -> Result<Stored, Error> {
    let damaged = |why: String| {
        let what = format!("the row {election}/{} is damaged: {why}", document(name));
        Error::new(ErrorKind::Unfit, what)
            .and(format!("stop all candidates and remove it with elect forget {election}"))
            .of_a_text()
    };
    let head: Head =
        serde_json::from_str(&body.head).map_err(|error| damaged(error.to_string()))?;
    if head.layout != LAYOUT {
        return Err(damaged(format!("its layout is {}, and not {LAYOUT}", head.layout)));
    }
    let mut fields = head.fields;
    let document = match name {
        Name::Waiter(_) => parse(fields).map(Document::Waiter),
        Name::Record => cells(body).and_then(|cells| {
            fields.extend(cells);
            parse::<Record>(fields).map(Document::Record)
        }),
        Name::Data => {
            let data = cells(body).and_then(parse::<Data>);
            Ok(Document::Data(data.unwrap_or_else(|why| Data {
                damage: Some(damaged(why).to_string()),
                ..Data::default()
            })))
        }
    };
    Ok(Stored { version: head.version, document: document.map_err(damaged)? })
}

/// The name of a document in a key.
pub(super) fn document(name: Name) -> String {
    match name {
        Name::Record => Key::LEADER.to_owned(),
        Name::Data => Key::DATA.to_owned(),
        Name::Waiter(nonce) => format!("waiter-{nonce:016x}"),
    }
}

/// The nonce of a waiter, from the name of its document.
pub(super) fn nonce(document: &str) -> Option<u64> {
    u64::from_str_radix(document.strip_prefix("waiter-")?, 16).ok()
}

fn cells(body: &Body) -> Result<Map<String, Value>, String> {
    if body.cells.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(&body.cells).map_err(|error| error.to_string())
}

fn parse<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

fn unwritable() -> Error {
    Error::new(ErrorKind::Unfit, "a document cannot be written as JSON")
}
