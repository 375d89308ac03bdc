use std::time::Duration;

use serde::Serialize;

use super::{Table, escape};

/// What `elect selftest` reports: the same keys in JSON and YAML. They are stable; more may come.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelftestReport {
    /// Where the store is, as a URL without secrets.
    pub backend: String,
    /// Whether no check fails.
    pub holds: bool,
    /// Each check, in the order in which they were made.
    pub checks: Vec<CheckReport>,
    /// What could not be removed, in words.
    pub left: Vec<String>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// Its name.
    pub check: &'static str,
    /// What came of it.
    pub result: CheckResult,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// From the end of the leader, or from what was done to it, to the next command, in milliseconds and
    /// parts of one.
    pub handover_ms: Option<f64>,
    /// How long the leader's tree was dead before the next command ran, in milliseconds and parts of one.
    pub slack_ms: Option<f64>,
    /// What was seen.
    pub seen: String,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckResult {
    /// It is as it has to be.
    Holds,
    /// It is not.
    Fails,
    /// It could not be tried here.
    Skipped,
}

impl SelftestReport {
    /// A report of these checks.
    pub fn new(backend: String, checks: Vec<CheckReport>, left: Vec<String>) -> Self {
        let holds = checks.iter().all(|check| check.result != CheckResult::Fails);
        Self { backend, holds, checks, left }
    }

    /// A checklist for people, on a terminal of this width.
    pub fn table(&self, width: Option<usize>) -> String {
        let mut table = Table::uncut(&["CHECK", "RESULT", "TOOK", "HAND-OVER", "SLACK", "SEEN"]);
        table = table.without(&["SLACK", "TOOK", "HAND-OVER"]);
        for check in &self.checks {
            let result = match check.result {
                CheckResult::Holds => "holds",
                CheckResult::Fails => "FAILS",
                CheckResult::Skipped => "skipped",
            };
            let time = |ms: Option<f64>| ms.map_or_else(String::new, milliseconds);
            #[expect(clippy::cast_precision_loss, reason = "for people, and no age of the world")]
            let took = check.took_ms as f64;
            table.row([
                check.check.to_owned(),
                result.to_owned(),
                time(Some(took)),
                time(check.handover_ms),
                time(check.slack_ms),
                check.seen.clone(),
            ]);
        }
        format!("backend: {}\n{}", escape(&self.backend), table.render(width))
    }
}

/// Milliseconds for people.
pub fn milliseconds(ms: f64) -> String {
    match ms {
        _ if ms < 10.0 => format!("{ms:.1}ms"),
        _ if ms < 1000.0 => format!("{ms:.0}ms"),
        _ => format!("{:.2}s", ms / 1000.0),
    }
}

impl CheckReport {
    /// Rounds as the report has it: whole milliseconds.
    pub fn whole_ms(span: Duration) -> u64 {
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }

    /// Rounds as the report has it: milliseconds with two more digits.
    pub fn fine_ms(span: Duration) -> f64 {
        (span.as_secs_f64() * 100_000.0).round() / 100.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CheckReport, CheckResult, SelftestReport};

    fn check(check: &'static str, result: CheckResult, slack: Option<f64>) -> CheckReport {
        let seen = "as it was".to_owned();
        CheckReport { check, result, took_ms: 1234, handover_ms: None, slack_ms: slack, seen }
    }

    #[test]
    fn one_that_fails_is_enough_and_one_that_is_skipped_is_not() {
        let report = |checks| SelftestReport::new("file:///x".into(), checks, Vec::new());
        let (good, skipped) =
            (check("one", CheckResult::Holds, Some(0.5)), check("two", CheckResult::Skipped, None));
        let bad = check("three", CheckResult::Fails, Some(41.7));
        assert!(report(vec![good.clone(), skipped.clone()]).holds);
        let report = report(vec![good, skipped, bad]);
        assert!(!report.holds);
        assert_eq!(
            report.table(None),
            "backend: file:///x\n\
             CHECK  RESULT   TOOK   HAND-OVER  SLACK  SEEN\n\
             one    holds    1.23s  -          0.5ms  as it was\n\
             two    skipped  1.23s  -          -      as it was\n\
             three  FAILS    1.23s  -          42ms   as it was\n"
        );
    }

    #[test]
    fn times_are_rounded() {
        assert_eq!(CheckReport::fine_ms(Duration::from_nanos(1_234_567)).to_string(), "1.23");
        assert_eq!(CheckReport::whole_ms(Duration::from_micros(2_900)), 2);
    }
}
