//! The laws of the contract, through a proxy.

use elect_testkit::servers::ZooKeeper;

use crate::common::ZkBench;

async fn bench() -> ZkBench {
    ZkBench::proxied(ZooKeeper::one())
}

elect_testkit::conformance!(bench);
