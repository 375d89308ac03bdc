//! Connections that note what came from the other side, so that a failure above them can be explained.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::Trouble;

/// The number of a server's first bytes that are kept: enough to recognize a protocol.
const KEPT: usize = 16;

/// The number of bytes that one task reads before others get their turn. A reader of frames keeps each frame until it
/// is taken, and a frame of nine bytes takes some hundreds in memory.
const TURN: usize = 64 << 10;

/// A record of the newest connection. Copies share it.
#[derive(Clone, Default)]
pub struct Witness(Arc<Mutex<Seen>>);

/// What a [`Witness`] has recorded.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The first bytes that the server sent, below TLS.
    pub first_bytes: Vec<u8>,
    /// Why there is no connection, or why it ended.
    pub trouble: Option<Trouble>,
}

impl Witness {
    /// The record so far.
    pub fn seen(&self) -> Seen {
        self.lock().clone()
    }

    /// Replaces the record: by an earlier one after a second attempt that does not count, or by an empty one.
    pub fn restore(&self, seen: Seen) {
        *self.lock() = seen;
    }

    pub(crate) fn has_heard(&self) -> bool {
        !self.lock().first_bytes.is_empty()
    }

    pub(crate) fn note(&self, trouble: &Trouble) {
        self.lock().trouble.get_or_insert_with(|| trouble.clone());
    }

    fn add(&self, bytes: &[u8]) {
        let kept = &mut self.lock().first_bytes;
        let missing = KEPT.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..missing]);
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection to a server, with or without TLS.
pub struct Stream {
    transport: Pin<Box<dyn Transport>>,
    witness: Witness,
}

trait Transport: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Transport for T {}

impl Stream {
    /// A connection within another one, such as a tunnel, whose end the `witness` notes.
    pub fn new(transport: impl AsyncRead + AsyncWrite + Send + 'static, witness: Witness) -> Self {
        Self { transport: Box::pin(transport), witness }
    }

    /// The same connection, whose end what is above it will note.
    pub(crate) fn unwitnessed(self) -> Self {
        Self { witness: Witness::default(), ..self }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = self.transport.as_mut().poll_read(context, buffer);
        match &outcome {
            Poll::Ready(Err(error)) => self.witness.note(&Trouble::of(error)),
            Poll::Ready(Ok(())) if buffer.filled().len() == before && buffer.remaining() > 0 => {
                self.witness.note(&Trouble::HungUp);
            }
            _ => {}
        }
        outcome
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.transport.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.as_mut().poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.transport.as_mut().poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }
}

/// A connection below TLS.
///
/// After the other side has hung up, writes succeed without effect. So the reader learns of the end, and first reads
/// the last bytes of the other side. They may be the reason: a TLS alert, or the answer of a web server.
pub(crate) struct Tcp {
    stream: TcpStream,
    witness: Witness,
    has_hung_up: bool,
    /// The number of bytes until others get their turn.
    left: usize,
}

impl Tcp {
    pub(crate) fn new(stream: TcpStream, witness: Witness) -> Self {
        Self { stream, witness, has_hung_up: false, left: TURN }
    }

    fn written<T>(&mut self, outcome: Poll<io::Result<T>>, if_lost: T) -> Poll<io::Result<T>> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        match outcome {
            Poll::Ready(Err(error)) if matches!(error.kind(), BrokenPipe | ConnectionReset) => {
                self.has_hung_up = true;
                Poll::Ready(Ok(if_lost))
            }
            outcome => outcome,
        }
    }
}

impl AsyncRead for Tcp {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            self.left = TURN;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        let new = &buffer.filled()[before..];
        self.witness.add(new);
        self.left = if outcome.is_pending() { TURN } else { self.left.saturating_sub(new.len()) };
        outcome
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.has_hung_up {
            return Poll::Ready(Ok(bytes.len()));
        }
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(outcome, bytes.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.written(outcome, ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all = bytes.iter().map(|slice| slice.len()).sum();
        if self.has_hung_up {
            return Poll::Ready(Ok(all));
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(outcome, all)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A connection full of frames always has something to read.
    #[tokio::test]
    async fn a_busy_reader_gives_other_tasks_a_turn() {
        const ALL: usize = 4 * TURN + 1;
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = server.local_addr().expect("an address");
        let send = async {
            let (mut stream, _) = server.accept().await.expect("a client");
            stream.write_all(&vec![7; ALL]).await.expect("room");
        };
        let read = async {
            let stream = TcpStream::connect(address).await.expect("a server");
            let mut tcp = Tcp::new(stream, Witness::default());
            let (mut all, mut longest) = (0, 0);
            let mut buffer = [0; 4096];
            while all < ALL {
                let mut at_once = 0;
                std::future::poll_fn(|context| {
                    let mut room = ReadBuf::new(&mut buffer);
                    while Pin::new(&mut tcp).poll_read(context, &mut room).is_ready() {
                        at_once += room.filled().len();
                        room.clear();
                    }
                    Poll::Ready(())
                })
                .await;
                all += at_once;
                longest = longest.max(at_once);
                tokio::task::yield_now().await;
            }
            assert_eq!(tcp.witness.seen().first_bytes, [7; KEPT]);
            longest
        };
        let ((), longest) = tokio::join!(send, read);
        assert!((1..=TURN).contains(&longest), "{longest}");
    }

    #[tokio::test]
    async fn reading_continues_after_other_tasks_had_their_turn() {
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = server.local_addr().expect("an address");
        let send = async {
            let (mut stream, _) = server.accept().await.expect("a client");
            stream.write_all(&vec![7; 3 * TURN]).await.expect("room");
        };
        let read = async {
            let stream = TcpStream::connect(address).await.expect("a server");
            let mut all = Vec::new();
            let mut tcp = Tcp::new(stream, Witness::default());
            tcp.read_to_end(&mut all).await.expect("all");
            all.len()
        };
        assert_eq!(tokio::join!(send, read).1, 3 * TURN);
    }
}
