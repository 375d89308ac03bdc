//! What an object store refuses, in words.

use elect_amazon::{Refused, Skew};
use elect_api::text::{WORDS, clean};
use elect_api::{Error, ErrorKind};
use hyper::body::Bytes;
use hyper::{Response, StatusCode};

/// Why there is no answer, or no good one.
pub(crate) type Failure = elect_remote::Failure<Refusal>;

/// An answer that is an error.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The name of an error, and what it says.
    Named {
        status: StatusCode,
        /// Empty if the answer is not one of the protocol.
        name: String,
        message: String,
        /// The region in which the bucket is, if the answer says so.
        region: Option<String>,
        skew: Skew,
    },
    /// The request was not signed.
    Unsigned(Refused),
}

pub(crate) const NO_BUCKET: &str = "NoSuchBucket";
const NO_OBJECT: &str = "NoSuchKey";
pub(crate) const NO_RIGHT: &str = "AccessDenied";
/// A header of the request is not known to the store.
pub(crate) const NOT_IMPLEMENTED: &str = "NotImplemented";
const NO_CREDENTIALS: [&str; 3] = ["InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken"];
/// The time in a signature is another one than the store's.
const OTHER_TIME: [&str; 2] = ["RequestTimeTooSkewed", "RequestExpired"];
const EXPIRED: [&str; 2] = ["ExpiredToken", "TokenRefreshRequired"];
const OTHER_REGION: [&str; 2] = ["PermanentRedirect", "AuthorizationHeaderMalformed"];
/// What to do about a missing right.
const POLICY: &str = "elect help s3 has the policy that the credentials need";
/// What passes, with any status.
const BUSY: [&str; 8] = [
    "OperationAborted",
    "RequestLimitExceeded",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "TemporaryRedirect",
    "Throttling",
    "ThrottlingException",
];

impl Refusal {
    pub(crate) fn of(answer: &Response<Bytes>) -> Self {
        let body = String::from_utf8_lossy(answer.body());
        let name = element(&body, "Code").unwrap_or_default().to_owned();
        let message = element(&body, "Message").unwrap_or(&*body).trim().to_owned();
        let region = answer.headers().get("x-amz-bucket-region");
        let region = region.and_then(|region| region.to_str().ok()).map(str::to_owned);
        let (status, skew) = (answer.status(), Skew::of(answer.headers()));
        Self::Named { status, name, message: clean(message, WORDS), region, skew }
    }

    /// Returns whether it is the error of this name.
    pub(crate) fn is(&self, names: &[&str]) -> bool {
        matches!(self, Self::Named { name, .. } if names.contains(&&**name))
    }

    fn has(&self, known: StatusCode) -> bool {
        matches!(self, Self::Named { status, .. } if *status == known)
    }

    /// Returns whether there is no such object.
    pub(crate) fn is_absence(&self) -> bool {
        self.is(&[NO_OBJECT])
    }

    /// Returns whether the condition of a write does not hold: the tag is another one, or there is no object, or
    /// another write was in the middle of its work.
    pub(crate) fn is_conflict(&self) -> bool {
        let is_one = self.has(StatusCode::PRECONDITION_FAILED) || self.has(StatusCode::CONFLICT);
        // Without a name it may be the word of a proxy.
        is_one && !self.is(&[""]) || self.is_absence()
    }

    /// Returns whether it is about the credentials, so that others may be accepted.
    pub(crate) fn is_of_credentials(&self) -> bool {
        self.is(&NO_CREDENTIALS) || self.is(&EXPIRED)
    }

    /// Returns whether the status is one that passes. What stands before the store may give it after it has passed the
    /// request on.
    fn is_passing(&self) -> bool {
        let is_it = |status: &StatusCode| matches!(status.as_u16(), 408 | 425 | 429 | 500..);
        matches!(self, Self::Named { status, .. } if is_it(status)) && !self.is(&[NOT_IMPLEMENTED])
    }

    fn advice(&self) -> (ErrorKind, &'static str) {
        use ErrorKind::{Denied, Unfit, Unreachable};
        let Self::Named { status, name, .. } = self else { return (Unreachable, "") };
        match status.as_u16() {
            502..=504 if name.is_empty() => {
                (Unreachable, "a balancer or a proxy before the store reports it unavailable")
            }
            _ if self.is(&[NOT_IMPLEMENTED]) => (
                Unfit,
                "the store does not know the conditions If-Match and If-None-Match: elect help s3 names stores that do",
            ),
            _ if self.is_passing() => (Unreachable, ""),
            _ if name.is_empty() => {
                (Unreachable, "another program answers in the place of the store: see the endpoint")
            }
            _ if self.is(&NO_CREDENTIALS) => (
                Denied,
                "correct the credentials: `aws sts get-caller-identity` shows whose they are",
            ),
            _ if self.is(&EXPIRED) => (Denied, "log in again, as with `aws sso login`"),
            // What to do says how far the clock is off.
            _ if self.is(&OTHER_TIME) => (Denied, ""),
            _ if self.is(&[NO_BUCKET]) => (
                Unfit,
                "the bucket is not there: correct its name, the region and the endpoint, or make it",
            ),
            _ if self.is(&OTHER_REGION) => (Unfit, "correct the region in the URL"),
            _ if self.is(&BUSY) || self.is_conflict() => (Unreachable, ""),
            401 | 403 => (Denied, POLICY),
            _ if self.is(&[NO_RIGHT]) => (Denied, POLICY),
            _ => (Unfit, ""),
        }
    }
}

/// The text of the first element of this name.
pub(crate) fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

impl elect_remote::Refusal for Refusal {
    type Code = StatusCode;

    fn code(&self) -> Option<StatusCode> {
        if let Self::Named { status, .. } = self { Some(*status) } else { None }
    }

    /// Only a refusal with a name is the store's own. What stands before it may have passed the request on.
    fn is_unclear(&self) -> bool {
        self.is_passing() || self.is(&[""])
    }

    /// Another connection may lead to another machine of the store.
    fn is_of_a_replica(&self) -> bool {
        self.is_unclear()
    }

    fn error(&self, what: String, _login: &str) -> Error {
        let (status, name, message, region, skew) = match self {
            Self::Named { status, name, message, region, skew } => {
                (status, name, message, region, skew)
            }
            Self::Unsigned(refused) => return refused.error(what),
        };
        let (kind, advice) = self.advice();
        let named =
            if name.is_empty() { format!("HTTP {}", status.as_u16()) } else { name.clone() };
        let said = if message.is_empty() { named } else { format!("{message} ({named})") };
        let mut error = Error::new(kind, what).because(said);
        if self.is(&OTHER_TIME) {
            return error.and(skew.advice_about_time());
        }
        if !advice.is_empty() {
            error = error.and(advice);
        }
        if let Some(region) = region.as_ref().filter(|_| self.is(&OTHER_REGION)) {
            error = error.and(format!("the bucket is in {region}"));
        }
        skew.explain(error)
    }
}

#[cfg(test)]
mod tests {
    use elect_remote::Refusal as _;

    use super::*;

    fn refusal(status: u16, name: &str) -> Refusal {
        let body = format!("<?xml?><Error><Code>{name}</Code><Message>so it is</Message></Error>");
        let body = if name.is_empty() { "<html>".to_owned() } else { body };
        let answer = Response::builder().status(status).body(Bytes::from(body));
        Refusal::of(&answer.expect("an answer"))
    }

    #[test]
    fn only_a_refusal_of_the_store_s_own_says_that_nothing_happened() {
        for (status, name) in [(412, "PreconditionFailed"), (404, "NoSuchKey"), (409, "Conflict")] {
            let refusal = refusal(status, name);
            assert!(refusal.is_conflict() && !refusal.is_unclear(), "{status} {name}");
        }
        for (status, name) in
            [(500, "InternalError"), (503, "SlowDown"), (429, "TooMany"), (408, "Timeout")]
        {
            assert!(refusal(status, name).is_unclear(), "{status} {name}");
        }
        for status in [302, 400, 403, 404, 408, 409, 412, 429, 502, 503] {
            let foreign = refusal(status, "");
            assert!(foreign.is_unclear() && !foreign.is_conflict(), "{status}");
            assert_eq!(foreign.error("x".into(), "").kind(), ErrorKind::Unreachable, "{status}");
        }
    }

    #[test]
    fn what_a_person_can_mend_is_said() {
        for (status, name, kind, words) in [
            (403, "AccessDenied", ErrorKind::Denied, "elect help s3"),
            (400, "ExpiredToken", ErrorKind::Denied, "log in again"),
            (403, "InvalidAccessKeyId", ErrorKind::Denied, "correct the credentials"),
            (403, "RequestTimeTooSkewed", ErrorKind::Denied, "set this machine's clock"),
            (404, "NoSuchBucket", ErrorKind::Unfit, "the bucket is not there"),
            (301, "PermanentRedirect", ErrorKind::Unfit, "correct the region"),
            (400, "EntityTooLarge", ErrorKind::Unfit, "so it is (EntityTooLarge)"),
            (400, "RequestTimeout", ErrorKind::Unreachable, "so it is"),
            (400, "SlowDown", ErrorKind::Unreachable, "so it is"),
            (408, "Timeout", ErrorKind::Unreachable, "so it is"),
            (425, "TooEarly", ErrorKind::Unreachable, "so it is"),
            (401, "Unauthorized", ErrorKind::Denied, "the policy"),
            (403, "AllAccessDisabled", ErrorKind::Denied, "the policy"),
            (405, "MethodNotAllowed", ErrorKind::Unfit, "so it is"),
            (501, "NotImplemented", ErrorKind::Unfit, "does not know the conditions"),
            (501, "Other", ErrorKind::Unreachable, "so it is"),
        ] {
            let error = refusal(status, name).error("cannot".into(), "");
            let text = format!("{error}: {:?}", std::error::Error::source(&error));
            assert_eq!(error.kind(), kind, "{text}");
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_clock_that_is_far_off_is_no_fault_of_the_credentials() {
        let body = "<Error><Code>RequestTimeTooSkewed</Code><Message>so it is</Message></Error>";
        for (date, side) in [
            ("Sat, 01 Jan 2000 10:00:00 GMT", " ahead of the server's"),
            ("Fri, 01 Jan 2100 10:00:00 GMT", " behind the server's"),
        ] {
            let answer = Response::builder().status(403).header(hyper::header::DATE, date);
            let refusal = Refusal::of(&answer.body(Bytes::from(body)).expect("an answer"));
            assert!(!refusal.is_of_credentials(), "others would be refused, too");
            let words = refusal.error("cannot".into(), "").to_string();
            assert!(words.contains("set this machine's clock: it is "), "{words}");
            assert!(words.contains(side) && !words.contains("aws sts"), "{words}");
        }
    }
}
