//! LIST requests: from the store, the cache, or an earlier version, whole or in pages.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};

use super::request::Request;
use super::rest::State;
use super::status::{self, Reply};
use super::store::{Key, Objects};

const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You \
     can start a new list without the continue parameter, or use the continue token in this response to retrieve the \
     remainder of the results.";

impl State {
    pub(super) fn list(&self, key: &Key, request: &Request) -> Result<Reply, Reply> {
        let selector = request.selector()?;
        let Page { objects, version, start, limit, cached } = self.page_of(request)?;
        let lower = start.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut here = objects.range((lower, Bound::Unbounded)).filter(|(other, _)| {
            other.kind == key.kind && (key.namespace.is_empty() || other.namespace == key.namespace)
        });
        let found = here.by_ref().filter(|(_, object)| selector.fits(object));
        let mut page: Vec<_> = found.take(limit).collect();
        if cached {
            // A cache has no order, and serves no pages.
            fastrand::shuffle(&mut page);
        }
        // The server does not check whether the remaining objects fit the selector.
        let left = here.count();
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if let Some((last, _)) = page.last().filter(|_| left > 0) {
            metadata["continue"] = token(version, last).into();
            if selector.is_empty() {
                metadata["remainingItemCount"] = left.into();
            }
        }
        let item = |(_, object): &(&Key, &Arc<Value>)| {
            let mut item = Value::clone(object);
            if let Some(fields) = item.as_object_mut() {
                fields.remove("kind");
                fields.remove("apiVersion");
            }
            item
        };
        let items: Vec<Value> = page.iter().map(item).collect();
        let kind = format!("{}List", key.kind.name());
        Ok(Reply::json(
            200,
            json!({"kind": kind, "apiVersion": key.kind.api_version(), "metadata": metadata, "items": items}),
        ))
    }

    /// Returns the objects that a LIST reads: from the store, the cache, or an earlier version.
    fn page_of(&self, request: &Request) -> Result<Page<'_>, Reply> {
        let limit = request.parameter("limit").and_then(|limit| limit.parse().ok());
        let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        if let Some(token) = request.parameter("continue") {
            let (version, start) = parse_token(token)
                .ok_or_else(|| status::bad_request("continue key is not valid"))?;
            let objects = Cow::Owned(self.past(version)?);
            return Ok(Page { objects, version, start: Some(start), limit, cached: false });
        }
        let cached = request.version()?.is_some();
        let (objects, version, limit) = if cached {
            (self.store.cached(), self.store.cached_version(), usize::MAX)
        } else {
            (self.store.objects(), self.store.version(), limit)
        };
        Ok(Page { objects: Cow::Borrowed(objects), version, start: None, limit, cached })
    }

    fn past(&self, version: u64) -> Result<Objects, Reply> {
        self.store.at(version).ok_or_else(|| status::expired(CONTINUE_EXPIRED))
    }
}

/// A page of a list.
struct Page<'a> {
    objects: Cow<'a, Objects>,
    version: u64,
    /// The last key of the page before.
    start: Option<Key>,
    limit: usize,
    cached: bool,
}

/// Returns the token by which a client continues a list. Clients cannot read it.
fn token(version: u64, last: &Key) -> String {
    let bytes = json!([version, last]).to_string().into_bytes();
    let digits = bytes.into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn parse_token(token: &str) -> Option<(u64, Key)> {
    let digits = token.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes =
        digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<Vec<_>>>()?;
    serde_json::from_slice(&bytes).ok()
}
