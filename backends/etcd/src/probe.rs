use std::time::Duration;

use elect_api::remote::Host;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A server that speaks the other language answers at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// How one talks over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Clear,
    Tls,
}

impl Language {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Clear => Self::Tls,
            Self::Tls => Self::Clear,
        }
    }

    /// What makes a server say something: the beginning of HTTP/2, or a greeting of TLS 1.2 that can come
    /// to nothing.
    fn greeting(self) -> Vec<u8> {
        match self {
            Self::Clear => {
                [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat()
            }
            Self::Tls => {
                let record = [0x16, 3, 1, 0, 45];
                let hello = [1, 0, 0, 41, 3, 3];
                let suites = [0, 0, 2, 0xC0, 0x2F, 1, 0];
                [&record[..], &hello, &[7; 32], &suites].concat()
            }
        }
    }

    const fn is_spoken_by(self, answer: [u8; 4]) -> bool {
        match self {
            // A frame of settings.
            Self::Clear => answer[3] == 4,
            // An alert, or the beginning of a handshake.
            Self::Tls => matches!(answer, [0x15 | 0x16, 3, ..]),
        }
    }
}

/// What a server speaks that hung up on us without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// The language that we did not use.
    Other,
    /// What ZooKeeper speaks.
    ZooKeeper,
}

/// What a server speaks other than etcd's protocol in our language; `None` if that is not known.
pub(crate) async fn speech(host: &Host, ours: Language) -> Option<Speech> {
    let (speaks_other, is_zookeeper) = tokio::join!(speaks(host, ours.other()), is_zookeeper(host));
    match (speaks_other, is_zookeeper) {
        (true, _) => Some(Speech::Other),
        (false, true) => Some(Speech::ZooKeeper),
        (false, false) => None,
    }
}

/// Whether a server answers a word that only ZooKeeper knows.
async fn is_zookeeper(host: &Host) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect((host.name.as_str(), host.port)).await.ok()?;
        stream.write_all(b"srvr\n").await.ok()?;
        let mut answer = Vec::new();
        // It hangs up after its answer, and may do so in an unfriendly way.
        let _ = stream.take(200).read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        let words = ["Zookeeper version", "not in the whitelist", "not currently serving requests"];
        Some(words.iter().any(|word| answer.contains(word)))
    };
    tokio::time::timeout(PATIENCE, ask).await.ok().flatten().unwrap_or(false)
}

/// Whether a server speaks this language. Only to tell a person what is wrong: nothing is asked of it.
async fn speaks(host: &Host, language: Language) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect((host.name.as_str(), host.port)).await.ok()?;
        stream.write_all(&language.greeting()).await.ok()?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await.ok()?;
        Some(language.is_spoken_by(answer))
    };
    tokio::time::timeout(PATIENCE, ask).await.ok().flatten().unwrap_or(false)
}
