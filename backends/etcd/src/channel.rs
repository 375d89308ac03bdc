//! The way that all requests take: each is counted, and what answers it is measured.

use std::pin::Pin;
use std::task::{Context, Poll};

use elect_api::count_trip;
use etcd_client::Channel;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service};

use crate::measure::Measured;

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
        let measured = Measured::of(method);
        let reply = self.0.call(request);
        Box::pin(async move { Ok(reply.await?.map(|body| Body::new(measured(body)))) })
    }
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
