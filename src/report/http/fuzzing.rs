//! This file is the fuzzing entry point for the HTTP server: it sends arbitrary bytes as a client.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use tokio::net::UnixStream;
use tokio::sync::watch;

use super::connections::{Connections, Pace};
use super::pages::{Pages, Room};
use super::server::converse;
use super::{Clocks, ElectionWatcher, HttpState, Identity, StatusSnapshot};
use crate::report::Suspicion;

/// The most bytes that are sent: this much fits into the buffers.
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
        let (client, server) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        send(&client, &bytes[..bytes.len().min(MOST)]);
        for end in [&client, &server] {
            end.set_nonblocking(true).expect("a mode");
        }
        let server = UnixStream::from_std(server).expect("a socket");
        let client = UnixStream::from_std(client).expect("a socket");
        let pages = pages();
        let talk = async { tokio::join!(converse(&pages, server, None), listen(&client)) };
        let over = tokio::time::timeout(PATIENCE, talk).await;
        assert!(over.is_ok(), "the connection does not end");
    });
}

fn send(mut client: &std::os::unix::net::UnixStream, bytes: &[u8]) {
    use std::io::Write as _;
    client.write_all(bytes).expect("it fits into the buffer");
    client.shutdown(std::net::Shutdown::Write).expect("an end");
}

/// Reads everything that the server sends, to the end.
async fn listen(client: &UnixStream) {
    let mut buffer = [0; 4096];
    while client.readable().await.is_ok() {
        match client.try_read(&mut buffer) {
            Ok(0) => return,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

fn pages() -> Pages {
    let identity = Identity {
        election: "job".to_owned(),
        id: "me".to_owned(),
        store: "file",
        is_timed: false,
        has_command: true,
        grace: None,
    };
    let clocks = Clocks { now: crate::guard::now, wall: || SystemTime::UNIX_EPOCH };
    let (_, stopping) = watch::channel(false);
    let state = Arc::new(HttpState::new(identity, clocks));
    let pace = Pace::new(clocks.now);
    let watcher = Box::new(Blind);
    Pages {
        is_local: false,
        state,
        watcher,
        connections: Connections::new(),
        pace,
        stopping,
        room: Room::default(),
    }
}

/// A watcher that knows of no candidates.
struct Blind;

#[async_trait]
impl ElectionWatcher for Blind {
    async fn look(&self) -> Option<StatusSnapshot> {
        None
    }

    fn suspicion(&self) -> Option<Suspicion> {
        None
    }

    async fn watch(&self, _: &HttpState) {
        std::future::pending::<()>().await;
    }
}
