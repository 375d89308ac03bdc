//! A way to a TCP server that fails as it is told to.

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

/// What becomes of the bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// They are passed on at once.
    #[default]
    Pass,
    /// Each chunk is passed on so much later than it came, and so is the end of the stream.
    Delay(Duration),
    /// They are read and dropped, and so is the end of the stream: the far side waits for ever.
    Swallow,
    /// They are not read, so that the sender's buffers fill up, and what was read waits. They are all
    /// passed on when the mode is another again.
    Hold,
    /// They are passed on until so many have been since the start of the proxy ([`Count::passed`]), and
    /// what is more waits until the mode is another.
    Until(u64),
    /// One byte a second is passed on.
    Trickle,
    /// Each chunk is passed on twice. A chunk is what one call of `read` gives, which is what the
    /// sender wrote at once as long as it waits for an answer after each request.
    Duplicate,
    /// Some are changed on their way. It is to begin where a reply begins, and ends with the connections that
    /// are open then.
    Garble(Garbling),
}

/// What came in from one direction, and what went out at the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Chunks that came.
    pub chunks: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Bytes that were passed on, copies included.
    pub passed: u64,
}

/// What a proxy has seen since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Connections that were let in.
    pub connections: u64,
    /// Connections that are open now.
    pub open: u64,
    /// From clients to the target.
    pub requests: Count,
    /// From the target to clients.
    pub replies: Count,
}

/// A TCP proxy on a free port of the loopback interface, with a thread of its own.
///
/// A change has its full effect when the call that makes it returns: not a byte that comes later is
/// treated in the old way. What is delayed already still comes when it was to come, unless it is held.
/// A change reaches connections that are open as well as new ones. Dropping the proxy resets them all
/// and closes the port.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// What the threads of tests tell the proxy's own, and back.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// The proxy's thread has seen a change.
    seen: Condvar,
}

#[derive(Debug, Default)]
struct State {
    orders: Orders,
    changes: u64,
    seen: u64,
    traffic: Traffic,
}

/// What becomes of those who connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Welcome {
    #[default]
    LetIn,
    Refused,
    /// Whoever is let in, or was before, is hung up on.
    HungUp,
}

#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    requests: Mode,
    replies: Mode,
    welcome: Welcome,
    cut: bool,
    ends: bool,
    /// How many connections there may be.
    limit: Option<usize>,
    /// Where new connections lead to, if that is another place than at first.
    target: Option<SocketAddr>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TcpProxy {
    /// Towards this address, with everything passed on. A target that does not let in within five seconds
    /// has the client reset.
    ///
    /// It is there on the machine where it was started, as by
    /// [`Network::inside`](crate::fault::Network::inside), on the loopback interface.
    ///
    /// # Panics
    /// When no port is free.
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

    /// Where clients connect to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Treats what clients send like this from now on.
    pub fn requests(&self, mode: Mode) {
        self.order(|orders| orders.requests = mode);
    }

    /// Treats what the target sends like this from now on.
    pub fn replies(&self, mode: Mode) {
        self.order(|orders| orders.replies = mode);
    }

    /// Treats both directions like this from now on.
    pub fn both(&self, mode: Mode) {
        self.order(|orders| (orders.requests, orders.replies) = (mode, mode));
    }

    /// Resets all connections that are open, at both ends. New ones are let in.
    pub fn cut(&self) {
        self.order(|orders| orders.cut = true);
    }

    /// Whether new connections are refused from now on. The port stays this proxy's.
    pub fn refuse(&self, refuses: bool) {
        let welcome = if refuses { Welcome::Refused } else { Welcome::LetIn };
        self.order(|orders| orders.welcome = welcome);
    }

    /// Whether all connections, and each new one as soon as it is let in, are closed from now on without a byte: a
    /// balancer that has no server.
    pub fn hang_up(&self, hangs_up: bool) {
        let welcome = if hangs_up { Welcome::HungUp } else { Welcome::LetIn };
        self.order(|orders| orders.welcome = welcome);
    }

    /// Lets in only so many at once from now on; whoever comes beside them is hung up on without a byte.
    pub fn limit(&self, connections: usize) {
        self.order(|orders| orders.limit = Some(connections));
    }

    /// Leads elsewhere from now on, and resets all connections that are open: an address that has come to mean
    /// another server.
    pub fn redirect(&self, target: SocketAddr) {
        self.order(|orders| (orders.cut, orders.target) = (true, Some(target)));
    }

    /// What it has seen so far.
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
