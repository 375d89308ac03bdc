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
    let permanent = is_first && found.iter().all(|(_, diagnosis)| diagnosis.is_permanent());
    let kind = if permanent { ErrorKind::Unfit } else { ErrorKind::Unreachable };
    let words: Vec<String> =
        found.iter().map(|(host, diagnosis)| format!("{host}: {}", diagnosis.words())).collect();
    let what = format!("cannot get a session at {}: {}", settings.location, words.join("; "));
    let told = Error::new(kind, what);
    // Where it is known what answers there, the client library adds nothing.
    Err(if permanent { told } else { told.because(error) })
}

/// ZooKeeper is there, and did not grant a session in time.
pub(crate) struct Slow;

const WANTS_OURS: &str =
    "it may want a certificate of ours that it trusts (the options cert and key)";

/// What is wrong with one server.
#[derive(Debug)]
pub(crate) enum Diagnosis {
    NoSuchName(io::Error),
    Refused,
    NoWay(io::Error),
    Silent,
    NotZooKeeper,
    IsEtcd,
    WantsTls,
    HasNoTls,
    BadTls(String),
    Busy,
    /// It is ZooKeeper, and serves. Whatever it said of itself.
    Answers(String),
}

impl Diagnosis {
    /// Whether it is the URL that must change. A name may come back, and a server may be replaced by one
    /// that answers as it should; what answers as something else is not it.
    pub(crate) const fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::NotZooKeeper | Self::IsEtcd | Self::WantsTls | Self::HasNoTls | Self::BadTls(_)
        )
    }

    /// Whether anything came back, and sessions may be had there.
    pub(crate) const fn is_answer(&self) -> bool {
        !matches!(
            self,
            Self::NoSuchName(_) | Self::Refused | Self::NoWay(_) | Self::Silent | Self::Busy
        )
    }

    pub(crate) fn words(&self) -> String {
        match self {
            Self::NoSuchName(error) => format!("the name does not resolve ({error})"),
            Self::Refused => "nothing listens there (connection refused)".into(),
            Self::NoWay(error) => format!("it cannot be reached ({error})"),
            Self::Silent => "no answer".into(),
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
            Self::Answers(_) => "ZooKeeper is there but did not grant a session in time".into(),
        }
    }
}

/// Finds out what is wrong with a server, if anything is.
pub(crate) async fn examine(host: &Host, security: Option<&Security>) -> Diagnosis {
    if let Err(error) = lookup_host((host.name.as_str(), host.port)).await {
        return Diagnosis::NoSuchName(error);
    }
    let diagnosis = match security {
        Some(security) => handshake(host, security).await,
        None => four_letters(host).await,
    };
    diagnosis.unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => Diagnosis::Refused,
        _ => Diagnosis::NoWay(error),
    })
}

/// Asks a server how it is; of all such words the one that is allowed by default. The end of the line is
/// for a port of TLS, which wants five bytes before it says that they are none.
const SRVR: &[u8] = b"srvr\n";
/// More than it says.
const LONGEST: u64 = 2000;

/// Asks in plain text how the server is.
async fn four_letters(host: &Host) -> io::Result<Diagnosis> {
    let diagnosis = match read(&ask(host, SRVR, LONGEST).await?) {
        Diagnosis::Silent if speaks_tls(host).await => Diagnosis::WantsTls,
        // A server that comes to its end hangs up as well: then nobody is there any more.
        Diagnosis::Silent => match read(&ask(host, SRVR, LONGEST).await?) {
            Diagnosis::Silent => Diagnosis::NotZooKeeper,
            diagnosis => diagnosis,
        },
        diagnosis => diagnosis,
    };
    Ok(match diagnosis {
        Diagnosis::NotZooKeeper if is_etcd(host).await => Diagnosis::IsEtcd,
        diagnosis => diagnosis,
    })
}

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
    if text.starts_with("Zookeeper version") || text.contains("not in the whitelist") {
        return Diagnosis::Answers(text.into_owned());
    }
    if text.contains("not currently serving requests") {
        return Diagnosis::Busy;
    }
    match reply {
        [] => Diagnosis::Silent,
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
    loop {
        while tls.wants_write() {
            let mut records = Vec::new();
            tls.write_tls(&mut records)?;
            stream.write_all(&records).await?;
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) if tls.is_handshaking() => return in_plain_text(host).await,
            Ok(0) | Err(_) => return Ok(Diagnosis::Answers(String::new())),
            Ok(length) => tls.read_tls(&mut &chunk[..length])?,
        };
        match tls.process_new_packets() {
            Ok(state) if state.plaintext_bytes_to_read() > 0 => {
                let mut reply = vec![0; state.plaintext_bytes_to_read()];
                io::Read::read_exact(&mut tls.reader(), &mut reply)?;
                return Ok(read(&reply));
            }
            Ok(_) => {}
            Err(rustls::Error::InvalidMessage(_)) => return in_plain_text(host).await,
            Err(error) => return Ok(Diagnosis::BadTls(in_words(&error))),
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
        Diagnosis::Answers(_) | Diagnosis::Busy => Diagnosis::HasNoTls,
        Diagnosis::Silent | Diagnosis::WantsTls => {
            Diagnosis::BadTls(format!("the server hangs up: {WANTS_OURS}"))
        }
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
