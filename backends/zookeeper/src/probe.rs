//! Why no server grants a session: the client library says only that none did.

use std::time::Duration;

use elect_api::{Error, ErrorKind};
use elect_remote::{Hints, Host, Protocol, Trouble, ask};
use tokio::time::timeout;
use zookeeper_client::Error as Zk;

use crate::security::Security;
use crate::settings::Settings;

/// Asks each server what is wrong, and says it, unless one of them is only slow. `is_first` says that there was no
/// session ever. Later, the URL is not at fault, and another try may help whatever answers now.
pub(crate) async fn explain(
    settings: &Settings,
    patience: Duration,
    is_first: bool,
    error: Zk,
) -> Result<Slow, Error> {
    let mut found = Vec::new();
    for host in &settings.hosts {
        let look = examine(host, settings.security.as_ref());
        let diagnosis = timeout(patience, look).await.unwrap_or(Diagnosis::SILENT);
        found.push((host, diagnosis));
    }
    if found.iter().any(|(_, diagnosis)| matches!(diagnosis, Diagnosis::Answers(_))) {
        return Ok(Slow);
    }
    let kinds = [ErrorKind::Unreachable, ErrorKind::Denied, ErrorKind::Unfit];
    let is_there = |kind: &ErrorKind| found.iter().any(|(_, diagnosis)| diagnosis.kind() == *kind);
    // What is wrong with one of them, or only now, may be mended, or another one may serve.
    let kind = kinds.into_iter().find(is_there).filter(|_| is_first);
    let kind = kind.unwrap_or(ErrorKind::Unreachable);
    let words: Vec<String> =
        found.iter().map(|(host, diagnosis)| format!("{host}: {}", diagnosis.words())).collect();
    let what = format!("cannot get a session at {}: {}", settings.location, words.join("; "));
    let told = Error::new(kind, what).of_the_way();
    // Where it is known what answers there, the client library adds nothing.
    Err(if told.is_permanent() { told } else { told.because(error) })
}

/// ZooKeeper is there, and did not grant a session in time.
pub(crate) struct Slow;

const HINTS: Hints = Hints::of_url("zk", "zk+tls", "write that name as the host");

/// What is wrong with one server.
#[derive(Debug)]
pub(crate) enum Diagnosis {
    /// The way there, or TLS; and why files are not used as they are now.
    Trouble(Trouble, Option<String>),
    NotZooKeeper,
    IsEtcd,
    /// It has no quorum, or is starting.
    Busy,
    /// It has no quorum, and accepts only sessions that read.
    ReadOnly,
    /// It is ZooKeeper and serves, with its own words on itself.
    Answers(String),
}

impl Diagnosis {
    pub(crate) const SILENT: Self = Self::Trouble(Trouble::Silent, None);

    /// Whether the URL must change, or what one side trusts. A server may be replaced by one that answers as it should;
    /// a server of another kind is not the store.
    pub(crate) const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotZooKeeper | Self::IsEtcd => ErrorKind::Unfit,
            Self::Trouble(trouble, _) => trouble.kind(),
            Self::Busy | Self::ReadOnly | Self::Answers(_) => ErrorKind::Unreachable,
        }
    }

    /// Whether a server answered that may grant sessions.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Answers(_)
                | Self::NotZooKeeper
                | Self::IsEtcd
                | Self::Trouble(Trouble::WantsTls | Trouble::NoTls, _)
        )
    }

    pub(crate) fn words(&self) -> String {
        let words = match self {
            Self::Trouble(Trouble::HungUp, _) => {
                "it closes the connection without a word, as a balancer does that has no server to pass it to, or \
                 ZooKeeper above its maxClientCnxns"
            }
            Self::Trouble(trouble, doubt) => {
                let words = trouble.in_words(&HINTS);
                let more: Vec<String> = trouble.cause().into_iter().chain(doubt.clone()).collect();
                return if more.is_empty() {
                    words
                } else {
                    format!("{words} ({})", more.join("; "))
                };
            }
            Self::NotZooKeeper => "the server there does not speak ZooKeeper's protocol",
            Self::IsEtcd => {
                "it does not speak ZooKeeper's protocol, it is etcd: write etcd:// in the URL"
            }
            Self::Busy => {
                "ZooKeeper is there but takes no sessions now: it has no quorum, or is starting"
            }
            Self::ReadOnly => {
                "ZooKeeper is there but read-only, and accepts no sessions that write: it has no quorum"
            }
            Self::Answers(_) => "ZooKeeper is there but did not grant a session in time",
        };
        words.to_owned()
    }
}

/// Finds out what is wrong with a server, if anything is.
pub(crate) async fn examine(host: &Host, security: Option<&Security>) -> Diagnosis {
    let diagnosis = match (ask_state(host, security).await, security) {
        (Diagnosis::Trouble(Trouble::HungUp, _), None)
            if Protocol::Tls.is_spoken_by(host).await =>
        {
            Diagnosis::Trouble(Trouble::WantsTls, None)
        }
        // A server that stops closes the connection as well: then nothing listens there any more.
        (Diagnosis::Trouble(Trouble::HungUp, _), _) => ask_state(host, security).await,
        (diagnosis, _) => diagnosis,
    };
    match diagnosis {
        Diagnosis::NotZooKeeper
            if security.is_none() && Protocol::Etcd.is_spoken_by(host).await =>
        {
            Diagnosis::IsEtcd
        }
        diagnosis => diagnosis,
    }
}

/// Asks a server how it is. Of all such words this one is allowed by default. The end of the line is for a port of TLS,
/// which reads five bytes before it says that they are none.
const SRVR: &[u8] = b"srvr\n";
/// More than the longest answer to it.
const LONGEST: u64 = 2000;

/// The answer of a server to one question.
pub(crate) async fn ask_state(host: &Host, security: Option<&Security>) -> Diagnosis {
    let secured = match security.map(|security| security.secured(host)).transpose() {
        Ok(secured) => secured,
        Err(error) => return Diagnosis::Trouble(Trouble::Failed(error.to_string()), None),
    };
    match ask(host, secured.as_ref(), SRVR, LONGEST).await {
        Ok(answer) if answer.is_empty() && secured.is_some() => Diagnosis::Answers(String::new()),
        Ok(answer) => read(&answer),
        Err(Trouble::HungUp | Trouble::NoTls) if secured.is_some() => in_the_clear(host).await,
        Err(trouble) => Diagnosis::Trouble(trouble, security.and_then(Security::doubt)),
    }
}

fn read(answer: &[u8]) -> Diagnosis {
    let text = String::from_utf8_lossy(answer);
    if text.lines().any(|line| line == "Mode: read-only") {
        return Diagnosis::ReadOnly;
    }
    if text.starts_with("Zookeeper version") || text.contains("not in the whitelist") {
        return Diagnosis::Answers(text.into_owned());
    }
    if text.contains("not currently serving requests") {
        return Diagnosis::Busy;
    }
    match answer {
        [] => Diagnosis::Trouble(Trouble::HungUp, None),
        // An alert of TLS.
        [0x15, 0x03, ..] => Diagnosis::Trouble(Trouble::WantsTls, None),
        _ => Diagnosis::NotZooKeeper,
    }
}

/// What a server is that does not answer as TLS does.
async fn in_the_clear(host: &Host) -> Diagnosis {
    let trouble = match ask(host, None, SRVR, LONGEST).await.map(|answer| read(&answer)) {
        Ok(Diagnosis::Answers(_) | Diagnosis::Busy | Diagnosis::ReadOnly) => Trouble::NoTls,
        Ok(Diagnosis::Trouble(Trouble::WantsTls, _)) => Trouble::BrokenOff,
        Ok(Diagnosis::Trouble(trouble, _)) | Err(trouble) => trouble,
        Ok(_) => return Diagnosis::NotZooKeeper,
    };
    Diagnosis::Trouble(trouble, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_tell_the_kind_of_server() {
        for (reply, said) in [
            (&b"Zookeeper version: 3.8.0"[..], "did not grant"),
            (b"srvr is not executed because it is not in the whitelist.", "did not grant"),
            (b"This ZooKeeper instance is not currently serving requests", "no quorum"),
            (b"HTTP/1.1 400 Bad Request", "not speak ZooKeeper's"),
            (b"\x15\x03\x03\x00\x02\x02\x28", "zk+tls"),
        ] {
            assert!(read(reply).words().contains(said), "{reply:?}");
        }
    }
}
