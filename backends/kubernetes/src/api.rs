//! What is asked of an API server about the Leases of a namespace, and what its refusals mean.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use elect_api::{Error, ErrorKind, Survey};
use hyper::Method;
use serde_json::Value;

use crate::address::escaped;
use crate::client::{Access, Client, Failure};
use crate::error::{Attempt, Verb};
use crate::lease;

/// The longest that any request takes, for callers who do not look at the time themselves.
const LIMIT: Duration = Duration::from_secs(10);
/// How many Leases a list has at most: those who wait in one election, and as many elections.
const MOST: usize = 2 * Survey::MOST;

/// An API server, and a namespace there.
pub(crate) struct Api {
    pub(crate) client: Client,
    pub(crate) server: String,
    /// Whose credentials we have.
    source: String,
    pub(crate) namespace: String,
    /// What it has ever answered as it should: [`Verb::mark`].
    answered: AtomicU8,
}

impl Api {
    pub(crate) fn new(access: Access, namespace: String) -> Result<Self, Error> {
        let (server, source) = (access.server(), access.source());
        let client = Client::new(access)?;
        Ok(Self { client, server, source, namespace, answered: AtomicU8::new(0) })
    }

    pub(crate) fn path(&self, name: &str, query: &str) -> String {
        let namespace = &self.namespace;
        let slash = if name.is_empty() { "" } else { "/" };
        let mark = if query.is_empty() { "" } else { "?" };
        format!(
            "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases{slash}{name}{mark}{query}"
        )
    }

    /// Asks for a Lease, or for all. What the API server refuses because of what is there, or is not, is no error.
    pub(crate) async fn ask(
        &self,
        verb: Verb,
        method: Method,
        name: &str,
        query: &str,
        body: Option<&Value>,
    ) -> Result<Result<Value, u16>, Error> {
        // The name of what is created is in its body alone.
        let path = self.path(if verb == Verb::Create { "" } else { name }, query);
        match self.client.call(method, &path, body, LIMIT).await {
            Ok(answer) => {
                self.answered(verb);
                Ok(Ok(answer))
            }
            // Others may answer so as well, such as a proxy without an API server behind it.
            Err(Failure::Refused { status: status @ (404 | 409), reason, kind, .. })
                if kind == "leases"
                    && ["NotFound", "Conflict", "AlreadyExists"].contains(&reason.as_str()) =>
            {
                self.answered(verb);
                Ok(Err(status))
            }
            Err(failure) => {
                let mut attempt = self.attempt(verb, name);
                if matches!(failure, Failure::Refused { status: 403, .. }) && !attempt.may_pass {
                    attempt.may_pass = self.refuses_everybody().await;
                }
                Err(attempt.error(failure))
            }
        }
    }

    /// Whether it refuses what everybody may ask who has logged in: it has just started, and does not know its Roles yet.
    async fn refuses_everybody(&self) -> bool {
        let answer = self.client.call(Method::GET, "/version", None, LIMIT).await;
        matches!(answer, Err(Failure::Refused { status: 403, .. }))
    }

    fn attempt<'a>(&'a self, verb: Verb, what: &'a str) -> Attempt<'a> {
        Attempt {
            verb,
            what,
            namespace: &self.namespace,
            server: &self.server,
            source: &self.source,
            may_pass: self.answered.load(Ordering::Relaxed) & verb.mark() != 0,
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

    /// All Leases that a query means, and the version of all.
    pub(crate) async fn list(&self, query: &str, page: usize) -> Result<(u64, Vec<Value>), Error> {
        let (mut items, mut from) = (Vec::new(), String::new());
        loop {
            let part = format!("limit={page}&{query}{from}");
            let answer = self.ask(Verb::List, Method::GET, "", &part, None).await?;
            let mut answer = answer.map_err(|status| self.odd(Verb::List, "", status))?;
            if let Some(Value::Array(more)) = answer.get_mut("items").map(Value::take) {
                items.extend(more);
            }
            if items.len() > MOST {
                let what = format!("there are more than {MOST} Leases in {}", self.namespace);
                return Err(Error::new(ErrorKind::Unfit, what));
            }
            match answer["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => from = format!("&continue={}", escaped(next)),
                _ => return Ok((lease::version(&answer)?, items)),
            }
        }
    }
}
