//! The kinds of objects: which fields of a client's object the server keeps, and what it refuses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::status::{Flaw, Reply, bad_request};

/// The greatest size of all annotations of an object, in bytes.
const ANNOTATIONS: usize = 256 << 10;
const SUBDOMAIN: usize = 253;
const NAME_PART: usize = 63;

/// The resources of the fake server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Kind {
    Namespaces,
    Leases,
    Pods,
    Events,
}

impl Kind {
    pub(super) fn of(group: &str, version: &str, resource: &str) -> Option<Self> {
        Some(match (group, version, resource) {
            ("", "v1", "namespaces") => Self::Namespaces,
            ("coordination.k8s.io", "v1", "leases") => Self::Leases,
            ("", "v1", "pods") => Self::Pods,
            ("", "v1", "events") => Self::Events,
            _ => return None,
        })
    }

    pub(super) const fn group(self) -> &'static str {
        if matches!(self, Self::Leases) { "coordination.k8s.io" } else { "" }
    }

    pub(super) const fn api_version(self) -> &'static str {
        if matches!(self, Self::Leases) { "coordination.k8s.io/v1" } else { "v1" }
    }

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Leases => "leases",
            Self::Pods => "pods",
            Self::Events => "events",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "Namespace",
            Self::Leases => "Lease",
            Self::Pods => "Pod",
            Self::Events => "Event",
        }
    }

    /// Returns whether a PUT without resourceVersion is carried out.
    pub(super) const fn takes_unconditional_updates(self) -> bool {
        !matches!(self, Self::Leases)
    }

    /// Returns whether a PUT creates a missing object.
    pub(super) const fn is_made_by_update(self) -> bool {
        matches!(self, Self::Leases | Self::Events)
    }

    /// Returns an object with kind and version only, as in a bookmark.
    pub(super) fn empty(self, version: u64) -> Value {
        let metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        json!({"kind": self.name(), "apiVersion": self.api_version(), "metadata": metadata, "spec": {}})
    }
}

/// Parses a client's object. Fields that the server does not know are dropped.
pub(super) fn decode(kind: Kind, body: &[u8]) -> Result<Value, Reply> {
    let name = kind.name();
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        let what =
            if error.is_eof() { "unexpected end of JSON input" } else { "invalid character" };
        let start = String::from_utf8_lossy(&body[..body.len().min(100)]);
        bad_request(&format!(
            "the object provided is unrecognized (must be of type {name}): \
             couldn't get version/kind; json parse error: {what} ({start})"
        ))
    })?;
    let own = [("kind", name), ("apiVersion", kind.api_version())];
    for (field, expected) in own {
        let given = value[field].as_str().unwrap_or(expected);
        if given != expected {
            return Err(bad_request(&format!(
                "the {field} in the data ({given}) does not match the expected {field} ({expected})"
            )));
        }
    }
    normalize(kind, value).map_err(|why| {
        bad_request(&format!("{name} in version \"v1\" cannot be handled as a {name}: {why}"))
    })
}

fn normalize(kind: Kind, mut value: Value) -> Result<Value, String> {
    let Some(fields) = value.as_object_mut() else { return Err("no object".to_owned()) };
    let metadata = metadata(fields.remove("metadata"))?;
    let own = match kind {
        Kind::Leases => json!({"spec": spec(fields.remove("spec"))?}),
        Kind::Pods => {
            let status = json!({"phase": "Pending", "qosClass": "BestEffort"});
            json!({"spec": fields.remove("spec"), "status": fields.remove("status").unwrap_or(status)})
        }
        Kind::Events => event(fields),
        Kind::Namespaces => json!({"spec": {}, "status": {"phase": "Active"}}),
    };
    let mut object =
        json!({"kind": kind.name(), "apiVersion": kind.api_version(), "metadata": metadata});
    for (field, value) in own.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    Ok(object)
}

fn metadata(given: Option<Value>) -> Result<Value, String> {
    const TEXTS: [&str; 5] = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let mut given = match given {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("ObjectMeta: expect { or n".to_owned()),
    };
    let mut kept = Map::new();
    for field in TEXTS {
        match given.remove(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() => {}
            Some(Value::String(text)) => _ = kept.insert(field.to_owned(), text.into()),
            Some(_) => return Err(format!("ObjectMeta.{field}: expects \" or n")),
        }
    }
    for field in ["labels", "annotations"] {
        match given.remove(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(texts)) if texts.is_empty() => {}
            Some(Value::Object(texts)) if texts.values().all(Value::is_string) => {
                kept.insert(field.to_owned(), texts.into());
            }
            Some(_) => return Err(format!("ObjectMeta.{field}: expects \" or n")),
        }
    }
    for field in ["ownerReferences", "finalizers"] {
        if let Some(list) =
            given.remove(field).filter(|list| list.as_array().is_some_and(|list| !list.is_empty()))
        {
            kept.insert(field.to_owned(), list);
        }
    }
    Ok(kept.into())
}

fn spec(given: Option<Value>) -> Result<Value, String> {
    let given = match given {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("v1.Lease.Spec: expect { or n".to_owned()),
    };
    let mut kept = Map::new();
    let is_number =
        |value: &Value| value.as_i64().is_some_and(|value| i32::try_from(value).is_ok());
    let is_time = |value: &Value| value.as_str().is_some_and(is_micro_time);
    for (field, fits) in [
        ("holderIdentity", &Value::is_string as &dyn Fn(&Value) -> bool),
        ("leaseDurationSeconds", &is_number),
        ("acquireTime", &is_time),
        ("renewTime", &is_time),
        ("leaseTransitions", &is_number),
    ] {
        match given.get(field) {
            None | Some(Value::Null) => {}
            Some(value) if fits(value) => _ = kept.insert(field.to_owned(), value.clone()),
            Some(value) => {
                return Err(format!("v1.Lease.Spec: v1.LeaseSpec.{field}: cannot parse {value}"));
            }
        }
    }
    Ok(kept.into())
}

/// Returns whether a text is a time like `2006-01-02T15:04:05.000000Z`: six digits after the point,
/// then `Z` or an offset.
fn is_micro_time(text: &str) -> bool {
    const FORM: &[u8] = b"dddd-dd-ddTdd:dd:dd.dddddd";
    let Some((time, zone)) = text.split_at_checked(FORM.len()) else { return false };
    let fits = |(form, given): (&u8, u8)| {
        if *form == b'd' { given.is_ascii_digit() } else { *form == given }
    };
    FORM.iter().zip(time.bytes()).all(fits)
        && (zone == "Z" || (zone.len() == 6 && zone.starts_with(['+', '-'])))
}

fn event(given: &mut Map<String, Value>) -> Value {
    let mut event = json!({"eventTime": null, "reportingComponent": "", "reportingInstance": ""});
    for (field, value) in std::mem::take(given) {
        if !matches!(field.as_str(), "kind" | "apiVersion") {
            event[field] = value;
        }
    }
    event
}

/// Returns all flaws of an object.
pub(super) fn flaws(kind: Kind, object: &Value) -> Vec<Flaw> {
    let metadata = &object["metadata"];
    let mut flaws = Vec::new();
    match metadata["name"].as_str() {
        None => flaws.push(Flaw {
            field: "metadata.name".to_owned(),
            reason: "FieldValueRequired",
            message: "Required value: name or generateName is required".to_owned(),
        }),
        Some(name) => flaws.extend(flaw_of_name(name)),
    }
    flaws.extend(flaws_of_labels(&metadata["labels"]));
    flaws.extend(flaws_of_annotations(&metadata["annotations"]));
    match kind {
        Kind::Leases => flaws.extend(flaws_of_spec(&object["spec"])),
        Kind::Events => {
            let about = &object["involvedObject"]["namespace"];
            if *about != metadata["namespace"] {
                let why = "does not match event.namespace";
                flaws.push(Flaw::value("involvedObject.namespace", &about.to_string(), why));
            }
        }
        Kind::Pods | Kind::Namespaces => {}
    }
    flaws
}

fn flaw_of_name(name: &str) -> Option<Flaw> {
    let why = if name.len() > SUBDOMAIN {
        "must be no more than 253 characters"
    } else if !is_subdomain(name) {
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    } else {
        return None;
    };
    Some(Flaw::value("metadata.name", &quoted(name), why))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn is_subdomain(name: &str) -> bool {
    let alnum = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.split('.').all(|part| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(alnum)
            && bytes.last().is_some_and(alnum)
            && bytes.iter().all(|byte| alnum(byte) || *byte == b'-')
    })
}

/// Returns whether a text can stand after the slash in the name of a label or an annotation.
fn is_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn flaw_of_key(field: &str, key: &str) -> Option<Flaw> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(a, b)| (Some(a), b));
    let why = if prefix.is_some_and(|prefix| prefix.len() > SUBDOMAIN || !is_subdomain(prefix)) {
        "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
    } else if name.len() > NAME_PART {
        "name part must be no more than 63 characters"
    } else if !is_name_part(name) {
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    } else {
        return None;
    };
    Some(Flaw::value(field, &quoted(key), why))
}

fn flaws_of_labels(labels: &Value) -> Vec<Flaw> {
    let field = "metadata.labels";
    let flaw = |(key, value): (&String, &Value)| {
        let value = value.as_str().unwrap_or_default();
        let why = if value.len() > NAME_PART {
            "must be no more than 63 characters"
        } else if !value.is_empty() && !is_name_part(value) {
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        } else {
            return flaw_of_key(field, key);
        };
        Some(Flaw::value(field, &quoted(value), why))
    };
    labels.as_object().into_iter().flatten().filter_map(flaw).collect()
}

fn flaws_of_annotations(annotations: &Value) -> Vec<Flaw> {
    let field = "metadata.annotations";
    let Some(annotations) = annotations.as_object() else { return Vec::new() };
    let keys = annotations.keys().filter_map(|key| flaw_of_key(field, &key.to_ascii_lowercase()));
    let mut flaws: Vec<Flaw> = keys.collect();
    let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > ANNOTATIONS {
        flaws.push(Flaw {
            field: field.to_owned(),
            reason: "FieldValueTooLong",
            message: format!("Too long: must have at most {ANNOTATIONS} bytes"),
        });
    }
    flaws
}

fn flaws_of_spec(spec: &Value) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (field, least, why) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must to greater or equal than 0"),
    ] {
        if let Some(value) = spec[field].as_i64().filter(|value| *value < least) {
            flaws.push(Flaw::value(&format!("spec.{field}"), &value.to_string(), why));
        }
    }
    flaws
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits_after_the_point() {
        assert!(is_micro_time("2026-11-26T12:00:02.000000Z"));
        assert!(is_micro_time("2026-11-26T12:00:02.123456+01:00"));
        for bad in
            ["", "2026-11-26T12:00:02Z", "2026-11-26T12:00:02.000Z", "2026-11-26T12:00:02.0000000Z"]
        {
            assert!(!is_micro_time(bad), "{bad}");
        }
    }

    #[test]
    fn names_are_those_of_hosts() {
        for good in ["a", "a.b", "a-b.0", "job.1f"] {
            assert_eq!(flaw_of_name(good), None, "{good}");
        }
        for bad in ["", "A", "a_b", "a..b", ".a", "a-", "a:b", &"a".repeat(254)] {
            assert!(flaw_of_name(bad).is_some(), "{bad}");
        }
    }
}
