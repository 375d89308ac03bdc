//! The replies to requests.

use serde_json::{Value, json};

use super::access::Deed;
use super::objects::Kind;
use super::watch::Watch;

/// A reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Json(Value),
    Text(String),
    Watch(Watch),
}

impl Reply {
    pub(super) const fn json(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body: Body::Json(body) }
    }

    pub(super) fn text(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), body: Body::Text(body.to_owned()) }
    }

    pub(super) const fn watch(watch: Watch) -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Watch(watch) }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// Returns a Status that reports a failure. An empty reason is left out.
pub(super) fn status(code: u16, reason: &str, message: &str, details: Option<Value>) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code,
    });
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    if let Some(details) = details {
        status["details"] = details;
    }
    status
}

fn failure(code: u16, reason: &str, message: &str, details: Option<Value>) -> Reply {
    Reply::json(code, status(code, reason, message, details))
}

/// Returns the details of an object. An empty group or name is left out.
fn details(group: &str, kind: &str, name: &str) -> Value {
    let mut details = json!({"kind": kind});
    for (field, value) in [("group", group), ("name", name)] {
        if !value.is_empty() {
            details[field] = value.into();
        }
    }
    details
}

fn of(kind: Kind, name: &str) -> Value {
    details(kind.group(), kind.plural(), name)
}

/// Returns the name of a resource or kind with its group: `leases.coordination.k8s.io`, `pods`.
fn qualified(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

fn plural(kind: Kind) -> String {
    qualified(kind.group(), kind.plural())
}

pub(super) fn bad_request(message: &str) -> Reply {
    failure(400, "BadRequest", message, None)
}

pub(super) fn unauthorized() -> Reply {
    failure(401, "Unauthorized", "Unauthorized", None)
}

pub(super) fn forbidden(user: &str, deed: &Deed<'_>) -> Reply {
    let Deed { verb, group, resource, namespace, name } = *deed;
    let object = qualified(group, resource);
    let named = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
    let place = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{namespace}\"")
    };
    let message = format!(
        "{object}{named} is forbidden: User \"{user}\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {place}"
    );
    failure(403, "Forbidden", &message, Some(details(group, resource, name)))
        .with("X-Content-Type-Options", "nosniff")
}

pub(super) fn forbidden_path(user: &str, verb: &str, path: &str) -> Reply {
    let message = format!("forbidden: User \"{user}\" cannot {verb} path \"{path}\"");
    failure(403, "Forbidden", &message, Some(json!({})))
}

/// 403 for a PUT that would have to create an object without the right to.
pub(super) fn may_not_make(kind: Kind, name: &str) -> Reply {
    let message = format!("{} \"{name}\" is forbidden: ", plural(kind));
    failure(403, "Forbidden", &message, Some(of(kind, name)))
}

pub(super) fn not_found(kind: Kind, name: &str) -> Reply {
    let message = format!("{} \"{name}\" not found", plural(kind));
    failure(404, "NotFound", &message, Some(of(kind, name)))
}

pub(super) fn no_such_path() -> Reply {
    let message = "the server could not find the requested resource";
    failure(404, "NotFound", message, Some(json!({})))
}

pub(super) fn method_not_allowed() -> Reply {
    let message = "the server does not allow this method on the requested resource";
    failure(405, "MethodNotAllowed", message, Some(json!({})))
}

pub(super) fn already_exists(kind: Kind, name: &str) -> Reply {
    let message = format!("{} \"{name}\" already exists", plural(kind));
    failure(409, "AlreadyExists", &message, Some(of(kind, name)))
}

/// 409 for a PUT or PATCH.
pub(super) fn conflict(kind: Kind, name: &str, why: &str) -> Reply {
    let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", plural(kind));
    failure(409, "Conflict", &message, Some(of(kind, name)))
}

/// 409 for a DELETE whose preconditions fail.
pub(super) fn precondition(kind: Kind, name: &str, why: &str) -> Reply {
    let object = qualified(kind.group(), kind.name());
    let message = format!("Operation cannot be fulfilled on {object} \"{name}\": {why}");
    failure(409, "Conflict", &message, Some(details(kind.group(), kind.name(), name)))
}

/// A flaw in one field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) field: String,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Flaw {
    pub(super) fn value(field: &str, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { field: field.to_owned(), reason: "FieldValueInvalid", message }
    }
}

/// 422. `object` is the kind or the resource, which differs from check to check.
fn invalid(group: &str, object: &str, name: &str, flaws: &[Flaw]) -> Reply {
    let told: Vec<String> =
        flaws.iter().map(|flaw| format!("{}: {}", flaw.field, flaw.message)).collect();
    let told = if told.len() == 1 { told.concat() } else { format!("[{}]", told.join(", ")) };
    let message = format!("{} \"{name}\" is invalid: {told}", qualified(group, object));
    let causes = flaws
        .iter()
        .map(|flaw| json!({"reason": flaw.reason, "message": flaw.message, "field": flaw.field}));
    let mut details = details(group, object, name);
    details["causes"] = causes.collect();
    failure(422, "Invalid", &message, Some(details))
}

pub(super) fn flawed(kind: Kind, name: &str, flaws: &[Flaw]) -> Reply {
    invalid(kind.group(), kind.name(), name, flaws)
}

pub(super) fn version_missing(kind: Kind, name: &str) -> Reply {
    let flaw = Flaw::value("metadata.resourceVersion", "0x0", "must be specified for an update");
    invalid(kind.group(), kind.plural(), name, &[flaw])
}

pub(super) fn too_large() -> Reply {
    let message = "Request entity too large: limit is 3145728";
    failure(413, "RequestEntityTooLarge", message, None)
}

/// 500 with the message of the part that failed inside.
pub(super) fn internal(message: &str) -> Reply {
    failure(500, "", message, None)
}

pub(super) fn no_number(text: &str) -> String {
    format!("strconv.ParseUint: parsing \"{text}\": invalid syntax")
}

pub(super) fn no_version(text: &str) -> Reply {
    let why = no_number(text);
    internal(&format!("resourceVersion: Invalid value: \"{text}\": {why}"))
}

pub(super) fn version_too_large(asked: u64, current: u64) -> Reply {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let cause =
        json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
    let details = json!({"causes": [cause], "retryAfterSeconds": 1});
    failure(504, "Timeout", &message, Some(details)).with("Retry-After", "1")
}

pub(super) fn expired(message: &str) -> Reply {
    failure(410, "Expired", message, None)
}

/// 429 by the filter in front of the server, when too many requests are under way.
pub(super) fn throttled(retry_after: u64) -> Reply {
    Reply::text(429, "Too many requests, please try again later.\n")
        .with("Retry-After", &retry_after.to_string())
        .with("X-Content-Type-Options", "nosniff")
}

/// Returns a failure with this status, in the words of real servers.
pub(super) fn broken(status: u16) -> Reply {
    match status {
        503 => failure(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
            None,
        ),
        504 => failure(
            504,
            "Timeout",
            "Timeout: request did not complete within requested timeout 34s",
            Some(json!({})),
        ),
        status => internal("rpc error: code = Unavailable desc = transport is closing").at(status),
    }
}

impl Reply {
    fn at(mut self, status: u16) -> Self {
        self.status = status;
        if let Body::Json(body) = &mut self.body {
            body["code"] = status.into();
        }
        self
    }
}
