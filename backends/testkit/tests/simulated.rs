//! The laws of the contract, on simulated stores of each kind.

use elect_testkit::Servers;
use elect_testkit::sim::{Kind, SimBench};

mod queue {
    use super::{Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::in_process(Kind::Queue)
    }

    elect_testkit::conformance!(bench);
}

mod record {
    use super::{Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::in_process(Kind::Record)
    }

    elect_testkit::conformance!(bench);
}

mod race {
    use super::{Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::in_process(Kind::Race)
    }

    elect_testkit::conformance!(bench);
}

mod queue_in_a_process_of_its_own {
    use super::{Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::as_server(Kind::Queue)
    }

    elect_testkit::conformance!(bench);
}

mod record_in_a_process_of_its_own {
    use super::{Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::as_server(Kind::Record)
    }

    elect_testkit::conformance!(bench);
}
