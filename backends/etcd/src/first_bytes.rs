use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The number of bytes kept from the start of a server's answer: enough to know its protocol.
const KEPT: usize = 16;

/// The number of bytes read before other tasks get their turn. The code that splits them into frames keeps each frame
/// until it is consumed. The shortest frame has nine bytes, and takes some hundred bytes of memory.
const BREATH: usize = 64 << 10;

/// The first bytes received over the newest connection.
#[derive(Clone, Default)]
pub(crate) struct FirstBytes(Arc<Mutex<Vec<u8>>>);

/// A connection that keeps the first bytes it receives.
///
/// After the other side has hung up, writes report success, although the bytes are lost. The reader then learns of the
/// hang-up, after it has read the last words of the other side. These state the reason: an alert of TLS, or a web
/// server's reply.
pub(crate) struct Listener {
    stream: TcpStream,
    first_bytes: FirstBytes,
    hung_up: bool,
    /// The number of bytes that may be read until the next pause.
    left: usize,
}

impl Listener {
    pub(crate) fn new(stream: TcpStream, first_bytes: FirstBytes) -> Self {
        first_bytes.clear();
        Self { stream, first_bytes, hung_up: false, left: BREATH }
    }

    fn written<T>(&mut self, outcome: Poll<io::Result<T>>, if_lost: T) -> Poll<io::Result<T>> {
        match outcome {
            Poll::Ready(Err(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                ) =>
            {
                self.hung_up = true;
                Poll::Ready(Ok(if_lost))
            }
            outcome => outcome,
        }
    }
}

impl AsyncRead for Listener {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            self.left = BREATH;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        let new = &buffer.filled()[before..];
        self.first_bytes.add(new);
        let left = self.left.saturating_sub(new.len());
        self.left = if outcome.is_pending() { BREATH } else { left };
        outcome
    }
}

impl AsyncWrite for Listener {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.hung_up {
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

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all = bytes.iter().map(|slice| slice.len()).sum();
        if self.hung_up {
            return Poll::Ready(Ok(all));
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(outcome, all)
    }
}

impl FirstBytes {
    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = KEPT.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..missing]);
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Tests a connection that is full of frames.
    #[tokio::test]
    async fn who_reads_all_that_comes_takes_a_breath() {
        const ALL: usize = 4 * BREATH + 1;
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = server.local_addr().expect("an address");
        let send = async {
            let (mut stream, _) = server.accept().await.expect("a client");
            stream.write_all(&vec![7; ALL]).await.expect("room");
        };
        let read = async {
            let stream = TcpStream::connect(address).await.expect("a server");
            let mut listener = Listener::new(stream, FirstBytes::default());
            let (mut all, mut longest) = (0, 0);
            let mut buffer = [0; 4096];
            while all < ALL {
                let mut at_once = 0;
                std::future::poll_fn(|context| {
                    let mut room = ReadBuf::new(&mut buffer);
                    while Pin::new(&mut listener).poll_read(context, &mut room).is_ready() {
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
            assert_eq!(listener.first_bytes.bytes(), [7; KEPT]);
            longest
        };
        let ((), longest) = tokio::join!(send, read);
        assert!((1..=BREATH).contains(&longest), "{longest}");
    }

    #[tokio::test]
    async fn after_a_breath_it_goes_on() {
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = server.local_addr().expect("an address");
        let send = async {
            let (mut stream, _) = server.accept().await.expect("a client");
            stream.write_all(&vec![7; 3 * BREATH]).await.expect("room");
        };
        let read = async {
            let stream = TcpStream::connect(address).await.expect("a server");
            let mut all = Vec::new();
            let mut listener = Listener::new(stream, FirstBytes::default());
            listener.read_to_end(&mut all).await.expect("all");
            all.len()
        };
        assert_eq!(tokio::join!(send, read).1, 3 * BREATH);
    }
}
