use crate::common::EtcdBench;

async fn bench() -> EtcdBench {
    EtcdBench::new(3)
}

elect_testkit::conformance!(bench);
