//! Why a server cannot be used, in words.

use std::borrow::Cow;
use std::io;

use elect_api::{Error, ErrorKind};
use elect_remote::{Hints, Trouble, Witness};

use crate::read::Reader;

/// The advice on TLS. The schemes are never shown: see [`unconnected`].
const HINTS: Hints = Hints {
    clear: Cow::Borrowed(crate::SCHEME),
    tls: Cow::Borrowed(crate::SCHEME),
    place: Cow::Borrowed("the URL"),
    other_name: Cow::Borrowed("use the name in it as the host, or have it made anew with this one"),
    authority: Cow::Borrowed("the option ssl-ca"),
    identity: Cow::Borrowed("the options ssl-cert and ssl-key"),
};

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
}

/// Why there is no answer, or no good one.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The answer is an error.
    Server(Refusal),
    /// There is no connection, or no TLS.
    Way(Trouble),
    /// The connection was lost.
    Lost(String),
    /// The request was not sent, as the connection has ended before.
    Unsent,
    /// No answer came in time.
    Silent,
    /// The answer is not one of the protocol.
    Odd(&'static str),
    /// The request is longer than this.
    TooLong(usize),
    /// The server asks for a login by a plugin that elect does not know.
    Plugin(String),
    /// The server asks for the password on a connection in the clear.
    Exposed,
}

/// An error as the server tells it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    state: String,
    message: String,
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
        Ok(Self { code, state: text(state), message: text(message) })
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

impl Failure {
    pub(crate) const fn code(&self) -> Option<u16> {
        match self {
            Self::Server(refusal) => Some(refusal.code),
            _ => None,
        }
    }

    pub(crate) fn is(&self, codes: &[u16]) -> bool {
        self.code().is_some_and(|code| codes.contains(&code))
    }

    /// Whether a statement may have been carried out. An error of the classes below ends it, and the server takes back
    /// what it did. Another one, such as a kill or a shutdown, may follow the commit.
    fn is_unclear(&self) -> bool {
        match self {
            Self::Server(Refusal { code, state, .. }) => {
                let is_known = matches!(
                    code,
                    1021 | 1047 | 1114 | 1153 | 1205 | 1213 | 1290 | 1665 | 1792 | 1836
                );
                !is_known && !["23", "42"].iter().any(|class| state.starts_with(class))
            }
            Self::Unsent | Self::TooLong(_) => false,
            _ => true,
        }
    }
}

/// The error of a failed attempt to connect to a place. `login` says who we are, for a refusal.
pub(crate) fn unconnected(place: &str, failure: &Failure, witness: &Witness, login: &str) -> Error {
    let what = format!("cannot use MariaDB at {place}");
    let unfit = |why: &str| Error::new(ErrorKind::Unfit, format!("{what}: {why}"));
    let no_plugin =
        "have a DBA run ALTER USER ... IDENTIFIED VIA mysql_native_password USING PASSWORD('...')";
    match failure {
        Failure::Server(refusal) => refused(what, refusal, login),
        Failure::Silent => told(&what, &Trouble::Silent),
        Failure::Way(Trouble::NoTls) => unfit(
            "it does not speak TLS, which ssl-mode asks for: set ssl_cert and ssl_key there, or write \
             ssl-mode=PREFERRED",
        )
        .of_the_way(),
        Failure::Way(trouble) => told(&what, trouble),
        Failure::Plugin(plugin) => {
            let why = format!("it asks {login} to log in by the plugin {plugin}, which elect does not know");
            Error::new(ErrorKind::Denied, format!("{what}: {why}")).and(no_plugin)
        }
        Failure::Exposed => Error::new(
            ErrorKind::Denied,
            format!("{what}: it asks for the password itself, which elect sends only with TLS or by a socket"),
        )
        .and("write ssl-mode=REQUIRED, or name the socket"),
        Failure::Odd(why) => {
            unfit("it does not speak MariaDB's protocol: see the host and the port").because(*why).of_the_way()
        }
        Failure::Lost(why) => match witness.seen().trouble {
            Some(trouble) => told(&what, &trouble),
            None => Error::new(ErrorKind::Unreachable, what).because(why.as_str()),
        },
        Failure::Unsent | Failure::TooLong(_) => failed("cannot log in", place, failure, false),
    }
}

/// The error of a way to a server that is not there.
fn told(what: &str, trouble: &Trouble) -> Error {
    let error =
        Error::new(trouble.kind(), format!("{what}: {}", trouble.in_words(&HINTS))).of_the_way();
    match trouble.cause() {
        Some(cause) => error.because(cause),
        None => error,
    }
}

/// The error of a statement that failed. `doing` says what it was for, as in `cannot read the row x/leader`.
pub(crate) fn failed(doing: &str, place: &str, failure: &Failure, is_write: bool) -> Error {
    let what = format!("{doing} in MariaDB at {place}");
    let error = match failure {
        Failure::Server(refusal) => refused(what, refusal, ""),
        Failure::TooLong(longest) => Error::new(
            ErrorKind::Unfit,
            format!("{what}: the statement has more than {longest} bytes"),
        )
        .and("set max_allowed_packet=16M in the server"),
        Failure::Silent => Error::new(ErrorKind::Unreachable, format!("{what}: no answer")),
        Failure::Odd(why) => {
            let what = format!("{what}: the answer is not understood");
            Error::new(ErrorKind::Unreachable, what).because(*why)
        }
        Failure::Lost(why) => {
            let what = format!("{what}: the connection was lost");
            Error::new(ErrorKind::Unreachable, what).because(why.as_str())
        }
        _ => Error::new(ErrorKind::Unreachable, format!("{what}: the connection was lost")),
    };
    if is_write && failure.is_unclear() { error.with_kind(ErrorKind::Ambiguous) } else { error }
}

/// The error for an answer that is an error, with what mends it.
fn refused(what: String, refusal: &Refusal, login: &str) -> Error {
    use ErrorKind::{Denied, Unfit, Unreachable};
    let (kind, advice) = match refusal.code {
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
        1969 | 3024 => {
            (Unreachable, "the server ended the statement: see max_statement_time of the user")
        }
        1317 | 1927 => (Unreachable, "the server's administrator has ended the session"),
        1053 => (Unreachable, "the server shuts down"),
        1047 => {
            (Unreachable, "this node has no part in its Galera cluster: see wsrep_cluster_status")
        }
        _ if refusal.state.starts_with("42") => (Unfit, ""),
        _ => (Unreachable, ""),
    };
    let error = Error::new(kind, what).because(format!("{} ({})", refusal.message, refusal.code));
    if advice.is_empty() { error } else { error.and(advice) }
}
