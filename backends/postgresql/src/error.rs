//! Why a server cannot be used, in words.

use elect_api::{Error, ErrorKind};
use elect_remote::Witness;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The first bytes of TLS records. A server that begins TLS speaks the protocol.
const TLS_FIRST: u8 = 0x14;
const TLS_LAST: u8 = 0x17;

/// Why there is no answer, or no good one.
pub(crate) type Failure = elect_remote::Failure<Refusal>;

/// An answer that is an error.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) DbError);

/// The meaning of an error of the library.
pub(crate) fn of(error: &tokio_postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(answer) => Failure::Refused(Refusal(answer.clone())),
        None => Failure::Lost(elect_remote::in_full(error)),
    }
}

/// The meaning of an error of the library during a login.
pub(crate) fn of_login(error: &tokio_postgres::Error, witness: &Witness) -> Failure {
    match (of(error), witness.seen().first_bytes.first()) {
        (
            lost @ Failure::Lost(_),
            None | Some(b'E' | b'N' | b'R' | b'S' | TLS_FIRST..=TLS_LAST),
        ) => lost,
        (Failure::Lost(_), _) => Failure::Odd("the first byte is of another protocol"),
        (failure, _) => failure,
    }
}

impl elect_remote::Refusal for Refusal {
    type Code = SqlState;

    fn code(&self) -> Option<SqlState> {
        Some(self.0.code().clone())
    }

    fn is_unclear(&self) -> bool {
        // An ordinary error ends the statement and its transaction. A fatal one may follow the commit, and so may those
        // of a pooler that has lost its server, and a cancellation.
        let code = self.0.code().code();
        let may_follow = ["08", "57P", "40003", "57014"].iter().any(|it| code.starts_with(it));
        may_follow || self.0.parsed_severity() != Some(Severity::Error)
    }

    fn is_of_a_replica(&self) -> bool {
        let codes =
            [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE];
        codes.contains(self.0.code())
    }

    fn error(&self, what: String, login: &str) -> Error {
        use ErrorKind::{Denied, Unfit, Unreachable};
        let answer = &self.0;
        let code = answer.code();
        let (kind, advice) = match *code {
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                if ["no encryption", "SSL off"].iter().any(|it| answer.message().contains(it)) =>
            {
                (Denied, "permit it in pg_hba.conf, or write sslmode=require in the URL")
            }
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                (Denied, login)
            }
            SqlState::INVALID_CATALOG_NAME => {
                (Unfit, "make it with CREATE DATABASE, or name another one in the URL")
            }
            SqlState::INSUFFICIENT_PRIVILEGE if answer.routine() == Some("CheckMyDatabase") => {
                (Denied, "have a DBA run: GRANT CONNECT ON DATABASE ... TO ROLE_OF_ELECT")
            }
            SqlState::INSUFFICIENT_PRIVILEGE => {
                (Denied, "elect doctor prints the statements that a DBA runs once")
            }
            SqlState::TOO_MANY_CONNECTIONS => (
                Unreachable,
                "raise max_connections, or the CONNECTION LIMIT of the role or the database, or put a pooler before \
                 the server",
            ),
            SqlState::READ_ONLY_SQL_TRANSACTION => {
                (Unreachable, "the server takes no writes: name the primary in the URL")
            }
            SqlState::LOCK_NOT_AVAILABLE => (
                Unreachable,
                "another session has locked the row or the table, or holds up all that notify: see pg_locks and \
                 pg_stat_activity, and end that session's transaction",
            ),
            SqlState::QUERY_CANCELED => (
                Unreachable,
                "the server cancelled the statement: see statement_timeout of the role",
            ),
            SqlState::DISK_FULL => (Unreachable, "the server's disk is full"),
            SqlState::UNDEFINED_FUNCTION => (
                Unfit,
                "this is no PostgreSQL of version 12 or later, although it speaks its protocol",
            ),
            SqlState::INVALID_COLUMN_REFERENCE => {
                (Unfit, "the table lacks its primary key: make it anew as the manual says")
            }
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => (
                Unreachable,
                "the server is a replica, or shows no WAL, as Aurora does without rds.logical_replication=1",
            ),
            _ if ["42", "0A"].iter().any(|class| code.code().starts_with(class)) => (Unfit, ""),
            _ => (Unreachable, ""),
        };
        let error =
            Error::new(kind, what).because(format!("{} ({})", answer.message(), code.code()));
        if advice.is_empty() { error } else { error.and(advice) }
    }
}
