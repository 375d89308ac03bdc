use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

/// What is sent after the head of an answer.
pub(super) enum Body {
    /// A page, whole; taken when it is sent.
    Page(Bytes),
    /// Events, one after the other, as long as somebody writes them.
    Stream(mpsc::Receiver<Bytes>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Page(page) if page.is_empty() => Poll::Ready(None),
            Self::Page(page) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(page))))),
            Self::Stream(events) => {
                events.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Page(page) if page.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Page(page) => SizeHint::with_exact(page.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
