//! A TCP proxy to a server that fails on demand.

mod garble;
mod lane;
mod relay;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use self::garble::{Garbling, Spoil};
use self::relay::{Door, Relay};
use crate::program::PATIENCE;

/// How the proxy treats the bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Passes them on at once.
    #[default]
    Pass,
    /// Passes on each chunk, and the end of the stream, so much later.
    Delay(Duration),
    /// Reads and drops them, and the end of the stream. The far side waits for ever.
    Swallow,
    /// Reads nothing, so that the sender's buffers fill up, and keeps what it has read. All of it is passed on
    /// once the mode changes.
    Hold,
    /// Passes on bytes until so many have gone since the start of the proxy ([`Count::passed`]). The rest waits
    /// until the mode changes.
    Until(u64),
    /// Passes on one byte a second.
    Trickle,
    /// Passes on each chunk twice. A chunk is the result of one `read`. If the sender waits for an answer after
    /// each request, that is one write of the sender.
    Duplicate,
    /// Misspells this word wherever it is in one chunk, so that the other side does not know it.
    Misspell(&'static str),
    /// Changes some replies on their way. It has to start where a reply begins, and ends with the connections that
    /// are open then.
    Garble(Garbling),
}

/// The bytes that came in from one direction, and that went out at the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Chunks that came.
    pub chunks: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Bytes that were passed on, copies included.
    pub passed: u64,
}

/// The traffic of a proxy since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Connections that reached the target.
    pub connections: u64,
    /// Connections that are open now.
    pub open: u64,
    /// The bytes from clients to the target.
    pub requests: Count,
    /// The bytes from the target to clients.
    pub replies: Count,
}

/// A TCP proxy on a free port of the loopback interface, with its own thread.
///
/// A change is in full effect when the call that makes it returns, for open and for new connections. Bytes that
/// arrive later are all treated in the new way. Delayed bytes still arrive when they are due, unless the new mode
/// holds them. A drop resets all connections and closes the port.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// The state that tests and the proxy's thread share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signals that the proxy's thread has seen a change.
    seen: Condvar,
}

#[derive(Debug, Default)]
struct State {
    orders: Orders,
    changes: u64,
    seen: u64,
    traffic: Traffic,
}

/// How the proxy treats clients that connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Welcome {
    #[default]
    LetIn,
    Refused,
    /// Closes all connections, open and new ones.
    HungUp,
}

#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    requests: Mode,
    replies: Mode,
    welcome: Welcome,
    cut: bool,
    ends: bool,
    /// The greatest number of connections at a time.
    limit: Option<usize>,
    /// The target of new connections, if it has changed.
    target: Option<SocketAddr>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TcpProxy {
    /// Starts a proxy to `target` that passes on everything. If the target does not accept a connection within
    /// five seconds, the client's is reset.
    ///
    /// The proxy listens on the loopback interface of the machine where it was started, as by
    /// [`Network::inside`](crate::fault::Network::inside).
    ///
    /// # Panics
    /// Panics if no port is free.
    #[track_caller]
    pub fn start(target: SocketAddr) -> Self {
        let door = Door::new().expect("a port of the loopback interface");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, door.port()));
        let shared = Arc::new(Shared { state: Mutex::default(), seen: Condvar::new() });
        let (wake, woken) = UnixStream::pair().expect("a pair of sockets");
        let relay = Relay::new(door, target, woken, Arc::clone(&shared));
        let thread = Some(thread::spawn(move || relay.run()));
        Self { address, shared, wake, thread }
    }

    /// The address that clients connect to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the mode for the bytes that clients send.
    pub fn requests(&self, mode: Mode) {
        self.order(|orders| orders.requests = mode);
    }

    /// Sets the mode for the bytes that the target sends.
    pub fn replies(&self, mode: Mode) {
        self.order(|orders| orders.replies = mode);
    }

    /// Sets the mode for both directions.
    pub fn both(&self, mode: Mode) {
        self.order(|orders| (orders.requests, orders.replies) = (mode, mode));
    }

    /// Resets all open connections, at both ends. New ones are accepted.
    pub fn cut(&self) {
        self.order(|orders| orders.cut = true);
    }

    /// Sets whether new connections are refused. The proxy keeps the port.
    pub fn refuse(&self, refuses: bool) {
        let welcome = if refuses { Welcome::Refused } else { Welcome::LetIn };
        self.order(|orders| orders.welcome = welcome);
    }

    /// Sets whether all connections, and each new one, are closed without a byte. So does a balancer without a
    /// server.
    pub fn hang_up(&self, hangs_up: bool) {
        let welcome = if hangs_up { Welcome::HungUp } else { Welcome::LetIn };
        self.order(|orders| orders.welcome = welcome);
    }

    /// Accepts only so many connections at a time from now on. Any further one is closed without a byte.
    pub fn limit(&self, connections: usize) {
        self.order(|orders| orders.limit = Some(connections));
    }

    /// Leads new connections to `target` from now on, and resets the open ones. So does an address that moves to
    /// another server.
    pub fn redirect(&self, target: SocketAddr) {
        self.order(|orders| (orders.cut, orders.target) = (true, Some(target)));
    }

    /// Returns the traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.shared.lock().traffic
    }

    fn order(&self, change: impl FnOnce(&mut Orders)) {
        let mut state = self.shared.lock();
        change(&mut state.orders);
        state.changes += 1;
        let changes = state.changes;
        let _ = (&self.wake).write_all(&[0]);
        let seen =
            self.shared.seen.wait_timeout_while(state, PATIENCE, |state| state.seen < changes);
        let (state, _) = seen.unwrap_or_else(PoisonError::into_inner);
        assert!(state.seen >= changes, "the proxy's thread does not answer");
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.orders.ends = true;
        state.changes += 1;
        drop(state);
        let _ = (&self.wake).write_all(&[0]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
