use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{setsockopt, sockopt};

use crate::cli::ListenAddress;

/// The most that the kernel keeps of an answer that nobody reads, in bytes, before it doubles it.
/// Its own choice would be some megabytes for each connection, on the account of our memory limit.
const SEND_BUFFER: usize = 32 * 1024;
/// The same for requests.
const RECEIVE_BUFFER: usize = 8 * 1024;

/// A socket that listens, though nobody answers yet: whoever connects waits for the server.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at the first address of the host that can be had.
    ///
    /// # Errors
    /// When none can: it is in use, or not ours, or the name has no address.
    pub fn bind(address: &ListenAddress) -> io::Result<Self> {
        Self::adopt(TcpListener::bind((address.host(), address.port()))?)
    }

    /// Takes over a socket that listens already.
    ///
    /// # Errors
    /// When it is none.
    pub fn adopt(socket: TcpListener) -> io::Result<Self> {
        let address = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        // The connections inherit them.
        setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER)?;
        setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
        Ok(Self { socket, address })
    }

    /// Where it listens, with the port that the kernel chose if it was to choose one.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn into_socket(self) -> TcpListener {
        self.socket
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
