//! Items as DynamoDB writes them in JSON. All attributes of elect are texts.

use serde_json::{Map, Value, json};

/// The partition key.
pub(crate) const ELECTION: &str = "election";
/// The sort key.
pub(crate) const DOCUMENT: &str = "document";
/// The tag of the last write.
pub(crate) const TAG: &str = "tag";
pub(crate) const HEAD: &str = "head";
pub(crate) const CELLS: &str = "cells";
/// The sort key of the item with the cells, if that is another item.
pub(crate) const PARCEL: &str = "parcel";

/// A text as an attribute.
pub(crate) fn text(text: &str) -> Value {
    json!({"S": text})
}

/// The key of an item.
pub(crate) fn key(election: &str, document: &str) -> Value {
    json!({ELECTION: text(election), DOCUMENT: text(document)})
}

/// An attribute of an item, if it has it.
pub(crate) fn of<'a>(item: &'a Value, name: &str) -> Option<&'a str> {
    item.get(name)?.get("S")?.as_str()
}

/// The names and values of an expression. In it, `#x` stands for the attribute `x`, and `:x` for a value.
pub(crate) fn names(names: &[&str]) -> Value {
    names.iter().map(|name| (format!("#{name}"), json!(name))).collect::<Map<_, _>>().into()
}

/// The values of an expression.
pub(crate) fn values(values: &[(&str, &str)]) -> Value {
    values
        .iter()
        .map(|(name, value)| (format!(":{name}"), text(value)))
        .collect::<Map<_, _>>()
        .into()
}
