//! What DynamoDB refuses, in words.

use elect_amazon::{Refused, Skew};
use elect_api::text::{WORDS, clean};
use elect_api::{Error, ErrorKind};
use hyper::Response;
use hyper::body::Bytes;
use serde_json::Value;

/// Why there is no answer, or no good one.
pub(crate) type Failure = elect_remote::Failure<Refusal>;

/// An answer that is an error.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The name of an error, and what it says.
    Named {
        status: u16,
        name: String,
        message: String,
        /// How far this machine's clock is from the server's.
        skew: Skew,
    },
    /// The request was not signed.
    Unsigned(Refused),
}

/// A condition of a write does not hold.
pub(crate) const CONDITION: &str = "ConditionalCheckFailedException";
pub(crate) const NO_TABLE: &str = "ResourceNotFoundException";
pub(crate) const NO_RIGHT: &str = "AccessDeniedException";
const NO_CREDENTIALS: [&str; 6] = [
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "InvalidClientTokenId",
    "IncompleteSignatureException",
    "IncompleteSignature",
    "MissingAuthenticationTokenException",
];
/// The errors of a signature that is wrong, or has another time than the service.
const SIGNATURE: [&str; 3] =
    ["InvalidSignatureException", "SignatureDoesNotMatch", "RequestTimeTooSkewed"];
/// The words of such an error about the time.
const OTHER_TIME: [&str; 2] = ["Signature expired", "Signature not yet current"];
const EXPIRED: [&str; 2] = ["ExpiredTokenException", "ExpiredToken"];
const THROTTLED: [&str; 4] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "Throttling",
    "RequestLimitExceeded",
];
/// Too many tables are there, or are being made.
const TOO_MANY: &str = "LimitExceededException";
/// Writes in two regions of a table that is consistent in all.
const MEANWHILE: [&str; 2] = ["ReplicatedWriteConflictException", "TransactionConflictException"];

impl Refusal {
    pub(crate) fn of(answer: &Response<Bytes>) -> Self {
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let text = |names: [&str; 2]| names.iter().find_map(|name| body.get(name)?.as_str());
        let name = text(["__type", "code"]).unwrap_or_default();
        let name = name.rsplit('#').next().unwrap_or_default().to_owned();
        let said = match text(["message", "Message"]) {
            Some(said) => said.to_owned(),
            None => String::from_utf8_lossy(answer.body()).trim().to_owned(),
        };
        let (status, message) = (answer.status().as_u16(), clean(said, WORDS));
        Self::Named { status, name, message, skew: Skew::of(answer.headers()) }
    }

    /// Returns whether it is the error of this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        matches!(self, Self::Named { name: own, .. } if own == name)
    }

    /// Returns whether it is about the credentials, so that others may be accepted.
    pub(crate) fn is_of_credentials(&self) -> bool {
        let is_it = |name: &str| NO_CREDENTIALS.contains(&name) || EXPIRED.contains(&name);
        matches!(self, Self::Named { name, .. } if is_it(name)) && !self.is_of_time()
    }

    /// Returns whether it is about the time in the signature.
    fn is_of_time(&self) -> bool {
        let Self::Named { name, message, skew, .. } = self else { return false };
        let says_so = name == "RequestTimeTooSkewed"
            || OTHER_TIME.iter().any(|words| message.starts_with(words));
        SIGNATURE.contains(&&**name) && (says_so || skew.advice().is_some())
    }
}

impl elect_remote::Refusal for Refusal {
    type Code = u16;

    fn code(&self) -> Option<u16> {
        if let Self::Named { status, .. } = self { Some(*status) } else { None }
    }

    /// Only a refusal with a name is the service's own. What stands before it may have passed the request on.
    fn is_unclear(&self) -> bool {
        matches!(self, Self::Named { status, name, .. } if *status >= 500 || name.is_empty())
    }

    /// Another connection may lead to another machine of the service.
    fn is_of_a_replica(&self) -> bool {
        self.is_unclear()
    }

    fn error(&self, what: String, _login: &str) -> Error {
        use ErrorKind::{Denied, Unfit, Unreachable};
        let (status, name, message, skew) = match self {
            Self::Named { status, name, message, skew } => (*status, &**name, message, skew),
            Self::Unsigned(refused) => return refused.error(what),
        };
        let is = |names: &[&str]| names.contains(&name);
        let (kind, advice) = match status {
            502..=504 if name.is_empty() => {
                (Unreachable, "a balancer or a proxy before DynamoDB reports it unavailable")
            }
            500.. => (Unreachable, ""),
            _ if name.is_empty() => {
                (Unreachable, "another program answers in the place of DynamoDB: see the endpoint")
            }
            _ if self.is_of_time() => (Denied, ""),
            _ if is(&NO_CREDENTIALS) => (
                Denied,
                "correct the credentials: `aws sts get-caller-identity` shows whose they are",
            ),
            _ if is(&EXPIRED) => (Denied, "log in again, as with `aws sso login`"),
            _ if is(&THROTTLED) => (
                Unreachable,
                "the table takes fewer requests: make it on demand, or give it more capacity",
            ),
            _ if is(&[TOO_MANY]) => (
                Unreachable,
                "the account has too many tables, or makes too many at once: see its quotas",
            ),
            _ if is(&MEANWHILE) => (Unreachable, ""),
            _ if is(&[NO_RIGHT]) && message.contains("KMS") => (
                Denied,
                "permit the credentials to use the table's key, in the key's own policy, too",
            ),
            _ if is(&[NO_RIGHT]) => {
                (Denied, "elect help dynamodb has the policy that the credentials need")
            }
            _ if is(&[NO_TABLE]) => (
                Unfit,
                "the table is not there: correct its name and the region, or make it with `elect doctor --create`",
            ),
            _ if message.contains("key element does not match") => (
                Unfit,
                "elect needs a table of its own, with the partition key election and the sort key document, both texts",
            ),
            _ => (Unfit, ""),
        };
        let named = if name.is_empty() { format!("HTTP {status}") } else { name.to_owned() };
        let said = if message.is_empty() { named } else { format!("{message} ({named})") };
        let mut error = Error::new(kind, what).because(said);
        if self.is_of_time() {
            return error.and(skew.advice_about_time());
        }
        if !advice.is_empty() {
            error = error.and(advice);
        }
        skew.explain(error)
    }
}

#[cfg(test)]
mod tests {
    use elect_remote::Refusal as _;
    use hyper::header::DATE;

    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        let answer = Response::builder().status(status).body(Bytes::from(body.to_owned()));
        Refusal::of(&answer.expect("an answer"))
    }

    #[test]
    fn only_an_error_of_the_server_leaves_open_what_happened() {
        let named =
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow"}"#;
        let throttled = refusal(400, named);
        assert!(throttled.is("ThrottlingException") && !throttled.is_unclear());
        assert_eq!(throttled.error("x".into(), "").kind(), ErrorKind::Unreachable);
        assert!(refusal(500, "{}").is_unclear());
        for status in [302, 408, 429, 503] {
            let foreign = refusal(status, "<html>");
            assert!(foreign.is_unclear(), "{status}");
            assert_eq!(foreign.error("x".into(), "").kind(), ErrorKind::Unreachable, "{status}");
        }
    }

    #[test]
    fn a_clock_that_is_far_off_is_no_fault_of_the_credentials() {
        let body = |said: &str| {
            format!(r#"{{"__type":"x#InvalidSignatureException","message":"{said}"}}"#)
        };
        let far = "Sat, 01 Jan 2000 10:00:00 GMT";
        for (said, date, expected) in [
            ("Signature expired: 2 is now earlier than 1", Some(far), " ahead of the server's"),
            ("Signature not yet current: 2", None, "set this machine's clock: the server's has"),
            ("it is wrong", Some(far), "set this machine's clock: it is "),
            ("it is wrong", None, "aws sts"),
        ] {
            let answer = Response::builder().status(400);
            let answer = date.into_iter().fold(answer, |answer, date| answer.header(DATE, date));
            let answer = answer.body(Bytes::from(body(said))).expect("an answer");
            let refusal = Refusal::of(&answer);
            let is_of_time = !expected.contains("aws");
            assert_eq!(refusal.is_of_credentials(), !is_of_time, "{said}");
            let error = refusal.error("cannot".into(), "");
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            let words = error.to_string();
            assert!(words.contains(expected), "{words}");
            assert_eq!(words.contains("aws sts"), !is_of_time, "{words}");
        }
    }
}
