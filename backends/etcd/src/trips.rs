use elect_api::count_trip;
use etcd_client::Channel;
use tonic::codegen::http::Request;
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;

/// The same channel, whose requests are counted.
pub(crate) fn counted(channel: tonic::transport::Channel) -> Channel {
    let counting = channel
        .map_request(|request: Request<tonic::body::Body>| {
            count_trip(operation(request.uri().path()));
            request
        })
        .map_err(|error| Box::new(error) as tower::BoxError);
    Channel::Custom(BoxCloneSyncService::new(counting))
}

/// The name of a method such as `/etcdserverpb.KV/Txn`.
fn operation(path: &str) -> &'static str {
    match path.rsplit('/').next() {
        Some("Authenticate") => "authenticate",
        Some("LeaseGrant") => "lease_grant",
        Some("LeaseKeepAlive") => "lease_keep_alive",
        Some("LeaseRevoke") => "lease_revoke",
        Some("LeaseTimeToLive") => "lease_time_to_live",
        Some("Put") => "put",
        Some("Range") => "range",
        Some("Txn") => "txn",
        Some("Watch") => "watch",
        _ => "other",
    }
}
