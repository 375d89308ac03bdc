//! Sends the requests about a namespace's Leases to an API server, and turns its refusals into errors.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use elect_api::{Error, ErrorKind};
use hyper::Method;
use serde_json::Value;

use crate::address::escaped;
use crate::client::{Access, Client, Failure, List, MOST_ITEMS, TOO_LONG, value};
use crate::error::{Attempt, Verb};
use crate::lease;

/// The time limit of each request, for callers that set no limit themselves.
const LIMIT: Duration = Duration::from_secs(10);
/// The greatest size of a list of Leases, in bytes.
const MOST_BYTES: usize = 8 << 20;

/// An API server, and a namespace there.
pub(crate) struct Api {
    pub(crate) client: Client,
    pub(crate) server: String,
    /// The source of the credentials.
    source: String,
    pub(crate) namespace: String,
    /// The verbs that the API server has answered properly so far, as bits of [`Verb::mark`].
    answered: AtomicU8,
}

impl Api {
    pub(crate) fn new(access: Access, namespace: String) -> Self {
        let (server, source) = (access.server(), access.source());
        let client = Client::new(access);
        Self { client, server, source, namespace, answered: AtomicU8::new(0) }
    }

    pub(crate) fn path(&self, name: &str, query: &str) -> String {
        let namespace = &self.namespace;
        let slash = if name.is_empty() { "" } else { "/" };
        let mark = if query.is_empty() { "" } else { "?" };
        format!(
            "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases{slash}{name}{mark}{query}"
        )
    }

    /// Sends a request about one Lease, or about all. A 404 or 409 about a Lease is no error: it is returned as a
    /// status.
    pub(crate) async fn ask(
        &self,
        verb: Verb,
        method: Method,
        name: &str,
        query: &str,
        body: Option<&Value>,
    ) -> Result<Result<Value, u16>, Error> {
        // A new Lease is named only in the body, not in the path.
        let path = self.path(if verb == Verb::Create { "" } else { name }, query);
        match self.client.call(method, &path, body, LIMIT).await {
            Ok(answer) if verb == Verb::Delete || self.is_meant(&answer, name, body) => {
                self.answered(verb);
                Ok(Ok(answer))
            }
            // A cache answered, or a connection that is out of step. The state of the Lease is unknown, and so is the
            // outcome of a write.
            Ok(_) => {
                let server = &self.server;
                let why = format!("{server} answered with something else than that Lease");
                Err(self.failed(verb, name, Failure::Unknown(why)).await)
            }
            // Other servers may answer with the same status, such as a proxy without an API server behind it.
            Err(Failure::Refused { status: status @ (404 | 409), reason, kind, .. })
                if kind == "leases"
                    && ["NotFound", "Conflict", "AlreadyExists"].contains(&reason.as_str()) =>
            {
                self.answered(verb);
                Ok(Err(status))
            }
            Err(failure) => Err(self.failed(verb, name, failure).await),
        }
    }

    /// Returns whether an answer is the Lease of this name, and, after a write, as it was written.
    fn is_meant(&self, answer: &Value, name: &str, written: Option<&Value>) -> bool {
        answer["metadata"]["namespace"] == self.namespace.as_str()
            && lease::name(answer) == name
            && written.is_none_or(|written| lease::says_the_same(answer, written))
    }

    /// Returns the error of a request.
    async fn failed(&self, verb: Verb, name: &str, failure: Failure) -> Error {
        let mut attempt = self.attempt(verb, name);
        if matches!(failure, Failure::Refused { status: 403, .. }) && !attempt.has_right {
            attempt.has_right = self.refuses_all_requests().await;
        }
        attempt.error(failure)
    }

    /// Returns whether the API server refuses a request that every authenticated client may send. It does so just after
    /// its start, while it does not know its Roles yet.
    async fn refuses_all_requests(&self) -> bool {
        let answer = self.client.call(Method::GET, "/version", None, LIMIT).await;
        matches!(answer, Err(Failure::Refused { status: 403, .. }))
    }

    fn attempt<'a>(&'a self, verb: Verb, what: &'a str) -> Attempt<'a> {
        let answered = self.answered.load(Ordering::Relaxed);
        Attempt {
            verb,
            what,
            namespace: &self.namespace,
            server: &self.server,
            source: &self.source,
            has_right: answered & verb.mark() != 0,
            is_known: answered != 0,
            trouble: self.client.trouble(),
        }
    }

    fn answered(&self, verb: Verb) {
        self.answered.fetch_or(verb.mark(), Ordering::Relaxed);
    }

    pub(crate) fn odd(&self, verb: Verb, what: &str, status: u16) -> Error {
        let refused = Failure::Refused {
            status,
            reason: String::new(),
            kind: String::new(),
            message: String::new(),
            retry_after: None,
        };
        self.attempt(verb, what).error(refused)
    }

    /// Passes each Lease that matches the query to `show`, and returns the version of the list. Unreadable Leases are
    /// left out.
    pub(crate) async fn list(
        &self,
        query: &str,
        mut page: usize,
        mut show: impl FnMut(Value) + Send,
    ) -> Result<u64, Error> {
        let (mut bytes, mut count, mut from) = (0, 0, String::new());
        loop {
            let path = self.path("", &format!("limit={page}&{query}{from}"));
            let answer = match self.client.fetch(Method::GET, &path, None, LIMIT).await {
                // The answer was too long: a smaller page may be short enough.
                Err(Failure::Strange { what: TOO_LONG, .. }) if page > 1 => {
                    page = page.div_ceil(16);
                    continue;
                }
                Err(failure) => return Err(self.failed(Verb::List, "", failure).await),
                Ok(answer) => answer,
            };
            let found = serde_json::from_slice::<List<'_>>(&answer);
            let List { metadata, items } = found
                .map_err(|error| self.attempt(Verb::List, "").error(self.client.odd(&error)))?;
            self.answered(Verb::List);
            (bytes, count) = (bytes + answer.len(), count + items.len());
            if count > MOST_ITEMS || bytes > MOST_BYTES {
                let what = format!(
                    "the Leases in {} are more than elect reads at once: {MOST_ITEMS}, or 8 MiB; give elections a \
                     namespace of their own",
                    self.namespace
                );
                // Any user who may create Leases can cause this, and it ends with those Leases.
                return Err(Error::new(ErrorKind::Unfit, what).of_the_way());
            }
            items.iter().filter_map(|item| value(item.get().as_bytes()).ok()).for_each(&mut show);
            match metadata.r#continue {
                Some(next) if !next.is_empty() => from = format!("&continue={}", escaped(&next)),
                _ => return lease::version_in(metadata.resource_version.as_deref()),
            }
        }
    }
}
