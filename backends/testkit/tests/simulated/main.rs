//! The laws of the contract, on simulated stores of each kind.

mod bench;

use elect_testkit::Servers;
use elect_testkit::sim::Kind;

use self::bench::SimBench;

/// Proves all laws in a module of this name.
macro_rules! prove {
    ($name:ident, $place:ident, $kind:ident) => {
        mod $name {
            use super::{Kind, Servers, SimBench};

            async fn bench(_: Servers) -> SimBench {
                SimBench::$place(Kind::$kind)
            }

            elect_testkit::conformance!(bench);
        }
    };
}

prove!(queue, in_process, Queue);
prove!(record, in_process, Record);
prove!(race, in_process, Race);
prove!(queue_in_a_process_of_its_own, as_server, Queue);
prove!(record_in_a_process_of_its_own, as_server, Record);
