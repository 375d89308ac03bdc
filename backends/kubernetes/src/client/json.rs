//! Reads JSON within bounds. A faulty server may send millions of tiny objects, each of which takes a hundred times
//! its length in memory.

use std::cell::Cell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The most values in an object, nested ones included. A pod has some hundred.
const MOST: usize = 1 << 14;
/// The key of a long part that elect does not use. The API server keeps it if a write leaves it out.
const SKIPPED: &str = "managedFields";

/// A list, and the mark for its next part.
#[derive(serde::Deserialize)]
pub(crate) struct List<'a> {
    #[serde(default)]
    pub(crate) metadata: ListMetadata,
    /// The text of each object.
    #[serde(borrow, default, deserialize_with = "items")]
    pub(crate) items: Vec<&'a RawValue>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMetadata {
    pub(crate) resource_version: Option<String>,
    pub(crate) r#continue: Option<String>,
}

/// The most objects in a list: all candidates of one election, and as many elections.
pub(crate) const MOST_ITEMS: usize = 2 * elect_api::Survey::MOST;

/// Reads the object in a text.
///
/// # Errors
/// The text is no JSON, or the object has too many values.
pub(crate) fn value(text: &[u8]) -> Result<Value, serde_json::Error> {
    value_within(text, MOST)
}

/// Reads an object of at most so many values.
///
/// # Errors
/// As [`value`]. Too many values are an error about [data](serde_json::Error::is_data).
pub(super) fn value_within(text: &[u8], most: usize) -> Result<Value, serde_json::Error> {
    let left = Cell::new(most);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Bounded { left: &left, most }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads a value while the count of values is not used up.
#[derive(Clone, Copy)]
struct Bounded<'a> {
    left: &'a Cell<usize>,
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(D::Error::custom(format!("it has more than {} values", self.most)));
        };
        self.left.set(left);
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == SKIPPED {
                entries.next_value::<IgnoredAny>()?;
            } else {
                all.insert(key, entries.next_value_seed(self)?);
            }
        }
        Ok(Value::Object(all))
    }
}

/// Reads the texts of the objects of a list. `null` counts as an empty list.
fn items<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<&'de RawValue>, D::Error> {
    reader.deserialize_any(Items)
}

struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element::<&RawValue>()? {
            if all.len() == MOST_ITEMS {
                return Err(A::Error::custom(format!("it has more than {MOST_ITEMS} objects")));
            }
            all.push(item);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_read_unchanged_but_for_unused_fields() {
        let text =
            r#" {"a":[1,-2,0.5,"b\u00e9",true,null],"managedFields":[{"x":{}}],"m":{"k":{}}} "#;
        let expected = json!({"a": [1, -2, 0.5, "b\u{e9}", true, null], "m": {"k": {}}});
        assert_eq!(value(text.as_bytes()).unwrap(), expected);
        for bad in ["", "{", "{} {}", "nul", "\u{fffd}"] {
            value(bad.as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn an_object_of_too_many_values_is_none() {
        let of = |count: usize| format!("[{}0]", "{},".repeat(count - 2));
        value(of(MOST).as_bytes()).unwrap();
        let said = value(of(MOST + 1).as_bytes()).unwrap_err().to_string();
        assert!(said.contains("more than 16384 values"), "{said}");
        // Skipped parts do not count.
        value(format!("{{\"managedFields\":{}}}", of(MOST * 2)).as_bytes()).unwrap();
    }

    #[test]
    fn a_list_has_the_texts_of_its_objects() {
        let list = |text| serde_json::from_str::<List<'_>>(text);
        let found =
            list(r#"{"metadata":{"resourceVersion":"7","continue":"c"},"items":[{"a":1},2]}"#);
        let List { metadata, items } = found.unwrap();
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(metadata.r#continue.as_deref(), Some("c"));
        assert_eq!(items.iter().map(|item| item.get()).collect::<Vec<_>>(), ["{\"a\":1}", "2"]);
        assert!(list(r#"{"items":null}"#).unwrap().items.is_empty());
        for bad in ["7", r#"{"items":7}"#, r#"{"metadata":7}"#] {
            assert!(list(bad).is_err(), "{bad}");
        }
        let many = format!("{{\"items\":[{}0]}}", "0,".repeat(MOST_ITEMS));
        assert!(list(&many).is_err());
    }
}
