//! Why a server cannot be used, in words.

use std::error::Error as _;

use elect_api::{Error, ErrorKind};
use elect_remote::{Hints, Trouble, Witness};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The advice on TLS. The first scheme is never shown: see [`unconnected`].
const HINTS: Hints = Hints {
    clear: std::borrow::Cow::Borrowed(crate::SCHEME),
    tls: std::borrow::Cow::Borrowed(crate::SCHEME),
    place: std::borrow::Cow::Borrowed("the URL"),
    other_name: std::borrow::Cow::Borrowed(
        "use the name in it as the host, or have it made anew with this one",
    ),
    authority: std::borrow::Cow::Borrowed("the option sslrootcert"),
    identity: std::borrow::Cow::Borrowed("the options sslcert and sslkey"),
};

/// The first bytes of TLS records. A server that begins TLS speaks the protocol.
const TLS_FIRST: u8 = 0x14;
const TLS_LAST: u8 = 0x17;

/// An answer of a server that is an error, or none.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The answer is an error, or the connection failed.
    Server(tokio_postgres::Error),
    /// No answer came in time.
    Silent,
}

impl Failure {
    pub(crate) fn answer(&self) -> Option<&DbError> {
        match self {
            Self::Server(error) => error.as_db_error(),
            Self::Silent => None,
        }
    }

    pub(crate) fn code(&self) -> Option<&SqlState> {
        self.answer().map(DbError::code)
    }

    /// Whether the server takes no writes, so that another one may.
    pub(crate) fn is_of_a_replica(&self) -> bool {
        let codes =
            [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE];
        self.code().is_some_and(|code| codes.contains(code))
    }

    /// Whether the statement was carried out, is not known.
    fn is_unclear(&self) -> bool {
        // An ordinary error ends the statement and its transaction. A fatal one may follow the commit, and so may those
        // of a pooler that has lost its server, and a cancellation.
        self.answer().is_none_or(|answer| {
            let code = answer.code().code();
            let may_follow = ["08", "57P", "40003", "57014"].iter().any(|it| code.starts_with(it));
            may_follow || answer.parsed_severity() != Some(Severity::Error)
        })
    }
}

/// The error of a failed attempt to connect to a place. `login` says who we are, for a refusal.
pub(crate) fn unconnected(place: &str, failure: &Failure, witness: &Witness, login: &str) -> Error {
    let what = format!("cannot use PostgreSQL at {place}");
    let cause = match failure {
        Failure::Silent => return told(&what, &Trouble::Silent),
        Failure::Server(cause) => cause,
    };
    if let Some(answer) = cause.as_db_error() {
        return refused(what, answer, login);
    }
    let of_tls = cause.source().and_then(|source| source.downcast_ref::<Trouble>());
    let seen = witness.seen();
    if let Some(trouble) = of_tls {
        return told(&what, trouble);
    }
    match (seen.first_bytes.first(), seen.trouble) {
        (Some(b'N'), _) if cause.to_string().contains("TLS") => {
            let advice = "it does not speak TLS, which sslmode asks for: set ssl=on there, or write sslmode=prefer";
            Error::new(ErrorKind::Unfit, format!("{what}: {advice}")).of_the_way()
        }
        (None | Some(b'E' | b'N' | b'R' | b'S' | TLS_FIRST..=TLS_LAST), Some(trouble)) => {
            told(&what, &trouble)
        }
        (Some(b'E' | b'N' | b'R' | b'S' | TLS_FIRST..=TLS_LAST) | None, None) => {
            Error::new(ErrorKind::Unreachable, what).because(elect_remote::in_full(cause))
        }
        (Some(_), _) => {
            let what = format!(
                "{what}: it does not speak PostgreSQL's protocol: see the host and the port"
            );
            Error::new(ErrorKind::Unfit, what).of_the_way()
        }
    }
}

/// The error of a way to a server that is not there.
pub(crate) fn told(what: &str, trouble: &Trouble) -> Error {
    let error =
        Error::new(trouble.kind(), format!("{what}: {}", trouble.in_words(&HINTS))).of_the_way();
    match trouble.cause() {
        Some(cause) => error.because(cause),
        None => error,
    }
}

/// The error of a statement that failed. `doing` says what it was for, as in `cannot read the row x/leader`.
pub(crate) fn failed(doing: &str, place: &str, failure: &Failure, is_write: bool) -> Error {
    let what = format!("{doing} in PostgreSQL at {place}");
    let unclear = if is_write && failure.is_unclear() { Some(ErrorKind::Ambiguous) } else { None };
    let error = match failure {
        Failure::Silent => Error::new(ErrorKind::Unreachable, format!("{what}: no answer")),
        Failure::Server(cause) => match cause.as_db_error() {
            Some(answer) => refused(what, answer, ""),
            None => Error::new(ErrorKind::Unreachable, format!("{what}: the connection was lost"))
                .because(elect_remote::in_full(cause)),
        },
    };
    match unclear {
        Some(kind) => error.with_kind(kind),
        None => error,
    }
}

/// The error for an answer that is an error, with what mends it.
fn refused(what: String, answer: &DbError, login: &str) -> Error {
    let code = answer.code();
    let (kind, advice) = if *code == SqlState::INVALID_PASSWORD
        || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
    {
        (ErrorKind::Denied, login)
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        (ErrorKind::Unfit, "make it with CREATE DATABASE, or name another one in the URL")
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        (ErrorKind::Denied, "elect doctor prints the statements that a DBA runs once")
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        (ErrorKind::Unreachable, "raise max_connections, or put a pooler before the server")
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        (ErrorKind::Unreachable, "the server takes no writes: name the primary in the URL")
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        (
            ErrorKind::Unreachable,
            "another session has locked the row or the table: see pg_locks and pg_stat_activity, and end that \
             session's transaction",
        )
    } else if *code == SqlState::QUERY_CANCELED {
        (
            ErrorKind::Unreachable,
            "the server cancelled the statement: see statement_timeout of the role",
        )
    } else if *code == SqlState::DISK_FULL {
        (ErrorKind::Unreachable, "the server's disk is full")
    } else if *code == SqlState::UNDEFINED_FUNCTION {
        (
            ErrorKind::Unfit,
            "this is no PostgreSQL of version 12 or later, although it speaks its protocol",
        )
    } else if *code == SqlState::INVALID_COLUMN_REFERENCE {
        (ErrorKind::Unfit, "the table lacks its primary key: make it anew as the manual says")
    } else if *code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE {
        (
            ErrorKind::Unreachable,
            "the server is a replica, or keeps no WAL that elect can see, as Aurora",
        )
    } else if code.code().starts_with("42") || code.code().starts_with("0A") {
        (ErrorKind::Unfit, "")
    } else {
        (ErrorKind::Unreachable, "")
    };
    let error = Error::new(kind, what).because(format!("{} ({})", answer.message(), code.code()));
    if advice.is_empty() { error } else { error.and(advice) }
}
