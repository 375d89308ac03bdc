//! This file has the socket of `--http` and the thread that serves it.

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
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::connections::Permit;
use super::pages::Pages;
use super::{ElectionWatcher, HttpState};
use crate::config::ListenAddress;

/// The time limit for the head of a request, and for the silence before the next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest life of a connection that reads no events.
const LIFETIME: Duration = Duration::from_secs(60);
/// The longest head of a request, in bytes. About as much of an answer may wait to be sent.
const BUFFER: usize = 8 * 1024;
const MOST_HEADERS: usize = 64;
/// The pause when no descriptor is left for a new connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// The time that readers of events have at the end to read the last events.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A server that runs on its own thread.
///
/// If it is dropped, its thread runs on to the end of the process.
pub struct Server {
    stopping: watch::Sender<bool>,
    ended: mpsc::Receiver<Infallible>,
}

impl Server {
    /// Starts to answer the clients of `listener`. `watcher` knows the other candidates.
    ///
    /// # Errors
    /// If the system refuses a thread, memory or a descriptor.
    pub fn start(
        listener: Listener,
        state: Arc<HttpState>,
        watcher: Box<dyn ElectionWatcher>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stopping, stops) = watch::channel(false);
        let (ending, ended) = mpsc::channel();
        let is_local = listener.address().ip().to_canonical().is_loopback();
        let pages = Pages::new(state, watcher, stops, is_local);
        let socket = {
            let _context = runtime.enter();
            TcpListener::from_std(listener.socket)?
        };
        thread::Builder::new().name("http".into()).spawn(move || {
            // This sender is dropped last, so `stop` sees the end of the thread.
            let _ending: mpsc::Sender<Infallible> = ending;
            runtime.block_on(serve(&socket, &Arc::new(pages)));
            // A resolver that the watcher uses may keep a thread busy for minutes.
            runtime.shutdown_background();
        })?;
        Ok(Self { stopping, ended })
    }

    /// Sends the last events to their readers, which takes at most a moment, and stops the server.
    pub fn stop(self) {
        let _ = self.stopping.send(true);
        let _ = self.ended.recv_timeout(LAST_WORDS * 2);
    }
}

/// Serves until the server is asked to stop, and then waits for readers of events for up to [`LAST_WORDS`].
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

/// Accepts connections without end.
async fn take_in(listener: &TcpListener, pages: &Arc<Pages>) {
    loop {
        pages.pace.turn().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let place = pages.connections.place().await;
                // Small answers must not wait for more data.
                let _ = stream.set_nodelay(true);
                let pages = Arc::clone(pages);
                tokio::spawn(async move { converse(&pages, stream, place).await });
            }
            // A connection that ended before it was accepted needs no handling.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => tokio::time::sleep(EXHAUSTED).await,
        }
    }
}

/// Answers the requests of one stream until the stream ends. The connection keeps its place until then.
pub(super) async fn converse(
    pages: &Pages,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    _place: Option<Permit>,
) {
    let client = pages.connections.enter();
    let service = service_fn(|request| {
        let answer = pages.answer(Arc::clone(&client), request);
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
    // Errors of the connection concern only the client.
    let served = async {
        if tokio::time::timeout(LIFETIME, connection.as_mut()).await.is_ok() {
            return;
        }
        if client.is_reader() {
            let _ = connection.await;
        } else {
            // An answer that is under way may still finish.
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(HEAD_TIMEOUT, connection).await;
        }
    };
    tokio::select! {
        () = served => {}
        () = client.hang_up.notified() => {}
    }
}

/// The send buffer of a connection, in bytes; the kernel doubles this value. The kernel's own choice would be some
/// megabytes for each connection, which count against our memory limit.
const SEND_BUFFER: usize = 32 * 1024;
/// The receive buffer of a connection, in bytes; the kernel doubles this value too.
const RECEIVE_BUFFER: usize = 8 * 1024;
/// The time after which the kernel ends a connection whose client acknowledges nothing, in milliseconds. Its own choice
/// is a quarter of an hour. A reader of events that vanishes without a word keeps its place for this long after the
/// next heartbeat.
const UNACKNOWLEDGED: u32 = 20_000;

/// A listening socket. Clients that connect before the server starts wait for it.
#[derive(Debug)]
pub struct Listener {
    socket: net::TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at the first address of the host that can be bound.
    ///
    /// # Errors
    /// If no address can be bound: it is in use, or belongs to another machine, or the name has no address.
    pub fn bind(address: &ListenAddress) -> io::Result<Self> {
        Self::adopt(net::TcpListener::bind((address.host(), address.port()))?)
    }

    /// Takes over a socket that already listens.
    ///
    /// # Errors
    /// If it is not a listening socket.
    pub fn adopt(socket: net::TcpListener) -> io::Result<Self> {
        let address = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        // Accepted connections inherit these values.
        setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER)?;
        setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
        setsockopt(&socket, sockopt::TcpUserTimeout, &UNACKNOWLEDGED)?;
        Ok(Self { socket, address })
    }

    /// Returns the socket's address, with the actual port if the kernel chose it.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
