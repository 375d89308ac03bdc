//! Which protocol a server speaks: asked only to tell a person what is wrong.

use std::time::Duration;

use crate::Host;
use tokio::time::timeout;

use crate::dial::ask;

/// A server of another protocol answers at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// A protocol that a server may speak. It is recognized without taking part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TLS.
    Tls,
    /// HTTP/2 in the clear.
    Http2,
    /// ZooKeeper's, in the clear.
    ZooKeeper,
    /// etcd's, in the clear.
    Etcd,
}

impl Protocol {
    /// Returns whether the server at `host` speaks it; false if it does not answer within a second.
    pub async fn is_spoken_by(self, host: &Host) -> bool {
        let question = self.question(host);
        let asked = timeout(PATIENCE, Box::pin(ask(host, None, &question, self.limit()))).await;
        asked.is_ok_and(|answer| answer.is_ok_and(|answer| self.is_in(&answer)))
    }

    fn question(self, host: &Host) -> Vec<u8> {
        match self {
            // A greeting of TLS 1.2 that leads nowhere.
            Self::Tls => {
                let record = [0x16, 3, 1, 0, 45];
                let hello = [1, 0, 0, 41, 3, 3];
                let suites = [0, 0, 2, 0xC0, 0x2F, 1, 0];
                [&record[..], &hello, &[7; 32], &suites].concat()
            }
            Self::Http2 => {
                [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat()
            }
            Self::ZooKeeper => b"srvr\n".to_vec(),
            Self::Etcd => {
                format!("GET /version HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into()
            }
        }
    }

    const fn limit(self) -> u64 {
        match self {
            Self::Tls | Self::Http2 => 4,
            Self::ZooKeeper => 200,
            Self::Etcd => 2000,
        }
    }

    /// Returns whether an answer begins as one of its servers.
    pub fn is_in(self, answer: &[u8]) -> bool {
        let says = |word: &str| String::from_utf8_lossy(answer).contains(word);
        match self {
            // An alert, or the beginning of a handshake.
            Self::Tls => matches!(answer, [0x15 | 0x16, 3, ..]),
            // A frame of settings.
            Self::Http2 => matches!(answer, [_, _, _, 4, ..]),
            Self::ZooKeeper => {
                ["Zookeeper version", "not in the whitelist", "not currently serving requests"]
                    .into_iter()
                    .any(says)
            }
            Self::Etcd => says("etcdserver"),
        }
    }
}
