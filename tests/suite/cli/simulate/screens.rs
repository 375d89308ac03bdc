//! The output on terminals of any width.

use super::simulate;
use crate::guard::terminal::{does, shell};
use crate::support::Ground;

const CALLS: [&str; 3] = [
    "compare --runs 2 --isolate leader",
    "what-if --runs 20 --suspend leader@20s..60s --store zookeeper",
    "ttl --runs 1",
];

#[test]
fn all_of_it_fits_narrow_and_wide_terminals() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    does(&mut terminal, "export LANG=C.UTF-8 NO_COLOR=1");
    for columns in [40, 80, 200] {
        does(&mut terminal, &format!("stty cols {columns} rows 200"));
        for call in CALLS {
            let shown = does(&mut terminal, &format!("$E simulate {call} 2>/dev/null"));
            let shown: Vec<&str> =
                shown.lines().filter(|line| !line.starts_with("elect simulate")).collect();
            assert!(shown.len() > 15, "{call}: {shown:#?}");
            for line in shown {
                let line = line.trim_end();
                // The tests read in pieces. A letter may be split between two of them.
                let width = line.chars().filter(|c| *c != char::REPLACEMENT_CHARACTER).count();
                assert!(width <= columns, "{columns} columns, {call}: {line:?}");
            }
        }
    }
}

/// The usual width has room for each column that matters; a narrow one for what is asked first.
#[test]
fn the_most_important_columns_are_in_every_table() {
    let shown = simulate("compare --runs 2 --isolate leader").run().exits(0).stdout;
    for heading in
        ["ELECTION", "FAIL-OVER", "99 %", "NO LEADER", "MESSAGES", "TWO AT ONCE", "LONGEST"]
    {
        assert!(shown.contains(heading), "{heading}: {shown}");
    }
    assert!(!shown.contains('…'), "{shown}");
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    does(&mut terminal, "stty cols 45 rows 200");
    let shown = does(&mut terminal, "$E simulate compare --runs 2 2>/dev/null");
    assert!(shown.contains("FAIL-OVER") && shown.contains("TWO AT ONCE"), "{shown}");
    let shown = does(&mut terminal, "$E simulate ttl --runs 1 2>/dev/null");
    assert!(shown.contains("FAIL-OVER") && shown.contains("LOST A MONTH"), "{shown}");
}
