use crate::common::EtcdBench;

async fn bench() -> EtcdBench {
    EtcdBench::new(1)
}

elect_testkit::conformance!(bench);
