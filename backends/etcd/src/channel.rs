//! The channel that carries all requests. It counts each request, and recognizes an answer that is not gRPC.

use std::pin::Pin;
use std::task::{Context, Poll};

use elect_api::count_trip;
use etcd_client::Channel;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, StatusCode, header};
use tonic::{Code, Status};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service};

/// Wraps a channel with the count and the check.
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
            Ok(match not_grpc(&reply) {
                // Without this the body would be read as a message.
                Some(status) => status.into_http(),
                None => reply,
            })
        })
    }
}

/// The start of the message about an answer over HTTP/2 that is not gRPC; the HTTP status follows.
pub(crate) const NO_GRPC: &str = "no answer of gRPC, but of HTTP: ";

/// Returns the error for an answer that is not gRPC, such as one of a balancer in front of the members.
fn not_grpc(reply: &Response<Body>) -> Option<Status> {
    let kind = reply.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc")) {
        return None;
    }
    let status: StatusCode = reply.status();
    Some(Status::new(Code::Unknown, format!("{NO_GRPC}{}", status.as_u16())))
}

/// Returns the name under which requests of this method are counted.
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
