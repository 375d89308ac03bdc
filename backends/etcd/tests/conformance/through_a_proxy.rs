use crate::common::EtcdBench;

async fn bench() -> EtcdBench {
    EtcdBench::through_a_proxy()
}

elect_testkit::conformance!(bench);
