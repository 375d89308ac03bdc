//! Why no server let us in: the client library says no more than that none did.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use elect_api::remote::Host;
use elect_api::{Error, ErrorKind};
use rustls::{ClientConfig, ClientConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use zookeeper_client::Error as Zk;

use crate::security::{self, Security, server_name};
use crate::settings::Settings;

/// Asks each server what is wrong, and says it, unless one of them is only slow. `is_first` says that
/// there was no session ever: later on it is not the URL that is wrong, and trying again may help whatever
/// is there now.
pub(crate) async fn explain(
    settings: &Settings,
    patience: Duration,
    is_first: bool,
    error: Zk,
) -> Result<Slow, Error> {
    let mut found = Vec::new();
    for host in &settings.hosts {
        let look = examine(host, settings.security.as_ref());
        let diagnosis = timeout(patience, look).await.unwrap_or(Diagnosis::Silent);
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

const WANTS_OURS: &str =
    "it may require a client certificate that it trusts (the options cert and key)";

/// What is wrong with one server.
#[derive(Debug)]
pub(crate) enum Diagnosis {
    NoSuchName(io::Error),
    Refused,
    NoWay(io::Error),
    Silent,
    /// It takes the connection, and closes it without a byte.
    HangsUp,
    /// It answers, and closes the connection in the middle of a handshake of TLS.
    BreaksOff,
    NotZooKeeper,
    IsEtcd,
    WantsTls,
    HasNoTls,
    BadTls(String),
    Busy,
    /// It has no quorum, and accepts only sessions that read.
    ReadOnly,
    /// It is ZooKeeper, and serves. Whatever it said of itself.
    Answers(String),
}

impl Diagnosis {
    /// Whether it is the URL that must change, or what we or the servers trust. A name may come back, and a server
    /// may be replaced by one that answers as it should; what answers as something else is not it. Who says nothing is
    /// nobody yet.
    pub(crate) const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotZooKeeper | Self::IsEtcd | Self::WantsTls | Self::HasNoTls => ErrorKind::Unfit,
            Self::BadTls(_) => ErrorKind::Denied,
            _ => ErrorKind::Unreachable,
        }
    }

    /// Whether anything came back, and sessions may be had there.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Answers(_) | Self::NotZooKeeper | Self::IsEtcd | Self::WantsTls | Self::HasNoTls
        )
    }

    pub(crate) fn words(&self) -> String {
        match self {
            Self::NoSuchName(error) => format!("the name does not resolve ({error})"),
            Self::Refused => "nothing listens there (connection refused)".into(),
            Self::NoWay(error) => format!("it cannot be reached ({error})"),
            Self::Silent => "no answer".into(),
            Self::HangsUp => "it closes the connection without a word, as a balancer does that has no server to \
                              pass it to, or ZooKeeper above its maxClientCnxns"
                .into(),
            Self::BreaksOff => {
                format!("it closes the connection in the middle of the handshake of TLS; {WANTS_OURS}")
            }
            Self::NotZooKeeper => "what answers there does not speak ZooKeeper's protocol".into(),
            Self::IsEtcd => {
                "it does not speak ZooKeeper's protocol, it is etcd: write etcd:// in the URL"
                    .into()
            }
            Self::WantsTls => "it wants TLS: begin the URL with zk+tls://".into(),
            Self::HasNoTls => "it speaks no TLS: begin the URL with zk://".into(),
            Self::BadTls(why) => format!("TLS fails: {why}"),
            Self::Busy => {
                "ZooKeeper is there but takes no sessions now: it has no quorum, or is starting"
                    .into()
            }
            Self::ReadOnly => {
                "ZooKeeper is there but read-only, and accepts no sessions that write: it has no quorum"
                    .into()
            }
            Self::Answers(_) => "ZooKeeper is there but did not grant a session in time".into(),
        }
    }
}

/// Finds out what is wrong with a server, if anything is.
pub(crate) async fn examine(host: &Host, security: Option<&Security>) -> Diagnosis {
    let diagnosis = match (look(host, security).await, security) {
        (Diagnosis::HangsUp, None) if speaks_tls(host).await => Diagnosis::WantsTls,
        // A server that comes to its end hangs up as well: then nobody is there any more.
        (Diagnosis::HangsUp, _) => look(host, security).await,
        (diagnosis, _) => diagnosis,
    };
    match diagnosis {
        Diagnosis::NotZooKeeper if security.is_none() && is_etcd(host).await => Diagnosis::IsEtcd,
        diagnosis => diagnosis,
    }
}

/// What a server says to one question.
pub(crate) async fn look(host: &Host, security: Option<&Security>) -> Diagnosis {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset};
    if let Err(error) = lookup_host((host.name.as_str(), host.port)).await {
        return Diagnosis::NoSuchName(error);
    }
    let diagnosis = match security {
        Some(security) => handshake(host, security).await,
        None => ask(host, SRVR, LONGEST).await.map(|reply| read(&reply)),
    };
    diagnosis.unwrap_or_else(|error| match error.kind() {
        ConnectionRefused => Diagnosis::Refused,
        ConnectionReset | ConnectionAborted | BrokenPipe => Diagnosis::HangsUp,
        _ => Diagnosis::NoWay(error),
    })
}

/// Asks a server how it is; of all such words the one that is allowed by default. The end of the line is
/// for a port of TLS, which wants five bytes before it says that they are none.
const SRVR: &[u8] = b"srvr\n";
/// More than it says.
const LONGEST: u64 = 2000;

/// Whether a server tells the version of etcd, as etcd does to all who ask.
async fn is_etcd(host: &Host) -> bool {
    let question = format!("GET /version HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let reply = ask(host, question.as_bytes(), LONGEST).await.unwrap_or_default();
    String::from_utf8_lossy(&reply).contains("etcdserver")
}

/// What a server says to this, up to so many bytes, until it hangs up.
async fn ask(host: &Host, question: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((host.name.as_str(), host.port)).await?;
    let mut reply = Vec::new();
    if stream.write_all(question).await.is_ok() {
        // Who sees no sense in it may reset the connection: what came before that is an answer.
        let _ = (&mut stream).take(limit).read_to_end(&mut reply).await;
    }
    Ok(reply)
}

fn read(reply: &[u8]) -> Diagnosis {
    let text = String::from_utf8_lossy(reply);
    if text.lines().any(|line| line == "Mode: read-only") {
        return Diagnosis::ReadOnly;
    }
    if text.starts_with("Zookeeper version") || text.contains("not in the whitelist") {
        return Diagnosis::Answers(text.into_owned());
    }
    if text.contains("not currently serving requests") {
        return Diagnosis::Busy;
    }
    match reply {
        [] => Diagnosis::HangsUp,
        // An alert of TLS.
        [0x15, 0x03, ..] => Diagnosis::WantsTls,
        _ => Diagnosis::NotZooKeeper,
    }
}

/// Whether it answers the beginning of a handshake with a record of TLS.
async fn speaks_tls(host: &Host) -> bool {
    let Ok(mut tls) = client(host, security::without_authorities()) else { return false };
    let mut hello = Vec::new();
    if tls.write_tls(&mut hello).is_err() {
        return false;
    }
    ask(host, &hello, 1).await.is_ok_and(|reply| matches!(reply[..], [0x15 | 0x16]))
}

fn client(host: &Host, config: Option<Arc<ClientConfig>>) -> Result<ClientConnection, Diagnosis> {
    let (Some(config), Ok(name)) = (config, server_name(host)) else {
        return Err(Diagnosis::Silent);
    };
    ClientConnection::new(config, name).map_err(|error| Diagnosis::BadTls(error.to_string()))
}

/// A handshake like the client library's, for the sake of its error.
async fn handshake(host: &Host, security: &Security) -> io::Result<Diagnosis> {
    let mut stream = TcpStream::connect((host.name.as_str(), host.port)).await?;
    let mut tls = match client(host, Some(security.config())) {
        Ok(tls) => tls,
        Err(diagnosis) => return Ok(diagnosis),
    };
    // It goes out when the handshake is done. With TLS 1.3 a server refuses our certificate only then.
    io::Write::write_all(&mut tls.writer(), SRVR)?;
    let mut is_answered = false;
    loop {
        while tls.wants_write() {
            let mut records = Vec::new();
            tls.write_tls(&mut records)?;
            stream.write_all(&records).await?;
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) if !is_answered => return in_plain_text(host).await,
            Ok(0) | Err(_) if tls.is_handshaking() => return Ok(Diagnosis::BreaksOff),
            Ok(0) | Err(_) => return Ok(Diagnosis::Answers(String::new())),
            Ok(length) => tls.read_tls(&mut &chunk[..length])?,
        };
        is_answered = true;
        match tls.process_new_packets() {
            Ok(state) if state.plaintext_bytes_to_read() > 0 => {
                let mut reply = vec![0; state.plaintext_bytes_to_read()];
                io::Read::read_exact(&mut tls.reader(), &mut reply)?;
                return Ok(read(&reply));
            }
            Ok(_) => {}
            Err(rustls::Error::InvalidMessage(_)) => return in_plain_text(host).await,
            Err(error) => {
                let doubt =
                    security.doubt().map_or_else(String::new, |doubt| format!(" ({doubt})"));
                return Ok(Diagnosis::BadTls(in_words(&error) + &doubt));
            }
        }
    }
}

fn in_words(error: &rustls::Error) -> String {
    use rustls::CertificateError::{BadSignature, UnknownIssuer};
    match error {
        rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            format!("{error}: none of the authorities that we trust made it (the option ca)")
        }
        rustls::Error::AlertReceived(_) => format!("{error}: {WANTS_OURS}"),
        error => error.to_string(),
    }
}

/// What a server is that does not answer as TLS does.
async fn in_plain_text(host: &Host) -> io::Result<Diagnosis> {
    Ok(match read(&ask(host, SRVR, LONGEST).await?) {
        Diagnosis::Answers(_) | Diagnosis::Busy | Diagnosis::ReadOnly => Diagnosis::HasNoTls,
        Diagnosis::HangsUp => Diagnosis::HangsUp,
        Diagnosis::WantsTls => Diagnosis::BreaksOff,
        _ => Diagnosis::NotZooKeeper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_tell_what_is_there() {
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
