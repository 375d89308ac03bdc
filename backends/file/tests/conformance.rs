//! The laws of the contract, on the local disk.

mod common;

use common::FileBench;

async fn bench() -> FileBench {
    FileBench::new()
}

elect_testkit::conformance!(bench);
