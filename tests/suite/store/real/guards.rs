//! Guards against what the simulation has no processes for: without each, a fault on a real store breaks the promise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use elect_testkit::switches::Part;

use super::{ETCD, cases};

/// A guard, and a fault that it is for.
pub(crate) struct Guard {
    pub(crate) part: Part,
    pub(crate) words: &'static str,
    pub(crate) fault: &'static str,
}

pub(crate) const GUARDS: &[Guard] = &[
    Guard {
        part: Part::TwoPipes,
        words: "of two death-pipes the kernel closes one's reader last, whichever way it goes",
        fault: "both_killed_at_once",
    },
    Guard {
        part: Part::Depth,
        words: "descendants are looked for also below what is killed and not gone",
        fault: "slow_exit_and_the_wrapper_stopped",
    },
    Guard {
        part: Part::Priority,
        words: "the guardian is before its command on the processors",
        fault: "busy_first",
    },
    Guard {
        part: Part::Takeover,
        words: "the wrapper kills below a guardian that does not do it",
        fault: "guardian_held_and_cut_off",
    },
    Guard {
        part: Part::Limits,
        words: "no limit of time has the kernel kill guardian and wrapper at their work",
        fault: "little_real_time",
    },
    Guard {
        part: Part::Hidden,
        words: "a process that `/proc` does not show lives until the kernel says that it is gone",
        fault: "hidden_and_the_guardian_held",
    },
];

/// The most tries, as chance decides which process is on a processor, and when.
const TRIES: usize = 8;

impl Guard {
    /// Returns true if the fault can break the promise without the guard. Another test shows that the guard prevents
    /// it.
    pub(crate) fn is_missed(&self) -> bool {
        (0..TRIES).any(|_| self.breaks())
    }

    fn breaks(&self) -> bool {
        let case = cases().find(|case| case.name == self.fault).expect("a case");
        let case = case.without(self.part.name());
        let broken = catch_unwind(AssertUnwindSafe(|| case.survive(ETCD))).err();
        let Some(broken) = broken else { return false };
        let said = broken.downcast_ref::<String>().map_or("", String::as_str);
        println!("{}: {}", self.part.name(), said.lines().next().unwrap_or_default());
        // Anything else is a failure of the test's own.
        [
            "faults among",
            "lives on",
            " ran when its entry was gone",
            " ran until ",
            "was seen last at",
        ]
        .iter()
        .any(|words| said.contains(words))
    }
}

fn expect_missed(part: Part) {
    let guard = GUARDS.iter().find(|guard| guard.part == part).expect("a guard");
    assert!(guard.is_missed(), "{} is not missed", guard.words);
}

#[test]
fn two_pipes() {
    expect_missed(Part::TwoPipes);
}

#[test]
fn depth() {
    expect_missed(Part::Depth);
}

#[test]
fn priority() {
    expect_missed(Part::Priority);
}

#[test]
fn takeover() {
    expect_missed(Part::Takeover);
}

#[test]
fn limits() {
    expect_missed(Part::Limits);
}

#[test]
fn hidden() {
    expect_missed(Part::Hidden);
}
