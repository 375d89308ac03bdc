//! The counts of `compare`, beside theory.

use serde_json::Value;

use super::{list, number, report, simulate};

/// Whatever the number of candidates. A majority of them is left.
#[test]
fn messages_that_elect_are_as_many_as_theory_says() {
    for candidates in [3, 5, 9] {
        let words = format!("compare --runs 40 -o json --candidates {candidates}");
        let report = report(&simulate(&words).run().exits(0).is_quiet());
        let rows = list(&report["elections"]);
        let mut exact = Vec::new();
        for row in rows.iter().filter(|row| row["theory"] != Value::Null) {
            let (sent, theory) = (number(&row["to_elect"]), &row["theory"]);
            let least = number(&theory["least"]);
            assert!(sent >= least, "{candidates} candidates: {row:#}");
            if let Some(most) = theory["most"].as_f64() {
                assert!(sent <= most, "{candidates} candidates: {row:#}");
                exact.extend((least >= most).then_some(sent));
            }
        }
        // One waiter is woken in each of three queues, and all remaining ones in the herd.
        assert_eq!(exact, [1.0, 1.0, 1.0, f64::from(candidates - 1)]);
        assert_eq!(rows.iter().filter(|row| row["theory"] == Value::Null).count(), 1, "Kubernetes");
    }
}
