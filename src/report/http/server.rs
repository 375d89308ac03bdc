//! The socket of `--http` and the thread that serves it.

use std::convert::Infallible;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::{setsockopt, sockopt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::connections::{Connections, Pace, Permit};
use super::pages::{Pages, Room};
use super::{ElectionWatcher, HttpState};
use crate::cli::ListenAddress;

/// How long the head of a request may take, and how long a connection may be silent before the next.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection that reads no events may last.
const LIFETIME: Duration = Duration::from_secs(60);
/// The longest head of a request, in bytes, and about as much of an answer waits to be sent.
const BUFFER: usize = 8 * 1024;
const MOST_HEADERS: usize = 64;
/// The pause when no descriptor is left for a connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// How long readers of events have at the end to take the last ones.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A server on a thread of its own.
///
/// Dropping it leaves the thread to the end of the process.
pub struct Server {
    stopping: watch::Sender<bool>,
    ended: mpsc::Receiver<Infallible>,
}

impl Server {
    /// Answers whoever connects to `listener`. `watcher` knows who else takes part.
    ///
    /// # Errors
    /// When a thread, memory or a descriptor is refused.
    pub fn start(
        listener: Listener,
        state: Arc<HttpState>,
        watcher: Box<dyn ElectionWatcher>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stopping, stops) = watch::channel(false);
        let (ending, ended) = mpsc::channel();
        let pace = Pace::new(state.clocks().now);
        let is_local = listener.address().ip().to_canonical().is_loopback();
        let pages = Pages {
            is_local,
            state,
            watcher,
            connections: Connections::new(),
            pace,
            stopping: stops,
            room: Room::default(),
        };
        let socket = {
            let _context = runtime.enter();
            TcpListener::from_std(listener.into_socket())?
        };
        thread::Builder::new().name("http".into()).spawn(move || {
            // Dropped last: so the end is seen.
            let _ending: mpsc::Sender<Infallible> = ending;
            runtime.block_on(serve(&socket, &Arc::new(pages)));
            // A resolver of the watcher's may keep a thread for minutes.
            runtime.shutdown_background();
        })?;
        Ok(Self { stopping, ended })
    }

    /// Tells readers of events what they have not taken yet, for a moment at most, and ends.
    pub fn stop(self) {
        let _ = self.stopping.send(true);
        let _ = self.ended.recv_timeout(LAST_WORDS * 2);
    }
}

/// Ends a while after it was asked to stop.
async fn serve(listener: &TcpListener, pages: &Arc<Pages>) {
    let mut stopping = pages.stopping.clone();
    tokio::select! {
        () = take_in(listener, pages) => {}
        () = pages.watcher.watch(&pages.state) => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    let mut beat = tokio::time::interval(Duration::from_millis(2));
    let read = async {
        while pages.connections.has_readers() {
            beat.tick().await;
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS, read).await;
}

/// Takes in connections, without end.
async fn take_in(listener: &TcpListener, pages: &Arc<Pages>) {
    for number in 0.. {
        pages.pace.turn().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let place = pages.connections.place().await;
                let guest = Guest::new(Arc::clone(pages), number, place);
                let task = tokio::spawn(async move { guest.attend(stream).await });
                pages.connections.enter(number, task.abort_handle());
            }
            // One that was gone before it was taken in is nobody's concern.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => tokio::time::sleep(EXHAUSTED).await,
        }
    }
}

/// One connection, from its begin to its end.
pub(super) struct Guest {
    pages: Arc<Pages>,
    number: u64,
    _place: Option<Permit>,
}

impl Guest {
    pub(super) const fn new(pages: Arc<Pages>, number: u64, place: Option<Permit>) -> Self {
        Self { pages, number, _place: place }
    }

    async fn attend(self, stream: TcpStream) {
        // Small answers are not to wait for more of them.
        let _ = stream.set_nodelay(true);
        self.converse(stream).await;
    }

    /// Answers whatever comes over a stream, to its end.
    pub(super) async fn converse(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) {
        let number = self.number;
        let service = service_fn(|request| {
            let answer = Arc::clone(&self.pages).answer(number, request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(BUFFER)
            .max_headers(MOST_HEADERS)
            .half_close(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        // What goes wrong is the client's affair.
        if tokio::time::timeout(LIFETIME, connection.as_mut()).await.is_ok() {
            return;
        }
        if self.pages.connections.is_reader(number) {
            let _ = connection.await;
        } else {
            // With the answer that is under way, if there is one.
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(HEAD_TIMEOUT, connection).await;
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.pages.connections.leave(self.number);
    }
}

/// The most that the kernel keeps of an answer that nobody reads, in bytes, before it doubles it.
/// Its own choice would be some megabytes for each connection, on the account of our memory limit.
const SEND_BUFFER: usize = 32 * 1024;
/// The same for requests.
const RECEIVE_BUFFER: usize = 8 * 1024;

/// A socket that listens, though nobody answers yet: whoever connects waits for the server.
#[derive(Debug)]
pub struct Listener {
    socket: net::TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at the first address of the host that can be had.
    ///
    /// # Errors
    /// When none can: it is in use, or not ours, or the name has no address.
    pub fn bind(address: &ListenAddress) -> io::Result<Self> {
        Self::adopt(net::TcpListener::bind((address.host(), address.port()))?)
    }

    /// Takes over a socket that listens already.
    ///
    /// # Errors
    /// When it is none.
    pub fn adopt(socket: net::TcpListener) -> io::Result<Self> {
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

    pub(super) fn into_socket(self) -> net::TcpListener {
        self.socket
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
