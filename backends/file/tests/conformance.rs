//! The laws of the contract, on the local disk.

mod common;

use common::FileBench;
use elect_testkit::Servers;

async fn bench(_: Servers) -> FileBench {
    FileBench::new()
}

elect_testkit::conformance!(bench);
