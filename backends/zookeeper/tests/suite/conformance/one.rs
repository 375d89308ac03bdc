//! The laws of the contract, on one server.

use elect_testkit::servers::ZooKeeper;

use crate::common::ZkBench;

async fn bench() -> ZkBench {
    ZkBench::new(ZooKeeper::one())
}

elect_testkit::conformance!(bench);
