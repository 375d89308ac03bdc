//! The laws of the contract, on simulated stores of each kind.

use elect_testkit::Servers;
use elect_testkit::sim::{Expiry, Kind, SimBench};

mod queue {
    use super::{Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::in_process(Kind::Queue)
    }

    elect_testkit::conformance!(bench);
}

mod record_that_the_store_ends {
    use super::{Expiry, Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::in_process(Kind::Record(Expiry::Store))
    }

    elect_testkit::conformance!(bench);
}

mod record_that_contenders_end {
    use super::{Expiry, Kind, Servers, SimBench};

    async fn bench(_: Servers) -> SimBench {
        SimBench::in_process(Kind::Record(Expiry::Holder))
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
