//! What a server refuses, in words.

use elect_api::{Error, ErrorKind};
use elect_remote::Host;
use redis::{ErrorKind as Kind, RedisError};

/// Why there is no answer, or no good one.
pub(crate) type Failure = elect_remote::Failure<Refusal>;

/// An answer that is an error, or that says that nothing can be asked there.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// An error as the server tells it, with its first word.
    Server { code: String, message: String },
    /// The Sentinel knows no primary of this name.
    NoPrimary(String),
    /// The server is a Sentinel, and the URL does not say so.
    Sentinel,
}

/// The first words of errors that a server tells before it writes.
const CODES: [&str; 18] = [
    "ASK",
    "BUSY",
    "CLUSTERDOWN",
    "CROSSSLOT",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "MOVED",
    "NOAUTH",
    "NOPERM",
    "NOPROTO",
    "NOREPLICAS",
    "NOSCRIPT",
    "OOM",
    "READONLY",
    "TRYAGAIN",
    "WRONGPASS",
    "WRONGTYPE",
];
/// The same of errors that begin with `ERR`. The first two are of a script whose user lacks a right.
const WORDS: [&str; 5] = [
    "The user executing the script",
    "ACL failure in script",
    "unknown command",
    "max number of clients",
    "DB index",
];

/// Why a request has no good answer.
pub(crate) fn of(error: &RedisError) -> Failure {
    let message = || error.detail().unwrap_or_default().to_owned();
    let refused = |code: &str| {
        Failure::Refused(Refusal::Server { code: code.to_owned(), message: message() })
    };
    match (error.kind(), error.code()) {
        (Kind::Io, _) => Failure::Lost(error.to_string()),
        (Kind::RESP3NotSupported, _) => refused("NOPROTO"),
        (Kind::AuthenticationFailed, None) => refused("WRONGPASS"),
        (_, Some(code)) => refused(code),
        _ => Failure::Odd("the answer cannot be read"),
    }
}

impl Refusal {
    /// The node of a cluster that has the slot, if the answer names one.
    pub(crate) fn moved_to(&self) -> Option<Host> {
        self.named("MOVED")
    }

    /// The node of a cluster that has the key already, if the answer names one.
    pub(crate) fn asks(&self) -> Option<Host> {
        self.named("ASK")
    }

    /// Returns whether the server does not know the command.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Server { message, .. } if message.starts_with("unknown command"))
    }

    /// The host in an answer as `MOVED SLOT HOST:PORT`.
    fn named(&self, wanted: &str) -> Option<Host> {
        let Self::Server { code, message } = self else { return None };
        let (name, port) = message.split(' ').nth(1)?.rsplit_once(':')?;
        let host = Host { name: name.to_owned(), port: port.parse().ok()? };
        (code == wanted).then_some(host)
    }
}

impl elect_remote::Refusal for Refusal {
    type Code = &'static str;

    fn code(&self) -> Option<&'static str> {
        let Self::Server { code, .. } = self else { return None };
        ["NOAUTH"].into_iter().find(|known| known == code)
    }

    /// A script writes in its last step, so an error of the server says that nothing was written. A proxy may have
    /// passed the request on before it failed: its words are its own.
    fn is_unclear(&self) -> bool {
        let Self::Server { code, message } = self else { return false };
        let is_worded = || WORDS.iter().any(|words| message.starts_with(words));
        !CODES.contains(&code.as_str()) && (code != "ERR" || !is_worded())
    }

    /// Another server has the keys, or takes the writes.
    fn is_of_a_replica(&self) -> bool {
        let Self::Server { code, .. } = self else { return false };
        matches!(code.as_str(), "READONLY" | "MOVED" | "MASTERDOWN" | "CLUSTERDOWN" | "LOADING")
    }

    fn error(&self, what: String, login: &str) -> Error {
        let (code, message) = match self {
            Self::Server { code, message } => (code.as_str(), message),
            Self::NoPrimary(name) => {
                return Error::new(ErrorKind::Unfit, format!("{what}: it is no Sentinel of a primary {name}"))
                    .and("sentinel in the URL is the name in `sentinel monitor NAME ...`: see redis-cli SENTINEL masters");
            }
            Self::Sentinel => {
                return Error::new(ErrorKind::Unfit, format!("{what}: it is a Sentinel")).and(
                    "name the primary that it watches, as in redis://HOST:26379?sentinel=mymaster",
                );
            }
        };
        let (kind, advice) = advice(code, message, login);
        let error = Error::new(kind, what).because(format!("{message} ({code})"));
        if advice.is_empty() { error } else { error.and(advice) }
    }
}

/// The advice for an error.
fn advice<'a>(code: &str, message: &str, login: &'a str) -> (ErrorKind, &'a str) {
    use ErrorKind::{Denied, Unfit, Unreachable};
    match code {
        "NOAUTH" | "WRONGPASS" => (Denied, login),
        "ERR" if WORDS[..2].iter().any(|words| message.starts_with(words)) => {
            (Denied, "elect doctor prints the ACL of a user of elect")
        }
        "NOPERM" => (Denied, "elect doctor prints the ACL of a user of elect"),
        "OOM" => (Unreachable, "the server has reached maxmemory: raise it, or store less there"),
        "MISCONF" => (Unreachable, "the server cannot save its data: see its log and its disk"),
        "READONLY" => {
            (Unreachable, "name the primary in the URL, or its Sentinels with ?sentinel=NAME")
        }
        "NOREPLICAS" => (
            Unreachable,
            "fewer replicas follow than min-replicas-to-write asks for: see INFO replication",
        ),
        "LOADING" => (Unreachable, "the server reads its data: it serves when it is done"),
        "BUSY" => (Unreachable, "a script of others runs there: see SCRIPT KILL"),
        "CLUSTERDOWN" => {
            (Unreachable, "the cluster serves no slots: see redis-cli --cluster check")
        }
        "MOVED" | "ASK" | "TRYAGAIN" => (Unreachable, "the cluster moves the keys to another node"),
        "WRONGTYPE" => {
            (Unfit, "another program uses these keys: write another prefix, as in ?prefix=elect2")
        }
        "NOPROTO" => (Unfit, "upgrade the server to Redis 6.2 or later: elect needs RESP3"),
        "CROSSSLOT" => (Unfit, ""),
        "ERR" if message.contains("max number of clients") => {
            (Unreachable, "raise maxclients of the server")
        }
        "ERR" if message.contains("DB index") => {
            (Unfit, "write the number of a database that is there")
        }
        "ERR" if message.starts_with("unknown command") => {
            (Unfit, "this server lacks a command that elect needs")
        }
        _ => (Unreachable, ""),
    }
}

#[cfg(test)]
mod tests {
    use elect_remote::Refusal as _;

    use super::*;

    #[test]
    fn only_words_of_the_server_say_that_nothing_was_written() {
        let is_unclear = |code: &str, message: &str| {
            let (code, message) = (code.to_owned(), message.to_owned());
            Refusal::Server { code, message }.is_unclear()
        };
        assert!(!is_unclear("READONLY", "it is a replica"));
        assert!(!is_unclear("ERR", "unknown command 'EVAL'"));
        assert!(is_unclear("ERR", "upstream failure"));
        assert!(is_unclear("UNHEARD", "of a proxy"));
    }
}
