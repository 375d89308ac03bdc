use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What is kept of the first words of a server: enough to know its kind.
const KEPT: usize = 16;

/// The first bytes that came over the newest connection.
#[derive(Clone, Default)]
pub(crate) struct FirstBytes(Arc<Mutex<Vec<u8>>>);

/// A connection that keeps the first bytes that come.
///
/// When the other side has hung up, writes succeed in vain: whoever reads learns of it, and learns first
/// what the other side said last. That is where the reason stands: an alert of TLS, a web server's reply.
pub(crate) struct Listener {
    stream: TcpStream,
    first_bytes: FirstBytes,
    hung_up: bool,
}

impl Listener {
    pub(crate) fn new(stream: TcpStream, first_bytes: FirstBytes) -> Self {
        first_bytes.clear();
        Self { stream, first_bytes, hung_up: false }
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
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.first_bytes.add(&buffer.filled()[before..]);
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
