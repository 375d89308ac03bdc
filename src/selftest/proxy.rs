//! A proxy between a candidate and the store, which fails on command.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The treatment of the bytes of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The bytes are passed on.
    Pass,
    /// The bytes wait until the mode changes.
    Hold,
    /// The bytes are dropped, as in a network that is cut.
    Drop,
}

/// A proxy to each machine of a store. Dropping it closes all connections.
pub(super) struct Proxy {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    _doors: JoinSet<()>,
}

struct Shared {
    requests: watch::Sender<Mode>,
    replies: watch::Sender<Mode>,
    /// The number of times that data came from a candidate.
    heard: AtomicU64,
    /// The number of connections that break at a reply: the first one at its first reply, the second one
    /// at its second reply, and so on.
    fragile: u32,
    connections: AtomicU32,
}

impl Proxy {
    /// Starts a proxy to each of `targets`, which are given as `HOST:PORT`. It passes on everything.
    /// Only the first `fragile` connections break at a reply.
    pub(super) async fn start(targets: &[String], fragile: u32) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            requests: watch::Sender::new(Mode::Pass),
            replies: watch::Sender::new(Mode::Pass),
            heard: AtomicU64::new(0),
            fragile,
            connections: AtomicU32::new(0),
        });
        let mut doors = JoinSet::new();
        let mut addresses = Vec::new();
        for target in targets {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            addresses.push(listener.local_addr()?);
            doors.spawn(let_in(listener, target.clone(), Arc::clone(&shared)));
        }
        Ok(Self { addresses, shared, _doors: doors })
    }

    /// Returns the addresses that candidates connect to.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Sets the mode for the candidate's requests and for the store's replies from now on.
    pub(super) fn order(&self, requests: Mode, replies: Mode) {
        self.shared.requests.send_replace(requests);
        self.shared.replies.send_replace(replies);
    }

    /// Returns how often data of the candidate has arrived so far.
    pub(super) fn heard(&self) -> u64 {
        self.shared.heard.load(Ordering::Relaxed)
    }

    /// Returns the number of connections so far.
    pub(super) fn connections(&self) -> u32 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

async fn let_in(listener: TcpListener, target: String, shared: Arc<Shared>) {
    // The connections end together with the listener.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            client = listener.accept() => {
                if let Ok((client, _)) = client {
                    connections.spawn(connect(client, target.clone(), Arc::clone(&shared)));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection. When one side ends, the other side is closed as well.
async fn connect(client: TcpStream, target: String, shared: Arc<Shared>) {
    let number = shared.connections.fetch_add(1, Ordering::Relaxed);
    let Ok(store) = TcpStream::connect(&target).await else { return };
    for stream in [&client, &store] {
        // Each chunk is sent at once, because there may be no further data to fill a packet.
        let _ = stream.set_nodelay(true);
    }
    let (from_client, to_client) = client.into_split();
    let (from_store, to_store) = store.into_split();
    let breaks_at = (number < shared.fragile).then_some(number + 1);
    let requests = async {
        let mode = shared.requests.subscribe();
        let heard = || shared.heard.fetch_add(1, Ordering::Relaxed) < u64::MAX;
        pass_on(from_client, to_store, mode, heard).await;
    };
    let mut replies = 0;
    let replies = async {
        let mode = shared.replies.subscribe();
        pass_on(from_store, to_client, mode, || {
            replies += 1;
            Some(replies) != breaks_at
        })
        .await;
    };
    tokio::select! {
        () = requests => {}
        () = replies => {}
    }
}

/// Passes on data as the mode says. Calls `goes_on` for each chunk, and ends when it returns false.
async fn pass_on(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    mut goes_on: impl FnMut() -> bool,
) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let Ok(got @ 1..) = from.read(&mut buffer).await else { return };
        if !goes_on() {
            return;
        }
        let Ok(now) = mode.wait_for(|mode| *mode != Mode::Hold).await.map(|mode| *mode) else {
            return;
        };
        if now == Mode::Pass && to.write_all(&buffer[..got]).await.is_err() {
            return;
        }
    }
}
