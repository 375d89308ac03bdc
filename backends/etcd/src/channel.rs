//! The way that all requests take: each is counted, and an answer that is not of gRPC is told apart.

use std::pin::Pin;
use std::task::{Context, Poll};

use elect_api::count_trip;
use etcd_client::Channel;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, StatusCode, header};
use tonic::{Code, Status};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service};

/// This channel, with that on it.
pub(crate) fn watched(channel: tonic::transport::Channel) -> Channel {
    Channel::Custom(BoxCloneSyncService::new(Watched(channel)))
}

#[derive(Clone)]
struct Watched(tonic::transport::Channel);

impl Service<Request<Body>> for Watched {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default();
        count_trip(operation(method));
        let reply = self.0.call(request);
        Box::pin(async move {
            let reply = reply.await?;
            Ok(match stranger(&reply) {
                // Its body would be read as a message.
                Some(status) => status.into_http(),
                None => reply,
            })
        })
    }
}

/// How we tell of an answer over HTTP/2 that is not of gRPC; its status follows.
pub(crate) const NO_GRPC: &str = "no answer of gRPC, but of HTTP: ";

/// What answered that knows nothing of gRPC, such as a balancer in front of the members.
fn stranger(reply: &Response<Body>) -> Option<Status> {
    let kind = reply.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc")) {
        return None;
    }
    let status: StatusCode = reply.status();
    Some(Status::new(Code::Unknown, format!("{NO_GRPC}{}", status.as_u16())))
}

/// What requests of this method are counted as.
fn operation(method: &str) -> &'static str {
    match method {
        "Authenticate" => "authenticate",
        "LeaseGrant" => "lease_grant",
        "LeaseKeepAlive" => "lease_keep_alive",
        "LeaseRevoke" => "lease_revoke",
        "LeaseTimeToLive" => "lease_time_to_live",
        "Put" => "put",
        "Range" => "range",
        "Txn" => "txn",
        "Watch" => "watch",
        _ => "other",
    }
}
