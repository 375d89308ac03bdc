//! The laws of the contract, in both orders, and through a proxy.

mod queue {
    use elect_testkit::Servers;

    use crate::bench::LeaseBench;

    async fn bench(_: Servers) -> LeaseBench {
        LeaseBench::new("queue")
    }

    elect_testkit::conformance!(bench);
}

mod race {
    use elect_testkit::Servers;

    use crate::bench::LeaseBench;

    async fn bench(_: Servers) -> LeaseBench {
        LeaseBench::new("race")
    }

    elect_testkit::conformance!(bench);
}
