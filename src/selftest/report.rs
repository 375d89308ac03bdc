//! This file has the report of `elect selftest`.

use serde::Serialize;

use crate::report::{Table, escape, milliseconds};

/// The report of `elect selftest`. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SelftestReport {
    /// The store's location, as a URL without secrets.
    pub(super) backend: String,
    /// True if no check fails.
    pub(super) holds: bool,
    /// The checks, in the order in which they were made.
    pub(super) checks: Vec<CheckReport>,
    /// Descriptions of what could not be removed.
    pub(super) left: Vec<String>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CheckReport {
    /// The name of the check.
    pub(super) check: &'static str,
    /// Its result.
    pub(super) result: CheckResult,
    /// The time that it took, in milliseconds.
    pub(super) took_ms: u64,
    /// The time from the fault or the end of the leader to the next command, in milliseconds with fractions.
    pub(super) handover_ms: Option<f64>,
    /// The time between the end of the leader's tree and the next command, in milliseconds with fractions.
    pub(super) slack_ms: Option<f64>,
    /// A description of what was seen.
    pub(super) seen: String,
}

impl CheckReport {
    /// Returns a report without the name of the check and without times.
    pub(super) fn new(result: CheckResult, seen: impl Into<String>) -> Self {
        let (handover_ms, slack_ms) = (None, None);
        Self { check: "", result, took_ms: 0, handover_ms, slack_ms, seen: seen.into() }
    }

    /// Returns a report on a check that is not possible here, for this reason.
    pub(super) fn skipped(why: &str) -> Self {
        Self::new(CheckResult::Skipped, why)
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckResult {
    /// The promise holds.
    Holds,
    /// The promise was broken.
    Fails,
    /// The check is not possible here.
    Skipped,
}

impl SelftestReport {
    /// Returns a report of these checks.
    pub(super) fn new(backend: String, checks: Vec<CheckReport>, left: Vec<String>) -> Self {
        let holds = checks.iter().all(|check| check.result != CheckResult::Fails);
        Self { backend, holds, checks, left }
    }

    /// Returns a checklist for people, fitted to a terminal of this width.
    pub(super) fn table(&self, width: Option<usize>) -> String {
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

#[cfg(test)]
mod tests {
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
}
