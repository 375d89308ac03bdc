//! The laws of the contract, in both orders, and through a proxy.

mod queue {
    use std::sync::Arc;

    use elect_testkit::Servers;
    use elect_testkit::servers::ApiServer;

    use crate::bench::LeaseBench;

    async fn bench(_: Servers) -> LeaseBench {
        LeaseBench::new(Arc::new(ApiServer::start()), "elect", "queue")
    }

    elect_testkit::conformance!(bench);
}

mod race {
    use std::sync::Arc;

    use elect_testkit::Servers;
    use elect_testkit::servers::ApiServer;

    use crate::bench::LeaseBench;

    async fn bench(_: Servers) -> LeaseBench {
        LeaseBench::new(Arc::new(ApiServer::start()), "elect", "race")
    }

    elect_testkit::conformance!(bench);
}
