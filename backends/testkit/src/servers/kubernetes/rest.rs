//! The effect of each request on the objects, and its reply.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::access::Users;
use super::faults::{Counts, Faults};
use super::objects::{Kind, decode, flaws};
use super::request::{Request, Target};
use super::status::{self, Flaw, Reply};
use super::store::{Key, Store};
use super::{review, watch};

/// The largest request that etcd accepts, in bytes.
const ETCD_LIMIT: usize = 3 << 19;

/// The whole state of the server.
#[derive(Debug)]
pub(super) struct State {
    pub(super) store: Store,
    pub(super) users: Users,
    pub(super) faults: Faults,
    pub(super) counts: Counts,
    /// How long requests wait for etcd while it does not answer.
    pub(super) etcd_down: Option<Duration>,
}

impl State {
    /// Carries out a user's request.
    pub(super) fn handle(&mut self, user: &str, request: &Request) -> Reply {
        let done = match (&request.target, request.deed()) {
            (Some(target), Some(deed)) if self.users.may(user, &deed) => {
                self.object(user, request, target)
            }
            (_, Some(deed)) => Err(status::forbidden(user, &deed)),
            _ => Ok(page(user, request)),
        };
        done.unwrap_or_else(|failure| failure)
    }

    fn object(&mut self, user: &str, request: &Request, target: &Target) -> Result<Reply, Reply> {
        if target.group == "authorization.k8s.io" {
            return review::review(&self.users, user, request, &target.resource);
        }
        let kind = target.kind().ok_or_else(status::no_such_path)?;
        let namespace = if kind == Kind::Namespaces { "" } else { &target.namespace };
        let key = Key { kind, namespace: namespace.to_owned(), name: target.name.clone() };
        let on_one = !matches!(request.verb(), "list" | "watch" | "create");
        if on_one == key.name.is_empty() {
            return Err(status::method_not_allowed());
        }
        match request.verb() {
            "get" => self.get(&key, request),
            "list" => self.list(&key, request),
            "watch" => self.watch(&key, request),
            "create" => self.create(key, request),
            "update" => self.update(user, &key, decode(kind, &request.body)?),
            "patch" => self.patch(&key, request),
            "delete" => self.delete(&key, request),
            _ => Err(status::method_not_allowed()),
        }
    }

    fn get(&self, key: &Key, request: &Request) -> Result<Reply, Reply> {
        let found = match request.version()? {
            None => self.store.get(key),
            Some(_) => self.store.cached().get(key).cloned(),
        };
        let object = found.ok_or_else(|| status::not_found(key.kind, &key.name))?;
        Ok(Reply::json(200, Value::clone(&object)))
    }

    fn watch(&mut self, key: &Key, request: &Request) -> Result<Reply, Reply> {
        let mut scope = watch::Scope {
            kind: key.kind,
            namespace: key.namespace.clone(),
            selector: request.selector()?,
            since: request.version()?.unwrap_or(0),
            bookmarks: request.is("allowWatchBookmarks"),
        };
        let seconds = request.parameter("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
        let limit = Duration::from_secs(seconds.unwrap_or_else(|| fastrand::u64(1800..3600)));
        let floor = self.store.floor();
        let (begin, over) = if scope.since == 0 {
            scope.since = self.store.cached_version();
            let here = self.store.cached().iter().filter(|(other, object)| {
                other.kind == key.kind
                    && (key.namespace.is_empty() || other.namespace == key.namespace)
                    && scope.selector.fits(object)
            });
            (here.map(|(_, object)| watch::line("ADDED", object)).collect(), false)
        } else if scope.since < floor {
            let message = format!("too old resource version: {} ({floor})", scope.since);
            (vec![watch::too_old(&message)], true)
        } else {
            let events = self.store.since(scope.since).filter_map(|change| scope.event(change));
            (events.collect::<Vec<_>>(), false)
        };
        Ok(Reply::watch(self.store.watchers.add(scope, begin, limit, over)))
    }

    fn create(&mut self, mut key: Key, request: &Request) -> Result<Reply, Reply> {
        let mut object = decode(key.kind, &request.body)?;
        let metadata = &object["metadata"];
        if metadata["namespace"].as_str().is_some_and(|namespace| namespace != key.namespace) {
            return Err(status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        name.clone_into(&mut key.name);
        let has_version = !metadata["resourceVersion"].is_null();
        self.expect_namespace(&key)?;
        complete(&key, &mut object, None);
        check(key.kind, &name, &object)?;
        if has_version {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(status::internal(message));
        }
        if self.store.get(&key).is_some() {
            return Err(status::already_exists(key.kind, &name));
        }
        self.write(201, &key, object)
    }

    fn expect_namespace(&self, key: &Key) -> Result<(), Reply> {
        let name = key.namespace.clone();
        let namespace = Key { kind: Kind::Namespaces, namespace: String::new(), name };
        if key.kind == Kind::Namespaces || self.store.get(&namespace).is_some() {
            return Ok(());
        }
        Err(status::not_found(Kind::Namespaces, &key.namespace))
    }

    fn update(&mut self, user: &str, key: &Key, mut object: Value) -> Result<Reply, Reply> {
        let Key { kind, namespace, name } = key;
        expect_own_name(&object["metadata"], key)?;
        let current = self.store.get(key);
        let uid = current.as_ref().and_then(|current| current["metadata"]["uid"].as_str());
        let given = object["metadata"]["uid"].as_str();
        if given.is_some() && given != uid {
            let (given, uid) = (given.unwrap_or_default(), uid.unwrap_or_default());
            let plural = kind.plural();
            return Err(status::conflict(
                *kind,
                name,
                &format!(
                    "StorageError: invalid object, Code: 4, Key: /registry/{plural}/{namespace}/{name}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {uid}"
                ),
            ));
        }
        let Some(current) = current else { return self.make_again(user, key, object) };
        let version = object["metadata"]["resourceVersion"].as_str().filter(|text| *text != "0");
        match version {
            None if kind.takes_unconditional_updates() => {}
            None => return Err(status::version_missing(*kind, name)),
            version if version == current["metadata"]["resourceVersion"].as_str() => {}
            Some(version) if version.parse::<u64>().is_err() => {
                return Err(status::internal(&status::no_number(version)));
            }
            Some(_) => return Err(status::conflict(*kind, name, MODIFIED)),
        }
        complete(key, &mut object, Some(&current));
        check(*kind, name, &object)?;
        object["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
        if object == *current {
            // A write that changes nothing is skipped.
            return Ok(Reply::json(200, object));
        }
        self.write(200, key, object)
    }

    /// Handles a PUT of an object that does not exist.
    fn make_again(&mut self, user: &str, key: &Key, mut object: Value) -> Result<Reply, Reply> {
        if !key.kind.is_made_by_update() {
            return Err(status::not_found(key.kind, &key.name));
        }
        complete(key, &mut object, None);
        check(key.kind, &key.name, &object)?;
        let deed = super::access::Deed {
            verb: "create",
            group: key.kind.group(),
            resource: key.kind.plural(),
            namespace: &key.namespace,
            name: &key.name,
        };
        if !self.users.may(user, &deed) {
            return Err(status::may_not_make(key.kind, &key.name));
        }
        self.expect_namespace(key)?;
        self.write(201, key, object)
    }

    fn patch(&mut self, key: &Key, request: &Request) -> Result<Reply, Reply> {
        let current = self.store.get(key);
        let current = current.ok_or_else(|| status::not_found(key.kind, &key.name))?;
        // The tests send merge patches only, and elect sends none.
        let patch = serde_json::from_slice(&request.body)
            .map_err(|_| status::internal("Invalid JSON Patch"))?;
        let mut patched = Value::clone(&current);
        merge(&mut patched, &patch);
        let bytes = serde_json::to_vec(&patched).unwrap_or_default();
        let object = decode(key.kind, &bytes)?;
        let (uid, own) = (&object["metadata"]["uid"], &current["metadata"]["uid"]);
        if uid != own {
            let flaw = Flaw::value("metadata.uid", &uid.to_string(), "field is immutable");
            return Err(status::flawed(key.kind, &key.name, &[flaw]));
        }
        self.update("", key, object)
    }

    fn delete(&mut self, key: &Key, request: &Request) -> Result<Reply, Reply> {
        let Key { kind, name, .. } = key;
        let options: Value = match &request.body[..] {
            [] => Value::Null,
            body => serde_json::from_slice(body).map_err(|_| {
                status::internal(
                    "couldn't get version/kind; json parse error: unexpected end of JSON input",
                )
            })?,
        };
        let current = self.store.get(key).ok_or_else(|| status::not_found(*kind, name))?;
        let metadata = &current["metadata"];
        for (field, word, end) in [
            ("uid", "UID", "deleted and then recreated"),
            ("resourceVersion", "ResourceVersion", "modified"),
        ] {
            let own = metadata[field].as_str().unwrap_or_default();
            match options["preconditions"][field].as_str() {
                Some(given) if given != own => {
                    return Err(status::precondition(
                        *kind,
                        name,
                        &format!(
                            "the {word} in the precondition ({given}) does not match the {word} in record ({own}). \
                         The object might have been {end}"
                        ),
                    ));
                }
                _ => {}
            }
        }
        self.store.write(key, None);
        self.counts.changes += 1;
        if *kind == Kind::Pods {
            return Ok(Reply::json(200, Value::clone(&current)));
        }
        let details = json!({"name": name, "group": kind.group(), "kind": kind.plural(), "uid": metadata["uid"]});
        Ok(Reply::json(
            200,
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}),
        ))
    }

    fn write(&mut self, status: u16, key: &Key, object: Value) -> Result<Reply, Reply> {
        if object.to_string().len() > ETCD_LIMIT {
            return Err(status::internal("etcdserver: request is too large"));
        }
        self.counts.changes += 1;
        let written = self.store.write(key, Some(object));
        Ok(Reply::json(status, written.map_or(Value::Null, |object| Value::clone(&object))))
    }
}

const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

fn page(user: &str, request: &Request) -> Reply {
    if request.path == "/version" {
        let version = json!({"major": "1", "minor": "20", "gitVersion": "v1.20.2", "platform": "linux/amd64"});
        return Reply::json(200, version);
    }
    status::forbidden_path(user, request.verb(), &request.path)
}

fn expect_own_name(metadata: &Value, key: &Key) -> Result<(), Reply> {
    let Key { namespace, name, .. } = key;
    let given = metadata["name"].as_str().unwrap_or_default();
    if given.is_empty() {
        return Err(status::bad_request(&format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given != name {
        return Err(status::bad_request(&format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    match metadata["namespace"].as_str() {
        Some(given) if given != namespace => Err(status::bad_request(&format!(
            "the namespace of the object ({given}) does not match the namespace on the request ({namespace})"
        ))),
        _ => Ok(()),
    }
}

/// Sets the fields that only the server decides. A new object gets new values, and an existing one
/// keeps its own.
fn complete(key: &Key, object: &mut Value, current: Option<&Arc<Value>>) {
    let metadata = &mut object["metadata"];
    if !key.namespace.is_empty() {
        metadata["namespace"] = key.namespace.as_str().into();
    }
    for (field, new) in [("uid", new_uid as fn() -> String), ("creationTimestamp", time)] {
        metadata[field] =
            current.map_or_else(|| new().into(), |current| current["metadata"][field].clone());
    }
}

fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        object.clone_from(patch);
        return;
    };
    if !object.is_object() {
        *object = Value::Object(serde_json::Map::new());
    }
    let Some(object) = object.as_object_mut() else { return };
    for (field, value) in patch {
        if value.is_null() {
            object.remove(field);
        } else {
            merge(object.entry(field).or_insert(Value::Null), value);
        }
    }
}

fn check(kind: Kind, name: &str, object: &Value) -> Result<(), Reply> {
    let flaws = flaws(kind, object);
    if flaws.is_empty() { Ok(()) } else { Err(status::flawed(kind, name, &flaws)) }
}

fn new_uid() -> String {
    let digits = format!("{:032x}", fastrand::u128(..));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Returns the present time, as `2026-11-26T13:27:10Z`.
#[expect(clippy::disallowed_methods, reason = "for the eye only")]
fn time() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    rfc3339(since.unwrap_or_default().as_secs())
}

fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86400, seconds % 86400);
    // In this calculation years begin in March, so that the leap day is the last of its year.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_699_630), "2026-11-26T13:27:10Z");
    }
}
