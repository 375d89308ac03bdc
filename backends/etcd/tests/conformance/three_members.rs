use elect_testkit::Servers;

use crate::common::EtcdBench;

async fn bench(servers: Servers) -> EtcdBench {
    EtcdBench::new(servers, 3)
}

elect_testkit::conformance!(bench);
