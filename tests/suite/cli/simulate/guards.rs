//! Without a guard of the promise `what-if` sees two at once. So it is not blind.

use super::{number, report, simulate};

/// Arguments that break the promise without this guard, and keep it with the guard. If leases end without the store's
/// half second of patience, even a missing margin shows.
const GUARDS: &[(&str, &str)] = &[
    ("drift", "--isolate leader --drift 1:-10%"),
    ("margin", "--pause leader --drift 1:-9.09% --tick 0s"),
    ("dead-man", "--pause leader"),
    ("ticket-after", "--kill leader.wrapper"),
    ("late-start", "--kill 1@20s --pause 2.guardian@30s..100s --kill 2.wrapper@60s"),
];

#[test]
#[cfg_attr(not(feature = "sim"), ignore = "needs the feature sim")]
fn without_a_guard_two_lead_at_once() {
    for (guard, words) in GUARDS {
        let call = format!("what-if --runs 60 -o json {words}");
        let with = report(&simulate(&call).run().exits(0).is_quiet());
        assert_eq!(with["overlaps"]["runs"], 0, "{words}");
        let without = simulate(&call).env("ELECT_TEST_WITHOUT", guard).run();
        let overlaps = &report(&without.exits(1).is_quiet())["overlaps"];
        assert!(number(&overlaps["runs"]) > 0.0, "without {guard}: {overlaps}");
    }
}
