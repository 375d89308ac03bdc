//! Requests, and the answers that an API server must give: one list for the fake and for a real server.
//!
//! The expected answers come from a real server of version 1.20. Where newer servers use other words, these are not
//! checked.

mod bystanders;
mod circumstances;
mod deletion;
mod reading;
mod rights;
mod watching;
mod writing;

use std::thread;

use serde_json::{Value, json};

pub use self::circumstances::{compacted, throttled, while_etcd_stands_still};
use super::{ApiServer, Ask, Rule};

/// The namespace of the cases of [`check_all`].
pub const NAMESPACE: &str = "elect";

/// The user of a request. The code that runs the cases creates these users, with these [rules](Caller::rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A user with all rights. Its name does not matter.
    Admin,
    /// The user `seats`, with the rights for an election with seats.
    Seats,
    /// The user `race`, with the rights for an election in the existing Lease `raced` alone.
    Race,
    /// The user `nobody`, without rights.
    Nobody,
    /// A request without a token.
    Anonymous,
    /// A request with a token that the server does not know.
    Unknown,
}

impl Caller {
    /// The users that have to be created.
    pub const USERS: [Self; 3] = [Self::Seats, Self::Race, Self::Nobody];

    /// Returns the name of the user.
    pub const fn user(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Seats => "seats",
            Self::Race => "race",
            Self::Nobody => "nobody",
            Self::Anonymous | Self::Unknown => "",
        }
    }

    /// Returns the rights of the user in the cases' namespace.
    pub fn rules(self, namespace: &str) -> Vec<Rule> {
        match self {
            Self::Admin => vec![Rule::everything()],
            Self::Seats => vec![
                Rule::leases(namespace, &["get", "list", "watch", "create", "update", "delete"]),
                Rule::new("", "events", namespace, &["create"]),
                Rule::new("", "pods", namespace, &["get", "patch"]),
            ],
            Self::Race => {
                vec![Rule::leases(namespace, &["get", "watch", "update"]).named(&["raced"])]
            }
            Self::Nobody | Self::Anonymous | Self::Unknown => Vec::new(),
        }
    }
}

/// Sends a request as a user, and returns status and body, as [`ask`](super::ask) does. The request has no token yet.
pub type Asker<'a> = &'a dyn Fn(Caller, &Ask<'_>) -> (u16, Value);

/// Some requests and their correct answers. A case needs no object in the namespace, and leaves some there. Cases of
/// one process may run at the same time, because they mostly wait.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The behaviour that it checks.
    pub name: &'static str,
    run: fn(&Api<'_>),
}

/// Returns all cases that hold for any server.
pub fn cases() -> Vec<Case> {
    let parts = [
        reading::cases(),
        writing::cases(),
        deletion::cases(),
        watching::cases(),
        rights::cases(),
        bystanders::cases(),
    ];
    parts.concat()
}

/// Runs one case.
///
/// # Panics
/// Panics if an answer is wrong. The message names the case and has the answer.
pub fn check(case: &Case, namespace: &str, ask: Asker<'_>) {
    (case.run)(&Api { case: case.name, namespace, ask });
}

/// Runs cases at the same time in a server's namespace [`NAMESPACE`], once the server has their users.
///
/// # Panics
/// Panics if a case fails. The message names all that do.
#[track_caller]
pub fn check_all(server: &ApiServer, cases: &[Case]) {
    admit(server);
    let ask = |caller, ask: &Ask<'_>| ask_by(server, caller, ask);
    let failed: Vec<&str> = thread::scope(|scope| {
        let begin = |case| (case, scope.spawn(move || check(case, NAMESPACE, &ask)));
        let running: Vec<(&Case, _)> = cases.iter().map(begin).collect();
        let failed = |(case, run): (&Case, thread::ScopedJoinHandle<'_, ()>)| {
            run.join().err().map(|_| case.name)
        };
        running.into_iter().filter_map(failed).collect()
    });
    assert!(failed.is_empty(), "{} of {} fail: {failed:#?}", failed.len(), cases.len());
}

/// Creates the users of the cases on a server.
pub fn admit(server: &ApiServer) {
    for caller in Caller::USERS {
        server.add_user(caller.user(), &caller.rules(NAMESPACE));
    }
}

/// Sends a request to a server as one of these users, as an [`Asker`] does.
///
/// # Panics
/// Panics without an answer.
pub fn ask_by(server: &ApiServer, caller: Caller, ask: &Ask<'_>) -> (u16, Value) {
    let token = match caller {
        Caller::Admin => Some(server.token(server.kubeconfig())),
        Caller::Anonymous => None,
        Caller::Unknown => Some("wrong".to_owned()),
        Caller::Seats | Caller::Race | Caller::Nobody => Some(format!("{}-token", caller.user())),
    };
    server.ask(&Ask { token: token.as_deref(), ..*ask })
}

/// Defines the list of a file's cases.
macro_rules! list {
    ($($run:ident: $name:literal,)*) => {
        pub(super) fn cases() -> Vec<super::Case> {
            vec![$(super::Case { name: $name, run: $run }),*]
        }
    };
}
use list;

/// The server under test.
struct Api<'a> {
    case: &'static str,
    namespace: &'a str,
    ask: Asker<'a>,
}

/// One answer of the server.
#[derive(Debug)]
struct Answer {
    case: &'static str,
    request: String,
    status: u16,
    body: Value,
}

impl Api<'_> {
    /// Returns the path of the Leases.
    fn leases(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    /// Returns the path of a Lease.
    fn lease(&self, name: &str) -> String {
        format!("{}/{name}", self.leases())
    }

    /// Returns the path of another resource in the namespace.
    fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    fn by(&self, caller: Caller, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.raw(caller, &Ask { method, path, body: body.as_bytes(), ..Ask::default() })
    }

    fn raw(&self, caller: Caller, ask: &Ask<'_>) -> Answer {
        let (status, body) = (self.ask)(caller, ask);
        let request = format!("{} {} by {caller:?}", ask.method, ask.path);
        Answer { case: self.case, request, status, body }
    }

    fn get(&self, path: &str) -> Answer {
        self.by(Caller::Seats, "GET", path, None)
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.by(Caller::Seats, "POST", path, Some(body))
    }

    fn put(&self, path: &str, body: &Value) -> Answer {
        self.by(Caller::Seats, "PUT", path, Some(body))
    }

    fn delete(&self, path: &str) -> Answer {
        self.by(Caller::Seats, "DELETE", path, None)
    }

    /// Creates a new Lease, and returns it as the server answered.
    fn made(&self, name: &str) -> Value {
        self.post(&self.leases(), &lease(name)).is(201).body
    }
}

impl Answer {
    #[track_caller]
    fn expect(&self, holds: bool, what: &str) {
        let Self { case, request, status, body } = self;
        assert!(holds, "{case}: {request}: no {what}: {status} {body}");
    }

    /// Asserts this status.
    #[track_caller]
    fn is(self, status: u16) -> Self {
        self.expect(self.status == status, &format!("status {status}"));
        self
    }

    /// Asserts a Status that reports a failure, with this status and reason.
    #[track_caller]
    fn fails(self, status: u16, reason: &str) -> Self {
        let answer = self.is(status);
        let expected =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status});
        for (field, value) in expected.as_object().into_iter().flatten() {
            answer.expect(answer.body[field] == *value, field);
        }
        answer.expect(answer.body["reason"].as_str().unwrap_or_default() == reason, reason);
        answer
    }

    /// Asserts that the message contains these words.
    #[track_caller]
    fn says(self, words: &str) -> Self {
        let message = self.body["message"].as_str().unwrap_or_default();
        self.expect(message.contains(words), words);
        self
    }

    /// Asserts group, kind and name in the details. Empty means that there are none.
    #[track_caller]
    fn about(self, group: &str, kind: &str, name: &str) -> Self {
        for (field, expected) in [("group", group), ("kind", kind), ("name", name)] {
            let given = self.body["details"][field].as_str();
            self.expect(given.unwrap_or_default() == expected, &format!("{field} {expected}"));
        }
        self
    }

    /// Asserts a cause with this reason and this field.
    #[track_caller]
    fn because(self, reason: &str, field: &str) -> Self {
        let causes = self.body["details"]["causes"].as_array().cloned().unwrap_or_default();
        let found = causes.iter().any(|cause| cause["reason"] == reason && cause["field"] == field);
        self.expect(found, &format!("{reason} of {field}"));
        self
    }

    /// Returns the events of a watch: the kind and the object of each.
    #[track_caller]
    fn events(&self) -> Vec<(String, Value)> {
        let events = match &self.body {
            Value::String(lines) => {
                let parsed: Result<Vec<Value>, _> =
                    lines.lines().map(serde_json::from_str).collect();
                self.expect(parsed.is_ok(), "JSON on each line");
                parsed.unwrap_or_default()
            }
            event => vec![event.clone()],
        };
        let parts = events.into_iter().map(|mut event| {
            let kind = event["type"].as_str().unwrap_or_default().to_owned();
            (kind, event["object"].take())
        });
        // The server sends bookmarks as it likes.
        parts.filter(|(kind, _)| kind != "BOOKMARK").collect()
    }
}

/// Returns a name that no object has.
fn new_name(start: &str) -> String {
    format!("{start}-{:08x}", fastrand::u32(..))
}

/// Returns a Lease as a client writes it.
fn lease(name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-11-26T12:00:00.000000Z",
            "renewTime": "2026-11-26T12:00:00.000000Z",
            "leaseTransitions": 0,
        },
    })
}

/// Returns the object with another value at a path.
fn with(object: &Value, path: &str, value: impl Into<Value>) -> Value {
    let mut object = object.clone();
    let mut place = &mut object;
    for word in path.split('.') {
        place = &mut place[word];
    }
    *place = value.into();
    object
}

/// Returns the object without one field of its metadata.
fn without(object: &Value, field: &str) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove(field);
    }
    object
}

fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    text.parse().unwrap_or_else(|_| panic!("no version: {object}"))
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

const COORDINATION: &str = "coordination.k8s.io";
/// A UID that no object has.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";
