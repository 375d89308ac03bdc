//! The figures that are measured. Contenders take turns, so that other work on the machine slows all of them.

mod cold;
mod comparison;
mod crash;
mod crowd;
mod faults;
mod flood;
mod hand_over;
mod kill;
mod requests;
mod seats;
mod size;
mod uncontended;
mod waiting;

use crate::order::Order;
use crate::report::Report;
use crate::stage::Stage;

/// A figure that a user can select.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) measure: fn(&Stage, &Order, &mut Report),
}

/// All figures, in the order in which they are measured.
pub(crate) const ALL: [Figure; 12] = [
    Figure {
        name: "uncontended",
        about: "a run of `true` without another candidate, and the least that it can take",
        measure: uncontended::measure,
    },
    Figure {
        name: "cold",
        about: "from the start of a program to its first request to the store",
        measure: cold::measure,
    },
    Figure {
        name: "faults",
        about: "page faults of a run of `true` without another candidate",
        measure: faults::measure,
    },
    Figure {
        name: "hand-over",
        about: "from the end of one command to the start of the next one's, with one who waits",
        measure: hand_over::measure,
    },
    Figure {
        name: "crash",
        about: "from the death of the leading wrapper to the start of the next command",
        measure: crash::measure,
    },
    Figure {
        name: "crowd",
        about: "hand-over, and what it asks of the store, with 10 to 1000 who wait, beside 2",
        measure: crowd::measure,
    },
    Figure {
        name: "seats",
        about: "the same with 1000 and 10000 who wait in one process, through the library, on etcd",
        measure: seats::measure,
    },
    Figure {
        name: "waiting",
        about: "memory of who waits and who leads, and processor time over 60 idle seconds",
        measure: waiting::measure,
    },
    Figure {
        name: "flood",
        about: "the most memory of who leads and who looks, on a store in bad hands",
        measure: flood::measure,
    },
    Figure {
        name: "requests",
        about: "what is asked of a store in an idle minute, by who leads, who waits, and 64 shards",
        measure: requests::measure,
    },
    Figure {
        name: "kill",
        about: "from the death of a wrapper, and from a deadline, to that of the last of 1 to 1000 processes",
        measure: kill::measure,
    },
    Figure { name: "size", about: "the binary", measure: size::measure },
];
