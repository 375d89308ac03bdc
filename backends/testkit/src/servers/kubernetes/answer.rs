//! Replies as HTTP responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::{Response, StatusCode};

use super::status::{Body, Reply};
use super::watch::Watch;

pub(super) fn response(reply: Reply) -> Response<Out> {
    let kind = if matches!(reply.body, Body::Text(_)) {
        "text/plain; charset=utf-8"
    } else {
        "application/json"
    };
    let body = match reply.body {
        Body::Json(value) => Out::Whole(Some(format!("{value}\n").into())),
        Body::Text(text) => Out::Whole(Some(text.into())),
        Body::Watch(watch) => Out::Watch(watch),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or_default();
    let own =
        [("content-type", kind.to_owned()), ("cache-control", "no-cache, private".to_owned())];
    for (name, value) in own.into_iter().chain(reply.headers) {
        if let (Ok(name), Ok(value)) = (name.parse::<hyper::header::HeaderName>(), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The body of a response.
pub(super) enum Out {
    Whole(Option<Bytes>),
    Watch(Watch),
}

impl HttpBody for Out {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Watch(watch) => watch.poll_next(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Watch(_) => SizeHint::default(),
        }
    }
}
