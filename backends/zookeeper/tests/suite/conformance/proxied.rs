//! The laws of the contract, through a proxy.

use elect_testkit::Servers;

use crate::common::ZkBench;

async fn bench(servers: Servers) -> ZkBench {
    ZkBench::proxied(servers)
}

elect_testkit::conformance!(bench);
