//! The proxy's thread. It owns all sockets, and waits for all of them at once.

use std::io::{self, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use elect_api::Boottime;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, SockaddrStorage, bind, connect,
    getsockname, listen, setsockopt, socket, sockopt,
};

use super::lane::Lane;
use super::{Mode, Orders, Shared, Traffic, Welcome};
use crate::clock::now;

/// How long a target may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The proxy's port, which stays taken while no socket listens there.
pub(super) struct Door {
    /// A socket that never listens, and keeps the port.
    _place: OwnedFd,
    port: u16,
    listener: Option<TcpListener>,
}

impl Door {
    pub(super) fn new() -> io::Result<Self> {
        let place = Self::bind(0)?;
        let port = getsockname::<SockaddrIn>(place.as_raw_fd())?.port();
        let mut door = Self { _place: place, port, listener: None };
        door.open(true)?;
        Ok(door)
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    fn bind(port: u16) -> io::Result<OwnedFd> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        setsockopt(&socket, sockopt::ReusePort, &true)?;
        let [a, b, c, d] = Ipv4Addr::LOCALHOST.octets();
        bind(socket.as_raw_fd(), &SockaddrIn::new(a, b, c, d, port))?;
        Ok(socket)
    }

    fn open(&mut self, opens: bool) -> io::Result<()> {
        if !opens {
            self.listener = None;
        } else if self.listener.is_none() {
            let socket = Self::bind(self.port)?;
            listen(&socket, Backlog::new(128)?)?;
            self.listener = Some(socket.into());
        }
        Ok(())
    }
}

/// The bytes that have been passed on, over all connections.
#[derive(Clone, Copy)]
struct Passed {
    requests: u64,
    replies: u64,
}

struct Connection {
    client: TcpStream,
    target: TcpStream,
    requests: Lane,
    replies: Lane,
    /// The time by which the target has to accept the connection. `None` once it has.
    patience: Option<Boottime>,
    is_broken: bool,
}

impl Connection {
    fn new(client: TcpStream, target: SocketAddr, now: Boottime) -> io::Result<Self> {
        // Until both ends are connected, the end of one resets the other.
        reset_on_close(&client, true);
        let target = begin_to_connect(target)?;
        for stream in [&client, &target] {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
        }
        let (requests, replies) = (Lane::default(), Lane::default());
        let patience = Some(now + CONNECT);
        Ok(Self { client, target, requests, replies, patience, is_broken: false })
    }

    /// Returns whether the target has accepted the connection, and counts the connection when it
    /// has.
    fn is_let_in(&mut self, now: Boottime, traffic: &mut Traffic) -> bool {
        let Some(patience) = self.patience else { return true };
        if self.target.peer_addr().is_ok() {
            self.patience = None;
            reset_on_close(&self.client, false);
            traffic.connections += 1;
            return true;
        }
        self.is_broken =
            now >= patience || self.target.take_error().is_ok_and(|error| error.is_some());
        false
    }

    fn is_over(&self) -> bool {
        self.is_broken || (self.requests.is_over() && self.replies.is_over())
    }

    fn reset(&self) {
        reset_on_close(&self.client, true);
        reset_on_close(&self.target, true);
    }

    /// Returns the events to poll for at the client and at the target.
    fn interests(&self, orders: &Orders, passed: Passed, now: Boottime) -> [PollFlags; 2] {
        if self.patience.is_some() {
            return [PollFlags::empty(), PollFlags::POLLOUT];
        }
        let [requests, replies] = self.dues(orders, passed);
        let interest = |reads: &Lane, mode, writes: Option<Boottime>| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::POLLIN, reads.wants_to_read(mode));
            flags.set(PollFlags::POLLOUT, writes.is_some_and(|due| due <= now));
            flags
        };
        [
            interest(&self.requests, orders.requests, replies),
            interest(&self.replies, orders.replies, requests),
        ]
    }

    /// Returns when requests and when replies are due next.
    fn dues(&self, orders: &Orders, passed: Passed) -> [Option<Boottime>; 2] {
        [
            self.requests.due(orders.requests, passed.requests),
            self.replies.due(orders.replies, passed.replies),
        ]
    }

    fn next_due(&self, orders: &Orders, passed: Passed) -> Option<Boottime> {
        let dues = self.dues(orders, passed).into_iter().chain([self.patience]);
        dues.flatten().min()
    }

    /// Does all that can be done without waiting.
    fn turn(&mut self, orders: &Orders, now: Boottime, traffic: &mut Traffic) {
        if !self.is_let_in(now, traffic) {
            return;
        }
        let Self { client, target, requests, replies, is_broken, .. } = self;
        let (client, target) = (&*client, &*target);
        let lanes: [(_, _, _, Mode, _); 2] = [
            (requests, client, target, orders.requests, &mut traffic.requests),
            (replies, target, client, orders.replies, &mut traffic.replies),
        ];
        let mut worked = true;
        for (lane, from, to, mode, count) in lanes {
            if lane.wants_to_read(mode) {
                worked &= lane.read(from, mode, now, count).is_ok();
            }
            worked &= lane.write(to, mode, now, count).is_ok();
        }
        if !worked {
            *is_broken = true;
            self.reset();
        }
    }
}

/// Begins to connect, and does not wait: an unreachable target must not delay other connections.
fn begin_to_connect(target: SocketAddr) -> io::Result<TcpStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let family = if target.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Stream, flags, None)?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(target)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket.into()),
        Err(errno) => Err(errno.into()),
    }
}

fn reset_on_close(stream: &TcpStream, resets: bool) {
    let linger = libc::linger { l_onoff: resets.into(), l_linger: 0 };
    let _ = setsockopt(stream, sockopt::Linger, &linger);
}

pub(super) struct Relay {
    door: Door,
    target: SocketAddr,
    woken: UnixStream,
    shared: Arc<Shared>,
    connections: Vec<Connection>,
}

impl Relay {
    pub(super) fn new(
        door: Door,
        target: SocketAddr,
        woken: UnixStream,
        shared: Arc<Shared>,
    ) -> Self {
        Self { door, target, woken, shared, connections: Vec::new() }
    }

    pub(super) fn run(mut self) {
        loop {
            // New clients come first, so that a cut also reaches one that the kernel has already
            // connected.
            self.let_in();
            let orders = self.take_orders();
            if orders.ends {
                return;
            }
            let now = now();
            let mut state = self.shared.lock();
            for connection in &mut self.connections {
                connection.turn(&orders, now, &mut state.traffic);
            }
            self.connections.retain(|connection| !connection.is_over());
            state.traffic.open = self.connections.len() as u64;
            let Traffic { requests, replies, .. } = state.traffic;
            let passed = Passed { requests: requests.passed, replies: replies.passed };
            // An order that came since then has woken the poll.
            drop(state);
            self.wait(&orders, passed);
        }
    }

    /// Takes the orders, and tells the tests that gave them that they are in effect.
    fn take_orders(&mut self) -> Orders {
        let mut state = self.shared.lock();
        let orders = state.orders;
        state.orders.cut = false;
        self.target = orders.target.unwrap_or(self.target);
        if orders.cut || orders.ends {
            self.connections.drain(..).for_each(|connection| connection.reset());
            state.traffic.open = 0;
        } else if orders.welcome == Welcome::HungUp {
            let close = |connection: Connection| {
                reset_on_close(&connection.client, false);
                u64::from(connection.patience.is_some())
            };
            state.traffic.connections += self.connections.drain(..).map(close).sum::<u64>();
        }
        let opened = self.door.open(orders.welcome != Welcome::Refused && !orders.ends);
        state.seen = state.changes;
        self.shared.seen.notify_all();
        drop(state);
        opened.expect("the port is still this proxy's");
        orders
    }

    fn let_in(&mut self) {
        let limit = self.shared.lock().orders.limit.unwrap_or(usize::MAX);
        while let Some(Ok((client, _))) = self.door.listener.as_ref().map(TcpListener::accept) {
            if self.connections.len() >= limit {
                continue;
            }
            self.connections.extend(Connection::new(client, self.target, now()));
        }
    }

    /// Waits until there is something to do.
    fn wait(&mut self, orders: &Orders, passed: Passed) {
        let now = now();
        let mut ready = vec![PollFd::new(self.woken.as_fd(), PollFlags::POLLIN)];
        let listener = self.door.listener.iter();
        ready.extend(listener.map(|door| PollFd::new(door.as_fd(), PollFlags::POLLIN)));
        for connection in &self.connections {
            let ends = [connection.client.as_fd(), connection.target.as_fd()];
            for (end, interest) in ends.into_iter().zip(connection.interests(orders, passed, now)) {
                // Even without an interest, poll would report a closed end again and again.
                if !interest.is_empty() {
                    ready.push(PollFd::new(end, interest));
                }
            }
        }
        let dues =
            self.connections.iter().filter_map(|connection| connection.next_due(orders, passed));
        // The time is rounded up, lest the loop spin in the last millisecond. Due bytes that cannot
        // be written yet wait for the socket.
        let due = dues.filter(|&due| due > now).min().map(|due| due.since(now).as_millis() + 1);
        let timeout = due.map_or(PollTimeout::NONE, |due| {
            PollTimeout::try_from(due).unwrap_or(PollTimeout::MAX)
        });
        let _ = poll(&mut ready, timeout);
        let woken = ready[0].revents().is_some_and(|events| !events.is_empty());
        drop(ready);
        if woken {
            let _ = self.woken.read(&mut [0; 64]);
        }
    }
}
