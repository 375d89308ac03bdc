//! What a server sent, read so that it stays small: one that is not well may send millions of tiny objects, each of which
//! takes a hundred times its length in memory.

use std::cell::Cell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// How many values an object may have, small ones within large ones included. That of a pod has some hundred.
const MOST: usize = 1 << 14;
/// What may be long, and is nothing to us. The API server keeps it where it is left out of what is written.
const SKIPPED: &str = "managedFields";

/// A list, and where it goes on.
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

/// How many objects a list has at most: those who wait in one election, and as many elections.
pub(crate) const MOST_ITEMS: usize = 2 * elect_api::Survey::MOST;

/// The object that a text is.
///
/// # Errors
/// It is no JSON, or has more in it than any object of ours.
pub(crate) fn value(text: &[u8]) -> Result<Value, serde_json::Error> {
    value_within(text, MOST)
}

/// The same of so many values at most.
///
/// # Errors
/// As [`value`]; that it has too many is an error about [data](serde_json::Error::is_data).
pub(super) fn value_within(text: &[u8], most: usize) -> Result<Value, serde_json::Error> {
    let left = Cell::new(most);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Bounded { left: &left, most }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads a value, as long as so many are left of the most.
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

/// The texts of the objects of a list; none where it is `null`.
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
    fn an_object_is_read_as_it_is_but_for_what_is_nothing_to_us() {
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
        // What is skipped does not count.
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
