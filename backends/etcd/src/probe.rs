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

/// Whether a server speaks this language. Only to tell a person what is wrong: nothing is asked of it.
pub(crate) async fn speaks(host: &Host, language: Language) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect((host.name.as_str(), host.port)).await.ok()?;
        stream.write_all(&language.greeting()).await.ok()?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await.ok()?;
        Some(language.is_spoken_by(answer))
    };
    tokio::time::timeout(PATIENCE, ask).await.ok().flatten().unwrap_or(false)
}
