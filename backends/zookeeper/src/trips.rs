use elect_api::count_trip;
use zookeeper_client::Client;

/// Requests that are counted.
pub(crate) trait Counted {
    /// The client, which is about to send a request of this name.
    fn counting(&self, operation: &'static str) -> &Self;
}

impl Counted for Client {
    fn counting(&self, operation: &'static str) -> &Self {
        count_trip(operation);
        self
    }
}
