use elect_testkit::Servers;

use crate::common::EtcdBench;

async fn bench(servers: Servers) -> EtcdBench {
    EtcdBench::through_a_proxy(servers)
}

elect_testkit::conformance!(bench);
