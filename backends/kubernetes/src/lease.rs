//! Converts documents to Leases and back: the spec is client-go's format, elect's own data is in an annotation.
//!
//! Other programs write elect's annotations back as they found them. So the annotation names the holder for which it
//! was written, and the spec decides who holds the Lease. If the spec has another holder or another number of
//! transitions, a program other than elect has changed it. The rest of the annotation, such as the control cell
//! and the history, stays valid.
//!
//! client-go recognises a renewal by a changed spec, to the second. So elect changes the spec at each renewal and
//! each change of holder, and at no other write.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use elect_api::{Candidate, Error, ErrorKind};
use elect_record::{Data, Document, Holder, Name, Record, Stored, Waiter};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The annotation that keeps a record.
const RECORD: &str = "elect/record";
/// The annotation that keeps a waiter.
const WAITER: &str = "elect/waiter";
/// The annotation that keeps fences and values. It is a label, too, by which lists leave these Leases out.
pub(crate) const DATA: &str = "elect/data";
/// The label by which record and waiters are listed.
pub(crate) const ELECTION: &str = "elect/election";
/// The greatest total size of an object's annotations that Kubernetes accepts, in bytes.
const LONGEST: usize = 256 << 10;
/// The duration of a Lease whose holder states none: longer than any default of client-go.
const UNTOLD: Duration = Duration::from_secs(60);
/// client-go counts whole seconds, and takes two renewals in one second for one.
const SECOND: Duration = Duration::from_secs(1);
/// A renewal time further ahead of this machine's clock was written by hand: no clock is so far ahead.
const FAR_AHEAD: Duration = Duration::from_secs(24 * 60 * 60);
/// The greatest `leaseTransitions` that Kubernetes accepts.
const MOST_TRANSITIONS: u64 = i32::MAX as u64;

/// A record as it is kept in the annotation.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    record: Record,
    /// The spec that was written with it.
    spec: HolderState,
}

/// The holder of a Lease by its spec, and how often the holder has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct HolderState {
    holder: String,
    transitions: u64,
}

impl HolderState {
    fn of(lease: &Value) -> Self {
        Self {
            holder: holder(lease).to_owned(),
            transitions: spec(lease, "leaseTransitions").as_u64().unwrap_or_default(),
        }
    }
}

/// Returns the version of a Lease.
///
/// # Errors
/// [`ErrorKind::Unfit`] if it is missing, zero or not a number.
pub(crate) fn version(object: &Value) -> Result<u64, Error> {
    version_in(object["metadata"]["resourceVersion"].as_str())
}

/// Parses a version from the text of a `resourceVersion`.
///
/// # Errors
/// As [`version`].
pub(crate) fn version_in(text: Option<&str>) -> Result<u64, Error> {
    let Some(said) = text else {
        let what = "the answer has no resourceVersion, so it is not from an API server";
        return Err(Error::new(ErrorKind::Unfit, what).of_the_way());
    };
    said.parse().ok().filter(|version| *version > 0).ok_or_else(|| {
        let what = format!(
            "the API server has a resourceVersion that is no number, {said:?}: tokens could not be told apart"
        );
        Error::new(ErrorKind::Unfit, what).of_the_way()
    })
}

/// Returns the name of a Lease.
pub(crate) fn name(lease: &Value) -> &str {
    lease["metadata"]["name"].as_str().unwrap_or_default()
}

/// Returns the identity of a Lease's holder; empty if it has none.
pub(crate) fn holder(lease: &Value) -> &str {
    spec(lease, "holderIdentity").as_str().unwrap_or_default()
}

/// Returns whether two Leases have the same holder and the same annotations of elect.
pub(crate) fn says_the_same(one: &Value, other: &Value) -> bool {
    let is_same =
        |key| one["metadata"]["annotations"][key] == other["metadata"]["annotations"][key];
    holder(one) == holder(other) && [RECORD, WAITER, DATA].into_iter().all(is_same)
}

/// Returns the document in a Lease, which has this name in its election.
///
/// # Errors
/// [`ErrorKind::Unfit`] if the Lease is damaged, or Kubernetes itself chooses its holder. Damaged fences and values are
/// no error: [`Data`] states that it is damaged.
pub(crate) fn document(name: Name, lease: &Value) -> Result<Stored, Error> {
    let document = match name {
        Name::Record => Document::Record(record(lease)?),
        Name::Waiter(_) => Document::Waiter(whole(lease, WAITER)?),
        Name::Data => Document::Data(data(lease)),
    };
    Ok(Stored { version: version(lease)?, document })
}

/// Returns the record in a Lease.
///
/// # Errors
/// The same as of [`document`].
pub(crate) fn record(lease: &Value) -> Result<Record, Error> {
    let is_set = |field| !matches!(spec(lease, field), Value::Null);
    if is_set("strategy") || is_set("preferredHolder") {
        let what = format!(
            "the Lease {} is under coordinated leader election: Kubernetes names its holders itself; \
             use another name",
            name(lease)
        );
        return Err(Error::new(ErrorKind::Unfit, what));
    }
    let Kept { mut record, spec } = kept(lease, RECORD)?.unwrap_or_default();
    let (was, is) = (spec, HolderState::of(lease));
    let passed = is.transitions.saturating_sub(was.transitions);
    if is == was {
        // The annotation keeps no foreign holder; only the spec names it.
        record.holder = match record.holder.take() {
            _ if is.holder.is_empty() => None,
            Some(holder) => Some(holder),
            None => Some(foreign(lease, &is.holder)),
        };
    } else {
        record.last = record.holder.take().map(|holder| holder.nonce).or(record.last);
        let passed = if is.holder.is_empty() { passed } else { passed.max(1) };
        // Other programs may write any number of transitions. A token of elect is never greater than the version.
        let most = record.token.max(version(lease)?);
        record.token = record.token.saturating_add(passed).min(most);
        if !is.holder.is_empty() {
            record.entered = true;
            record.holder = Some(foreign(lease, &is.holder));
        }
    }
    if let Some(holder) = &mut record.holder {
        let renewed = time(self::spec(lease, "renewTime"));
        let renewed = renewed.and_then(|renewed| renewed.duration_since(UNIX_EPOCH).ok());
        holder.renewed = renewed.map(millis);
    }
    Ok(record)
}

/// Describes a program other than elect that holds a Lease.
fn foreign(lease: &Value, identity: &str) -> Holder {
    let mut beat = DefaultHasher::new();
    lease["spec"].to_string().hash(&mut beat);
    let ttl = spec(lease, "leaseDurationSeconds").as_u64().map_or(UNTOLD, Duration::from_secs);
    let since = time(spec(lease, "acquireTime")).unwrap_or(UNIX_EPOCH);
    Holder {
        nonce: 0,
        beat: beat.finish(),
        ttl: millis(ttl),
        candidate: Candidate::foreign(identity),
        joined: millis(since.duration_since(UNIX_EPOCH).unwrap_or_default()),
        since: millis(since.duration_since(UNIX_EPOCH).unwrap_or_default()),
        arrival: 0,
        renewed: None,
    }
}

/// Returns the waiter in a Lease; `None` if it is damaged, or the Lease holds no waiter.
pub(crate) fn waiter(lease: &Value) -> Option<Waiter> {
    whole(lease, WAITER).ok()
}

/// Returns the Lease to send: the one that was `before`, or a new one, with this name, label and document.
///
/// # Errors
/// [`ErrorKind::Unfit`] if it is too long.
pub(crate) fn written(
    before: Option<&Value>,
    name: &str,
    label: &str,
    document: &Document,
    now: SystemTime,
) -> Result<Value, Error> {
    let mut lease = before.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name},
            "spec": {"holderIdentity": "", "leaseTransitions": 0},
        })
    });
    let (key, text) = match document {
        Document::Record(record) => {
            let was = before.map(self::record).transpose()?;
            hold(&mut lease, was.as_ref(), record, now);
            let holder = record.holder.clone().filter(|holder| holder.nonce != 0);
            let record = Record { holder, ..record.clone() };
            (RECORD, text(&Kept { record, spec: HolderState::of(&lease) }))
        }
        Document::Waiter(waiter) => {
            renew(&mut lease, &waiter.candidate.id, waiter.ttl(), now);
            (WAITER, text(waiter))
        }
        Document::Data(data) => (DATA, text(data)),
    };
    let key_of_label = if matches!(document, Document::Data(_)) { DATA } else { ELECTION };
    *within(&mut lease, &["metadata", "labels", key_of_label]) = label.into();
    *within(&mut lease, &["metadata", "annotations", key]) = text.into();
    let annotations = lease["metadata"]["annotations"].as_object().into_iter().flatten();
    let length: usize =
        annotations.map(|(key, text)| key.len() + text.as_str().map_or(0, str::len)).sum();
    if length > LONGEST {
        let what = format!(
            "what {name} is to keep has {length} bytes: Kubernetes takes {LONGEST} of the annotations of a Lease"
        );
        return Err(Error::new(ErrorKind::Unfit, what));
    }
    Ok(lease)
}

/// Writes the record's holder to the spec. Only a change of holder and a renewal change the spec.
fn hold(lease: &mut Value, before: Option<&Record>, record: &Record, now: SystemTime) {
    let held = before.and_then(|before| before.holder.as_ref());
    let is_one = |holder: &Holder| {
        held.is_some_and(|held| {
            held.nonce == holder.nonce && held.candidate.id == holder.candidate.id
        })
    };
    let HolderState { transitions, .. } = HolderState::of(lease);
    match &record.holder {
        Some(holder) if is_one(holder) => {
            let is_renewed =
                held.is_some_and(|held| held.beat != holder.beat || held.ttl != holder.ttl);
            if is_renewed && holder.nonce != 0 {
                renew(lease, &holder.candidate.id, holder.ttl(), now);
            }
        }
        Some(holder) => {
            renew(lease, &holder.candidate.id, holder.ttl(), now);
            let ever = transitions > 0 || before.is_some_and(|before| before.entered);
            acquire(lease, transitions.saturating_add(u64::from(ever)));
        }
        // The same as client-go does.
        None if held.is_some() || before.is_none() => {
            renew(lease, "", SECOND, now);
            acquire(lease, transitions);
        }
        None => {}
    }
}

fn renew(lease: &mut Value, holder: &str, ttl: Duration, now: SystemTime) {
    let last = time(spec(lease, "renewTime")).and_then(|last| last.checked_add(SECOND));
    let now = last.filter(|least| *least < now + FAR_AHEAD).map_or(now, |least| now.max(least));
    let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    let now = humantime::format_rfc3339_micros(now).to_string();
    *within(lease, &["spec", "holderIdentity"]) = holder.into();
    *within(lease, &["spec", "leaseDurationSeconds"]) = seconds.into();
    *within(lease, &["spec", "renewTime"]) = now.into();
}

fn acquire(lease: &mut Value, transitions: u64) {
    *within(lease, &["spec", "acquireTime"]) = spec(lease, "renewTime").clone();
    *within(lease, &["spec", "leaseTransitions"]) = transitions.min(MOST_TRANSITIONS).into();
}

/// Returns the value at this path, and creates it if it is missing. Replaces a value on the way that is no object: no
/// API server sends one there.
pub(crate) fn within<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(value, |value, key| {
        if !value.is_object() {
            *value = json!({});
        }
        &mut value[*key]
    })
}

fn spec<'a>(lease: &'a Value, field: &str) -> &'a Value {
    &lease["spec"][field]
}

fn time(value: &Value) -> Option<SystemTime> {
    humantime::parse_rfc3339(value.as_str()?).ok()
}

fn kept<T: DeserializeOwned>(lease: &Value, key: &str) -> Result<Option<T>, Error> {
    let Some(text) = lease["metadata"]["annotations"][key].as_str() else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|error| damaged(lease, key, &error))
}

fn whole<T: DeserializeOwned>(lease: &Value, key: &str) -> Result<T, Error> {
    kept(lease, key)?.ok_or_else(|| damaged(lease, key, &"it is missing"))
}

/// Returns the fences and values that a Lease keeps, or data that says why it is damaged.
fn data(lease: &Value) -> Data {
    let damaged = |error: Error| Data { damage: Some(error.to_string()), ..Data::default() };
    whole(lease, DATA).unwrap_or_else(damaged)
}

fn damaged(lease: &Value, key: &str, why: &dyn std::fmt::Display) -> Error {
    let namespace = lease["metadata"]["namespace"].as_str().unwrap_or("default");
    let what = format!(
        "the annotation {key} of the Lease {} in the namespace {namespace} is damaged: {why}",
        name(lease)
    );
    Error::new(ErrorKind::Unfit, what).of_a_text()
}

fn text(document: &impl Serialize) -> String {
    // JSON refuses only keys that are not strings, and no document has such keys.
    serde_json::to_string(document).unwrap_or_default()
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
