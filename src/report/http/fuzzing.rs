//! This file is the fuzzing entry point for the HTTP server: it sends arbitrary bytes as a client.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use elect_api::Boottime;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

use super::pages::Pages;
use super::server::converse;
use super::{Clocks, ElectionWatcher, HttpState, Identity, StatusSnapshot};
use crate::report::Suspicion;

/// The most bytes that are sent: this much fits into the buffer.
const MOST: usize = 32 * 1024;
/// A limit above the time of any answer. A client that sends many requests has to wait for its turns.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends `bytes` and nothing more over a new connection, and checks that the server ends the connection in time.
///
/// # Panics
/// If the server does not end the connection in time.
pub fn fuzz(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (mut client, server) = tokio::io::duplex(MOST);
        client.write_all(&bytes[..bytes.len().min(MOST)]).await.expect("it fits into the buffer");
        client.shutdown().await.expect("an end");
        let (pages, mut answers) = (pages(), Vec::new());
        let talk = async {
            tokio::join!(converse(&pages, server, None), client.read_to_end(&mut answers))
        };
        let over = tokio::time::timeout(PATIENCE, talk).await;
        assert!(over.is_ok(), "the connection does not end");
    });
}

fn pages() -> Pages {
    let identity = Identity {
        election: "job".to_owned(),
        id: "me".to_owned(),
        store: "file",
        promise: elect_api::Promise::Strong,
        is_timed: false,
        has_command: true,
        grace: None,
    };
    let clocks = Clocks { now: crate::guard::now, wall: || SystemTime::UNIX_EPOCH };
    let state = Arc::new(HttpState::new(identity, clocks));
    Pages::new(state, Box::new(Blind), watch::channel(false).1, false)
}

/// A watcher that knows of no candidates.
struct Blind;

#[async_trait]
impl ElectionWatcher for Blind {
    async fn snapshot(&self, _: Boottime) -> Option<StatusSnapshot> {
        None
    }

    fn suspicion(&self) -> Option<Suspicion> {
        None
    }

    async fn watch(&self, _: &HttpState) {
        std::future::pending::<()>().await;
    }
}
