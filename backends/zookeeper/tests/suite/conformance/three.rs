//! The laws of the contract, on an ensemble of three.

use elect_testkit::Servers;

use crate::common::ZkBench;

async fn bench(servers: Servers) -> ZkBench {
    ZkBench::new(servers, 3)
}

elect_testkit::conformance!(bench);
