//! Translates an error of etcd, or of the connection to it, for people and for the engine.

use std::error::Error as StdError;

use elect_api::remote::Credentials;
use elect_api::{Cell, Error, ErrorKind};
use etcd_client::Error as Cause;
use tonic::{Code, Status};

use crate::channel::NO_GRPC;
use crate::dial::{DialError, chain_of};
use crate::probe::{Language, Speech};

/// A request that failed: its purpose, and the error.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) doing: Doing,
    pub(crate) cause: Cause,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Connect,
    Enter,
    Renew,
    Resign,
    Write(&'static str),
    Remove,
    Look,
}

/// The link's next step with the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Keeps it: it is as good as before.
    Stay,
    /// Connects to the same member anew: the login of this connection has ended.
    Renew,
    /// Tries another member: this one cannot serve now.
    MoveOn,
}

/// What is known of the connection that failed.
pub(crate) struct Circumstances<'a> {
    /// The member's address.
    pub(crate) member: String,
    /// Whether the connection used TLS.
    pub(crate) language: Language,
    /// The server's first bytes over this connection.
    pub(crate) first_bytes: Vec<u8>,
    /// The protocol that the server talks, if it closed the connection and a probe found out.
    pub(crate) speech: Option<Speech>,
    /// The prefix of all keys that the request needs.
    pub(crate) keys: &'a str,
    /// The login, if there is one.
    pub(crate) credentials: Option<&'a Credentials>,
}

/// The reason why a step had no result.
pub(crate) enum Setback {
    /// A request failed.
    Failed(Failure),
    /// All requests were answered, but the answers contradict each other.
    Odd(Error),
    /// The answers came from another store.
    Foreign(Error),
}

impl From<Failure> for Setback {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Returns the error for answers that do not fit, for now.
pub(crate) fn odd(what: &str) -> Setback {
    Setback::Odd(Error::new(ErrorKind::Unreachable, what))
}

impl Failure {
    /// Returns whether there was no connection.
    pub(crate) fn is_unanswered(&self) -> bool {
        dial_error_in(&self.cause).is_some()
    }

    /// Returns whether the other side has ended the connection.
    pub(crate) fn is_hang_up(&self) -> bool {
        dial_error_in(&self.cause).is_none() && has_hung_up(&in_full(&self.cause))
    }
}

impl Doing {
    /// Returns the purpose of a write to a cell.
    pub(crate) const fn writing(cell: Cell<'_>) -> Self {
        Self::Write(match cell {
            Cell::Once | Cell::Runs | Cell::History => "write a cell to",
            Cell::Control => "write the control cell to",
            Cell::Fence(_) => "record a token in",
            Cell::Value(_) => "write a value to",
        })
    }

    const fn in_words(self) -> &'static str {
        match self {
            Self::Connect => "connect to",
            Self::Enter => "enter the election through",
            Self::Renew => "renew the lease through",
            Self::Resign => "give the lease up through",
            Self::Write(what) => what,
            Self::Remove => "remove an entry through",
            Self::Look => "read the election from",
        }
    }

    /// The kind of an error after which the outcome is unknown.
    const fn unknown(self) -> ErrorKind {
        match self {
            Self::Connect | Self::Look => ErrorKind::Unreachable,
            Self::Enter | Self::Renew | Self::Resign | Self::Write(_) | Self::Remove => {
                ErrorKind::Ambiguous
            }
        }
    }
}

struct Verdict {
    kind: ErrorKind,
    why: String,
    then: Then,
}

/// Returns the error that a failure means, and what to do with the connection.
pub(crate) fn judge(failure: &Failure, circumstances: &Circumstances<'_>) -> (Error, Then) {
    let text = in_full(&failure.cause);
    let verdict = match &failure.cause {
        // An error of the connection itself has a source; etcd's own errors have none.
        Cause::GRpcStatus(status) if status.source().is_none() => {
            from_etcd(failure.doing, status, circumstances)
        }
        cause => from_the_way(failure.doing, cause, &text, circumstances),
    };
    let (doing, member) = (failure.doing.in_words(), &circumstances.member);
    let what = format!("cannot {doing} etcd at {member}: {}", verdict.why);
    let error = Error::new(verdict.kind, what);
    // The fault may be in a server that stands in for the member, or in the connection.
    let error = if verdict.then == Then::MoveOn { error.of_the_way() } else { error };
    let error = match &failure.cause {
        // The message contains etcd's words already.
        Cause::GRpcStatus(status) if status.source().is_none() => error,
        // The probe has found another protocol: how the connection broke off is of no use.
        _ if circumstances.speech.is_some() => error,
        cause => match dial_error_in(cause) {
            Some(refusal) if refusal.is_refusal() => error,
            Some(dial) => error.because(dial.to_string()),
            None => error.because(text),
        },
    };
    (error, verdict.then)
}

fn from_etcd(doing: Doing, status: &Status, circumstances: &Circumstances<'_>) -> Verdict {
    let message = status.message().trim_start_matches("etcdserver: ");
    let code = status.code();
    if let Some((why, then)) = refusal(doing, message, code, circumstances) {
        return Verdict { kind: ErrorKind::Denied, why, then };
    }
    if let Some(status) = message.strip_prefix(NO_GRPC) {
        let (kind, why) = web(status);
        return Verdict { kind, why, then: Then::MoveOn };
    }
    let (kind, why, then) = match (message, code) {
        (_, Code::Unimplemented) => {
            (ErrorKind::Unfit, "it does not speak etcd's protocol", Then::MoveOn)
        }
        ("invalid auth token" | "revision of auth store is old", _) => {
            let why = "it has forgotten that we logged in: trying again helps";
            (ErrorKind::Unreachable, why, Then::Renew)
        }
        ("user name is empty", _) => {
            let why = "it asks for logins since we came: trying again logs in";
            (ErrorKind::Unreachable, why, Then::Renew)
        }
        ("mvcc: database space exceeded", _) => {
            let why = "its database is full: compact and defragment it, then clear the alarm";
            (ErrorKind::Unreachable, why, Then::Stay)
        }
        ("too large lease TTL", _) => {
            (ErrorKind::Unfit, "it grants no lease as long as that", Then::Stay)
        }
        ("no leader" | "not capable" | "too many requests" | "server stopped", _) => {
            (ErrorKind::Unreachable, "it cannot serve now, though another member may", Then::MoveOn)
        }
        ("rpc not supported for learner", _) => {
            let why = "it is a learner, which serves no elections: another member may serve";
            (ErrorKind::Unreachable, why, Then::MoveOn)
        }
        (_, Code::ResourceExhausted) => {
            (doing.unknown(), "it has more to tell than is read", Then::MoveOn)
        }
        _ => (doing.unknown(), "it failed, though another member may serve", Then::MoveOn),
    };
    Verdict { kind, why: format!("{why} (it says: {message})"), then }
}

/// Returns the message for a missing login or right, if etcd's answer means that.
fn refusal(
    doing: Doing,
    message: &str,
    code: Code,
    circumstances: &Circumstances<'_>,
) -> Option<(String, Then)> {
    let keys = circumstances.keys;
    match message {
        "authentication failed, invalid user ID or password" => {
            let who = circumstances.credentials.map(Credentials::in_words);
            let who = who.as_deref().unwrap_or("user none");
            Some((format!("user or password is wrong ({who})"), Then::Renew))
        }
        // Authentication was switched on after elect connected: with credentials the next connection logs in.
        "user name is empty" if circumstances.credentials.is_some() => None,
        "user name is empty" | "user name not found" => {
            let why = "it wants to know who we are: set ELECT_USER and ELECT_PASSWORD, and start elect again";
            Some((why.to_owned(), Then::Renew))
        }
        _ if code == Code::PermissionDenied => {
            let user = circumstances.credentials.map(|it| it.user.as_str());
            let user = user.unwrap_or("of the client certificate");
            let right = if doing == Doing::Look { "read" } else { "read and write" };
            let why = format!(
                "the user {user} lacks the right to {right} all keys that begin with {keys:?} (it says: {message}): \
                 `elect help rights` shows the role to give it"
            );
            Some((why, Then::Stay))
        }
        _ => None,
    }
}

fn from_the_way(
    doing: Doing,
    cause: &Cause,
    text: &str,
    circumstances: &Circumstances<'_>,
) -> Verdict {
    let verdict = |kind, why: &str| Verdict { kind, why: why.to_owned(), then: Then::MoveOn };
    if let Some(error) = dial_error_in(cause) {
        let why = match error {
            DialError::Name(_) => {
                let host = circumstances.member.rsplit_once(':');
                format!("the name {} does not resolve", host.map_or("", |(name, _)| name))
            }
            refusal if refusal.is_refusal() => "nothing listens there (connection refused)".into(),
            DialError::Connect(_) => "the machine cannot be reached".to_owned(),
        };
        return verdict(ErrorKind::Unreachable, &why);
    }
    if let Some(speech) = circumstances.speech {
        return match (speech, circumstances.language) {
            (Speech::ZooKeeper, _) => verdict(ErrorKind::Unfit, IS_ZOOKEEPER),
            (Speech::Other, Language::Clear) => verdict(ErrorKind::Unfit, EXPECTS_TLS),
            (Speech::Other, Language::Tls) => verdict(ErrorKind::Unfit, EXPECTS_NO_TLS),
        };
    }
    if circumstances.language == Language::Tls {
        if let Some((kind, why)) = tls_trouble(text) {
            return verdict(kind, why);
        }
    } else if let Some((kind, why)) = what_answers(&circumstances.first_bytes) {
        return verdict(kind, &why);
    }
    if circumstances.first_bytes.is_empty() && has_hung_up(text) {
        return verdict(
            ErrorKind::Unreachable,
            "it closes the connection without an answer: it does not speak etcd's protocol, or is just starting",
        );
    }
    let kind = match cause {
        Cause::TransportError(_) => ErrorKind::Unreachable,
        _ => doing.unknown(),
    };
    verdict(kind, "the connection failed")
}

const EXPECTS_TLS: &str = "it expects TLS: write etcd+tls:// in the URL";
const EXPECTS_NO_TLS: &str = "it does not speak TLS: write etcd:// in the URL";

const IS_ZOOKEEPER: &str =
    "it does not speak etcd's protocol, it is ZooKeeper: write zk:// in the URL";

/// Reads the first bytes of a server in the clear that is no etcd. `None` if they say nothing.
fn what_answers(said: &[u8]) -> Option<(ErrorKind, String)> {
    match said {
        [0x15 | 0x16, 3, ..] => Some((ErrorKind::Unfit, EXPECTS_TLS.to_owned())),
        // For example `HTTP/1.1 503 `.
        said if said.starts_with(b"HTTP/") => {
            Some(web(&String::from_utf8_lossy(said.get(9..12).unwrap_or_default())))
        }
        // The first frame of HTTP/2 is one of settings.
        [_, _, _, kind, ..] if *kind != 4 => {
            let why = "what answers there does not speak etcd's protocol".to_owned();
            Some((ErrorKind::Unfit, why))
        }
        _ => None,
    }
}

/// Returns the meaning of an HTTP answer with this status. A balancer reports so that its servers are down or busy.
fn web(status: &str) -> (ErrorKind, String) {
    let (kind, why) = match status {
        "408" | "425" | "429" | "500" | "502" | "503" | "504" => {
            (ErrorKind::Unreachable, "a proxy in front of etcd reports it unavailable")
        }
        _ => (ErrorKind::Unfit, "it does not speak etcd's protocol, it is a web server"),
    };
    (kind, format!("{why} (HTTP status {status})"))
}

/// Reads rustls's error, which passes the layers above it only as text.
fn tls_trouble(text: &str) -> Option<(ErrorKind, &'static str)> {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["UnknownIssuer", "BadSignature"]) {
        Some((
            ErrorKind::Unfit,
            "its certificate is not signed by a trusted authority: name the authority with the option ca",
        ))
    } else if has(&["certificate expired", "peer certificate: Expired"]) {
        Some((ErrorKind::Unfit, "its certificate has expired"))
    } else if has(&["not valid for name", "NotValidForName"]) {
        Some((
            ErrorKind::Unfit,
            "its certificate is for another name: correct the host, or give the option server-name",
        ))
    } else if has(&["invalid peer certificate"]) {
        Some((ErrorKind::Unfit, "its certificate is not valid"))
    } else if has(&["received fatal alert: InternalError"]) {
        // Go's servers say so while they have no certificate to show.
        Some((ErrorKind::Unreachable, "it cannot speak TLS now"))
    } else if has(&["ProtocolVersion", "HandshakeFailure"]) {
        Some((ErrorKind::Unfit, "it speaks neither TLS 1.2 nor 1.3 in a way that we do"))
    } else if has(&["received fatal alert"]) {
        Some((
            ErrorKind::Denied,
            "it does not accept our certificate, or wants one: see the options cert and key",
        ))
    } else if has(&["InvalidContentType", "InvalidMessage", "corrupt message"]) {
        Some((ErrorKind::Unfit, EXPECTS_NO_TLS))
    } else if has(&["HTTP/2 was not negotiated"]) {
        Some((
            ErrorKind::Unfit,
            "what answers there does not speak etcd's protocol: it lacks HTTP/2",
        ))
    } else {
        None
    }
}

fn has_hung_up(text: &str) -> bool {
    [
        "reset",
        "closed",
        "shutdown",
        "unexpected end",
        "broken pipe",
        "BrokenPipe",
        "Broken pipe",
        "eof",
        "canceled",
    ]
    .iter()
    .any(|word| text.contains(word))
}

fn dial_error_in(cause: &Cause) -> Option<&DialError> {
    let mut next: Option<&(dyn StdError + 'static)> = match cause {
        Cause::TransportError(error) => Some(error),
        Cause::GRpcStatus(status) => status.source(),
        _ => None,
    };
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Formats an error with all its causes, which etcd-client does not print.
fn in_full(cause: &Cause) -> String {
    match cause {
        Cause::TransportError(error) => chain_of(error),
        Cause::GRpcStatus(status) => match status.source() {
            Some(source) => chain_of(source),
            None => format!("{}: {}", status.code().description(), status.message()),
        },
        other => other.to_string(),
    }
}

/// Returns whether etcd says that the lease does not exist.
pub(crate) fn is_lease_unknown(cause: &Cause) -> bool {
    has_message(cause, "requested lease not found")
}

/// Returns whether etcd says that the lease exists already.
pub(crate) fn is_lease_taken(cause: &Cause) -> bool {
    has_message(cause, "lease already exists")
}

/// Returns whether etcd says that the user lacks a right.
pub(crate) fn is_refused(cause: &Cause) -> bool {
    has_message(cause, "permission denied")
}

/// Returns whether etcd says that authentication is switched off.
pub(crate) fn is_login_unknown(cause: &Cause) -> bool {
    has_message(cause, "authentication is not enabled")
}

fn has_message(cause: &Cause, message: &str) -> bool {
    matches!(cause, Cause::GRpcStatus(status) if status.message().ends_with(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_is_asked_for_later_is_made_and_a_learner_is_named() {
        let said = |message: &str, credentials: Option<&Credentials>| {
            let circumstances = Circumstances {
                member: "a:2379".to_owned(),
                language: Language::Clear,
                first_bytes: Vec::new(),
                speech: None,
                keys: "elect/job/",
                credentials,
            };
            let cause = Cause::GRpcStatus(Status::new(Code::InvalidArgument, message));
            judge(&Failure { doing: Doing::Renew, cause }, &circumstances)
        };
        let url = elect_api::remote::Url::parse("etcd://me:pw@a", 2379, &[]).expect("a good URL");
        let ours = Credentials::of(&url, |_| None).expect("good credentials");
        let empty = "etcdserver: user name is empty";
        let (error, then) = said(empty, ours.as_ref());
        assert_eq!((error.kind(), then), (ErrorKind::Unreachable, Then::Renew), "{error}");
        let (error, _) = said(empty, None);
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.to_string().contains("and start elect again"), "{error}");
        let (error, then) = said("etcdserver: rpc not supported for learner", None);
        assert_eq!((error.kind(), then), (ErrorKind::Unreachable, Then::MoveOn));
        assert!(error.to_string().contains("is a learner"), "{error}");
    }

    /// A balancer's word on its members, and a server's word on its own state, are not final.
    #[test]
    fn what_a_balancer_or_a_restart_says_is_no_refusal() {
        let kind = |said: &[u8]| what_answers(said).map(|(kind, _)| kind);
        for status in ["429", "500", "502", "503", "504"] {
            assert_eq!(web(status).0, ErrorKind::Unreachable, "{status}");
            let said = format!("HTTP/1.1 {status} no");
            assert_eq!(kind(said.as_bytes()), Some(ErrorKind::Unreachable), "{status}");
        }
        for said in [&b"HTTP/1.1 404 Not Fo"[..], b"HTTP/1.0 400 Bad Re", b"HTTP/", b"SSH-2.0-O"] {
            assert_eq!(kind(said), Some(ErrorKind::Unfit), "{said:?}");
        }
        let alert = |name: &str| {
            tls_trouble(&format!("received fatal alert: {name}")).map(|(kind, _)| kind)
        };
        assert_eq!(alert("InternalError"), Some(ErrorKind::Unreachable));
        assert_eq!(alert("UnknownCA"), Some(ErrorKind::Denied));
        assert_eq!(alert("CertificateExpired"), Some(ErrorKind::Denied));
    }
}
