//! The laws of the contract, on one server.

use elect_testkit::Servers;

use crate::common::ZkBench;

async fn bench(servers: Servers) -> ZkBench {
    ZkBench::new(servers, 1)
}

elect_testkit::conformance!(bench);
