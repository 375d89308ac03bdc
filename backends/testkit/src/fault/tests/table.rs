use std::time::Duration;

use elect_api::Boottime;

use crate::fault::{Outcome, Table};

fn outcome(last: u64, lease_end: u64, next: u64) -> Outcome {
    let at = |millis| Boottime::from_boot(Duration::from_millis(millis));
    Outcome { last: at(last), lease_end: Some(at(lease_end)), next: Some(at(next)), kept: None }
}

fn table() -> Table {
    let table = &Table::new();
    std::thread::scope(|scope| {
        for (lease_end, next, kept) in [(1_500, 1_502, true), (1_400, 1_401, false)] {
            let outcome = Outcome { kept: Some(kept), ..outcome(1_000, lease_end, next) };
            scope.spawn(move || table.add("no answer", "sim", &outcome));
        }
        scope.spawn(|| table.add("killed", "sim", &outcome(2_000, 1_900, 1_950)));
        scope.spawn(|| {
            table.add("killed", "file", &Outcome { lease_end: None, ..outcome(7, 0, 9) });
        });
        scope.spawn(|| table.add("a|b", "sim", &Outcome { next: None, ..outcome(7, 9, 0) }));
    });
    let whole = Table::new();
    whole.extend(table);
    whole
}

#[test]
fn the_worst_of_all_runs_is_shown_in_a_stable_order() {
    let shown = table().to_string();
    let expected = "\
| fault     | backend | runs | overlap | slack before the lease could end | time to the next leader | leadership kept |
| --------- | ------- | ---: | ------: | -------------------------------: | ----------------------: | --------------: |
| a\\|b      | sim     |    1 |    none |                           2.0 ms |                       - |               - |
| killed    | file    |    1 |    none |                                - |                  2.0 ms |               - |
| killed    | sim     |    1 | 50.0 ms |                        -100.0 ms |                  0.0 ms |               - |
| no answer | sim     |    2 |    none |                         400.0 ms |                502.0 ms |          1 of 2 |
";
    assert_eq!(shown, expected);
}

#[test]
fn json_is_read_back() {
    let table = table();
    let json = table.json();
    assert!(json.ends_with("]\n") && json.contains("\"slack_us\": -100000"), "{json}");
    let back = Table::from_json(&json).unwrap();
    assert_eq!((back.rows(), back.to_string()), (table.rows(), table.to_string()));
    // Runs of two tables with the same fault and backend share a row.
    for row in table.rows() {
        let more = format!("[{}]", serde_json::to_string(&row).unwrap());
        back.extend(&Table::from_json(&more).unwrap());
    }
    assert_eq!(back.rows()[3].runs, 4);
    assert!(Table::from_json("[{}]").is_err());
}

#[test]
fn a_table_in_markdown_reads_back() {
    let table = Table::new();
    let at = |millis| Boottime::from_boot(Duration::from_millis(millis));
    for (fault, last, lease_end, next) in
        [("20 last", 5, Some(9), Some(8)), ("3 a|b", 9, Some(7), None), ("none", 1, None, Some(0))]
    {
        table.add(
            fault,
            "x",
            &Outcome {
                last: at(last),
                lease_end: lease_end.map(at),
                next: next.map(at),
                kept: lease_end.map(|end| end > last),
            },
        );
    }
    let text = format!("# Head\n\n{table}\nwords | and | more\n");
    let again = Table::from_markdown(&text);
    assert_eq!(again.rows(), table.rows());
    assert_eq!(
        again.rows().iter().map(|row| &*row.fault).collect::<Vec<_>>(),
        ["3 a|b", "20 last", "none"]
    );
}
