//! Translates an error of etcd, or of the connection to it, for people and for the engine.

use std::error::Error as StdError;

use elect_api::{Cell, Error, ErrorKind};
use elect_remote::{Credentials, Hints, Seen, Trouble};
use etcd_client::Error as Cause;
use tonic::{Code, Status};

use crate::channel::NO_GRPC;
use crate::dial::chain_of;

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
    Read,
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
    /// True if the connection does not use TLS.
    pub(crate) is_clear: bool,
    /// The facts about the connection.
    pub(crate) seen: Seen,
    /// The protocol that the member speaks, if it closed the connection without a byte.
    pub(crate) instead: Option<Instead>,
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

/// A protocol other than etcd's that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// TLS where the URL does not ask for it, or the other way round.
    OtherTransport,
    ZooKeeper,
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
            Self::Read => "read the election from",
        }
    }

    /// The kind of an error after which the outcome is unknown.
    const fn unknown(self) -> ErrorKind {
        match self {
            Self::Connect | Self::Read => ErrorKind::Unreachable,
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
        cause => from_the_way(failure.doing, cause, circumstances),
    };
    let (doing, member) = (failure.doing.in_words(), &circumstances.member);
    let what = format!("cannot {doing} etcd at {member}: {}", verdict.why);
    let error = Error::new(verdict.kind, what);
    // The fault may be in a server that stands in for the member, or in the connection.
    let error = if verdict.then == Then::MoveOn { error.of_the_way() } else { error };
    let error = match (&failure.cause, &circumstances.seen.trouble) {
        // The message contains etcd's words already.
        (Cause::GRpcStatus(status), _) if status.source().is_none() => error,
        // A probe has found another protocol. How the connection broke off helps no reader.
        _ if circumstances.instead.is_some() => error,
        (_, Some(Trouble::Refused)) => error,
        (_, Some(trouble)) => error.because(trouble.cause().unwrap_or(text)),
        (_, None) => error.because(text),
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
            let right = if doing == Doing::Read { "read" } else { "read and write" };
            let why = format!(
                "the user {user} lacks the right to {right} all keys that begin with {keys:?} (it says: {message}): \
                 `elect help rights` shows the role to give it"
            );
            Some((why, Then::Stay))
        }
        _ => None,
    }
}

fn from_the_way(doing: Doing, cause: &Cause, circumstances: &Circumstances<'_>) -> Verdict {
    let verdict = |kind, why: String| Verdict { kind, why, then: Then::MoveOn };
    let of = |trouble: &Trouble| verdict(trouble.kind(), trouble.in_words(&HINTS));
    let Seen { first_bytes, trouble } = &circumstances.seen;
    match (circumstances.instead, trouble) {
        (Some(Instead::ZooKeeper), _) => return verdict(ErrorKind::Unfit, IS_ZOOKEEPER.into()),
        (Some(Instead::OtherTransport), _) if circumstances.is_clear => {
            return of(&Trouble::WantsTls);
        }
        (Some(Instead::OtherTransport), _) => return of(&Trouble::NoTls),
        (None, Some(Trouble::NoProtocol)) => {
            let why = "the server there does not speak etcd's protocol: it lacks HTTP/2";
            return verdict(ErrorKind::Unfit, why.to_owned());
        }
        (None, Some(Trouble::HungUp)) if first_bytes.is_empty() => {
            let why = "it closes the connection without an answer: it does not speak etcd's protocol, or is just \
                       starting";
            return verdict(ErrorKind::Unreachable, why.to_owned());
        }
        // A connection that broke in the middle of TLS may have brought the request to the server.
        (None, Some(Trouble::Tls(_))) if !matches!(cause, Cause::TransportError(_)) => {}
        (None, Some(trouble)) if trouble.is_unanswered() || trouble.is_of_tls() => {
            return of(trouble);
        }
        (None, Some(trouble @ (Trouble::NoTls | Trouble::BrokenOff))) => return of(trouble),
        _ => {}
    }
    if circumstances.is_clear
        && let Some((kind, why)) = foreign_answer(first_bytes)
    {
        return verdict(kind, why);
    }
    let kind = match cause {
        Cause::TransportError(_) => ErrorKind::Unreachable,
        _ => doing.unknown(),
    };
    verdict(kind, "the connection failed".to_owned())
}

const HINTS: Hints =
    Hints::of_url("etcd", "etcd+tls", "correct the host, or give the option server-name");

const IS_ZOOKEEPER: &str =
    "it does not speak etcd's protocol, it is ZooKeeper: write zk:// in the URL";

/// Reads the first bytes of a server in the clear that is no etcd. `None` if they say nothing.
fn foreign_answer(said: &[u8]) -> Option<(ErrorKind, String)> {
    match said {
        [0x15 | 0x16, 3, ..] => {
            Some((Trouble::WantsTls.kind(), Trouble::WantsTls.in_words(&HINTS)))
        }
        // For example `HTTP/1.1 503 `.
        said if said.starts_with(b"HTTP/") => {
            Some(web(&String::from_utf8_lossy(said.get(9..12).unwrap_or_default())))
        }
        // The first frame of HTTP/2 is one of settings.
        [_, _, _, kind, ..] if *kind != 4 => {
            let why = "the server there does not speak etcd's protocol".to_owned();
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
                is_clear: true,
                seen: Seen::default(),
                instead: None,
                keys: "elect/job/",
                credentials,
            };
            let cause = Cause::GRpcStatus(Status::new(Code::InvalidArgument, message));
            judge(&Failure { doing: Doing::Renew, cause }, &circumstances)
        };
        let url = elect_remote::Url::parse("etcd://me:pw@a", 2379, &[]).expect("a good URL");
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
    fn an_unavailable_balancer_or_server_is_no_refusal() {
        let kind = |said: &[u8]| foreign_answer(said).map(|(kind, _)| kind);
        for status in ["429", "500", "502", "503", "504"] {
            assert_eq!(web(status).0, ErrorKind::Unreachable, "{status}");
            let said = format!("HTTP/1.1 {status} no");
            assert_eq!(kind(said.as_bytes()), Some(ErrorKind::Unreachable), "{status}");
        }
        for said in [&b"HTTP/1.1 404 Not Fo"[..], b"HTTP/1.0 400 Bad Re", b"HTTP/", b"SSH-2.0-O"] {
            assert_eq!(kind(said), Some(ErrorKind::Unfit), "{said:?}");
        }
    }
}
