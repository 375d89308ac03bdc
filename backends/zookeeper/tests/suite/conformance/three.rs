//! The laws of the contract, on an ensemble of three.

use elect_testkit::servers::ZooKeeper;

use crate::common::ZkBench;

async fn bench() -> ZkBench {
    ZkBench::new(ZooKeeper::three())
}

elect_testkit::conformance!(bench);
