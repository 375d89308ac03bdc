//! Translates an answer of the API server into an error of the election.

use std::fmt;

use elect_api::{Error, ErrorKind};

use crate::client::Failure;

/// The verb of a request to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Delete,
}

impl Verb {
    /// The verb as a Role names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    /// The bit of this verb.
    pub(crate) const fn mark(self) -> u8 {
        1 << self as u8
    }

    /// Returns whether the request may take effect although no answer arrives.
    const fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Delete)
    }
}

/// A request that failed, described for people.
pub(crate) struct Attempt<'a> {
    pub(crate) verb: Verb,
    /// The name of a Lease; empty for several.
    pub(crate) what: &'a str,
    pub(crate) namespace: &'a str,
    /// The address of the API server.
    pub(crate) server: &'a str,
    /// The source of the credentials.
    pub(crate) source: &'a str,
    /// Whether a missing right may appear soon: the API server has answered such a request before. Or it has just
    /// started, and refuses every client.
    pub(crate) has_right: bool,
    /// Whether an API server has ever accepted this client. If so, the credentials are about to be renewed. Then a
    /// strange answer may come from a balancer, and does not prove that there is no API server.
    pub(crate) is_known: bool,
    /// The reason why the present files of the credentials are not used.
    pub(crate) trouble: Option<String>,
}

impl Attempt<'_> {
    /// Returns the error of the request.
    pub(crate) fn error(&self, failure: Failure) -> Error {
        let Self { verb, what, namespace, server, .. } = self;
        let what = if what.is_empty() { "the Leases".into() } else { format!("the Lease {what}") };
        let verb = verb.name();
        let tried = format!("cannot {verb} {what} in the namespace {namespace} at {server}");
        match failure {
            Failure::Unreachable(why) => Error::new(ErrorKind::Unreachable, tried).because(why),
            Failure::Denied(why) => Error::new(refusal(self.is_known), tried).because(why),
            Failure::Unknown(why) => Error::new(self.unknown(), tried).because(why),
            Failure::Strange { status, what } => Error::new(self.strange(status), tried)
                .because(strange(status, what))
                .and(strange_way_out(status, self.source)),
            Failure::Refused { status, message, reason, kind, retry_after } => {
                let said = Said { status, reason: &reason, message: &message };
                let is_namespace = status == 404 && kind == "namespaces";
                let conclusion = if is_namespace { ErrorKind::Unfit } else { self.kind(status) };
                let mut error = Error::new(conclusion, tried).because(said.to_string());
                // An API server gives a reason.
                if reason.is_empty() {
                    error = error.of_the_way();
                }
                match (self.way_out(status, is_namespace, &message), retry_after) {
                    (Some(way_out), _) => error.and(way_out),
                    (None, Some(after)) => {
                        error.and(format!("it asks for {} s of patience", after.as_secs()))
                    }
                    (None, None) => error,
                }
            }
        }
    }

    fn kind(&self, status: u16) -> ErrorKind {
        match status {
            401 => refusal(self.is_known),
            403 => refusal(self.has_right),
            // The API server carries out no request while too many are under way, and no list that is continued too
            // late.
            410 | 429 => ErrorKind::Unreachable,
            400 | 413 | 422 => ErrorKind::Unfit,
            // The request may have been carried out. Either the API server had no answer of its own store in time, or
            // another server answered.
            _ => self.unknown(),
        }
    }

    /// Returns the kind of error for an answer of a server that is no API server. If there was one before, it will come
    /// back.
    fn strange(&self, status: u16) -> ErrorKind {
        match self.kind(status) {
            ErrorKind::Denied | ErrorKind::Unfit if self.is_known => ErrorKind::Unreachable,
            kind => kind,
        }
    }

    fn unknown(&self) -> ErrorKind {
        if self.verb.writes() { ErrorKind::Ambiguous } else { ErrorKind::Unreachable }
    }

    fn way_out(&self, status: u16, is_namespace: bool, message: &str) -> Option<String> {
        let (verb, namespace) = (self.verb.name(), self.namespace);
        match status {
            401 => {
                let taken = format!("it does not take the credentials of {}", self.source);
                Some(match &self.trouble {
                    None => taken,
                    Some(why) => format!("{taken}, and there are no newer ones: {why}"),
                })
            }
            // Quotas, and rules for what is created, are refused with the same status.
            403 if message.contains(&format!("cannot {verb} resource")) => Some(format!(
                "our Role in {namespace} lacks the verb {verb} on leases in coordination.k8s.io, or no RoleBinding \
                 names us (in a pod: serviceAccountName): see elect help kubernetes-store"
            )),
            400 if message.contains("HTTP request to an HTTPS server") => {
                Some(format!("write https:// in the server of {}", self.source))
            }
            _ if is_namespace => Some(format!(
                "there is no namespace {namespace}: kubectl create namespace {namespace}"
            )),
            _ => None,
        }
    }
}

const fn refusal(may_pass: bool) -> ErrorKind {
    if may_pass { ErrorKind::Unreachable } else { ErrorKind::Denied }
}

/// Returns the message for an answer of a server that is no API server.
pub(crate) fn strange(status: u16, what: &str) -> String {
    match status {
        502..=504 => {
            format!("what answers there in the place of the API server sent {what} ({status})")
        }
        _ => format!("what answers there is no Kubernetes API server: it sent {what} ({status})"),
    }
}

/// Returns the advice for that.
fn strange_way_out(status: u16, source: &str) -> String {
    match status {
        502..=504 => "a proxy or a load balancer has no API server at hand just now".to_owned(),
        _ => format!("look where the server of {source} leads"),
    }
}

/// The API server's words.
pub(crate) struct Said<'a> {
    pub(crate) status: u16,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, reason, message } = self;
        write!(f, "the API server answered {status}")?;
        if !reason.is_empty() {
            write!(f, " {reason}")?;
        }
        if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
    }
}
