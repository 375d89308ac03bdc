//! What a server refuses, in words.

use elect_api::{Error, ErrorKind};

use crate::read::Reader;

/// Why there is no answer, or no good one.
pub(crate) type Failure = elect_remote::Failure<Refusal>;

/// The codes of errors by which elect decides.
pub(crate) mod code {
    pub(crate) const TABLE_EXISTS: u16 = 1050;
    pub(crate) const NO_COLUMN: u16 = 1054;
    pub(crate) const DUPLICATE: u16 = 1062;
    pub(crate) const NO_TABLE: u16 = 1146;
    pub(crate) const DEADLOCK: u16 = 1213;
    /// No right to the table, or to the database.
    pub(crate) const NO_RIGHT: [u16; 4] = [1044, 1142, 1143, 1227];
    /// The server, or a transaction in it, only reads.
    pub(crate) const READ_ONLY: [u16; 3] = [1290, 1792, 1836];
    /// The node has lost its Galera cluster.
    pub(crate) const NO_CLUSTER: u16 = 1047;
}

/// An answer that is an error, or a request that no server would take.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// An error as the server tells it.
    Server { code: u16, state: String, message: String },
    /// The request is longer than this.
    TooLong(usize),
    /// The server asks for a login by a plugin that elect does not know.
    Plugin(String),
    /// The server asks for the password on a connection in the clear.
    Exposed,
}

impl Refusal {
    /// Reads the packet of an error after its first byte.
    pub(crate) fn read(packet: &[u8]) -> Result<Self, Failure> {
        let mut reader = Reader(packet);
        let code = reader.short()?;
        // Before the login there is no state.
        let (state, message) = match reader.0 {
            [b'#', rest @ ..] if rest.len() >= 5 => rest.split_at(5),
            message => (&b""[..], message),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Self::Server { code, state: text(state), message: text(message) })
    }
}

impl elect_remote::Refusal for Refusal {
    type Code = u16;

    fn code(&self) -> Option<u16> {
        if let Self::Server { code, .. } = self { Some(*code) } else { None }
    }

    /// An error of the classes below ends the statement, and the server takes back what it did. Another one, such as a
    /// kill or a shutdown, may follow the commit.
    fn is_unclear(&self) -> bool {
        let Self::Server { code, state, .. } = self else { return false };
        let is_known =
            matches!(code, 1021 | 1047 | 1114 | 1153 | 1205 | 1213 | 1290 | 1665 | 1792 | 1836);
        !is_known && !["23", "42"].iter().any(|class| state.starts_with(class))
    }

    fn is_of_a_replica(&self) -> bool {
        let is_known = |code| code::READ_ONLY.contains(&code) || code == code::NO_CLUSTER;
        self.code().is_some_and(is_known)
    }

    fn error(&self, what: String, login: &str) -> Error {
        let (code, state, message) = match self {
            Self::Server { code, state, message } => (*code, state, message),
            Self::TooLong(longest) => {
                let what = format!("{what}: the statement has more than {longest} bytes");
                return Error::new(ErrorKind::Unfit, what)
                    .and("set max_allowed_packet=16M in the server");
            }
            Self::Plugin(plugin) => {
                let what = format!(
                    "{what}: it asks for a login by the plugin {plugin}, which elect does not know"
                );
                return Error::new(ErrorKind::Denied, what).and(format!(
                    "{login}; have a DBA run ALTER USER ... IDENTIFIED VIA mysql_native_password USING \
                     PASSWORD('...'), or in MySQL IDENTIFIED WITH caching_sha2_password BY '...'"
                ));
            }
            Self::Exposed => {
                let why = "it asks for the password itself, which elect sends only with TLS or by a socket";
                return Error::new(ErrorKind::Denied, format!("{what}: {why}"))
                    .and("write ssl-mode=REQUIRED, or name the socket");
            }
        };
        let (kind, advice) = advice(code, state, login);
        let error = Error::new(kind, what).because(format!("{message} ({code})"));
        if advice.is_empty() { error } else { error.and(advice) }
    }
}

/// What mends an error.
fn advice<'a>(code: u16, state: &str, login: &'a str) -> (ErrorKind, &'a str) {
    use ErrorKind::{Denied, Unfit, Unreachable};
    match code {
        1045 | 1130 | 1131 | 1133 | 1698 => (Denied, login),
        1044 | 1142 | 1143 | 1227 => {
            (Denied, "elect doctor prints the statements that a DBA runs once")
        }
        1820 | 1862 => (Denied, "the password has expired: have a DBA set a new one"),
        1049 => (Unfit, "make it with CREATE DATABASE, or name another one in the URL"),
        1040 => (Unreachable, "raise max_connections of the server"),
        1203 | 1226 => (Unreachable, "raise max_user_connections, or the limits of the user"),
        1129 => (Unreachable, "the server blocks this machine: run FLUSH HOSTS there"),
        1290 | 1792 | 1836 => {
            (Unreachable, "the server takes no writes: name the primary in the URL")
        }
        1205 => (
            Unreachable,
            "another session has locked the row or the table: see SHOW FULL PROCESSLIST and \
             information_schema.INNODB_TRX, and end that session's transaction",
        ),
        1021 | 1114 => (
            Unreachable,
            "the server's disk is full, or the file of the table has reached its limit",
        ),
        1153 => (Unfit, "set max_allowed_packet=16M in the server"),
        1665 => {
            (Unfit, "the server writes statements to its binlog: set binlog_format=MIXED there")
        }
        1969 | 3024 => (
            Unreachable,
            "the server ended the statement: see max_statement_time of the user, or what ends queries",
        ),
        1317 | 1927 => (Unreachable, "the server's administrator has ended the session"),
        1053 => (Unreachable, "the server shuts down"),
        1047 => {
            (Unreachable, "this node has no part in its Galera cluster: see wsrep_cluster_status")
        }
        _ if state.starts_with("42") => (Unfit, ""),
        _ => (Unreachable, ""),
    }
}
