//! The report that the test prints at the end.

use std::fmt;
use std::time::Duration;

use elect_testkit::oracle::{Run, Verdict};

use crate::bystanders::Life;
use crate::ledger::Ledger;

/// The longest time without a leader while no fault is on: three times the longest TTL here.
const LONGEST_VACANCY: Duration = Duration::from_secs(60);

pub(crate) struct Report {
    verdict: Verdict,
    ledger: Ledger,
    lives: Vec<Life>,
    /// Complaints that no other field holds.
    troubles: Vec<String>,
}

impl Report {
    pub(crate) fn new(verdict: Verdict, ledger: Ledger, lives: Vec<Life>) -> Self {
        Self { verdict, ledger, lives, troubles: Vec::new() }
    }

    pub(crate) fn add(&mut self, troubles: impl IntoIterator<Item = String>) {
        self.troubles.extend(troubles);
    }

    fn least_slack(&self) -> Option<(i128, &Run)> {
        self.ledger.slacks(&self.verdict.runs).min_by_key(|(slack, _)| *slack)
    }

    fn vacancy(&self) -> Duration {
        self.ledger.longest_vacancy(&self.verdict.runs)
    }

    /// Returns true if the promise was kept and nothing else is wrong.
    pub(crate) fn is_good(&self) -> bool {
        self.verdict.faults.is_empty()
            && self.least_slack().is_none_or(|(slack, _)| slack > 0)
            && self.vacancy() < LONGEST_VACANCY
            && self.troubles.is_empty()
    }

    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = &self.verdict.runs;
        let faults: usize = self.ledger.faults.values().sum();
        writeln!(f, "changes of leader {:>6}", runs.len().saturating_sub(1))?;
        writeln!(f, "faults            {faults:>6}")?;
        for (kind, count) in &self.ledger.faults {
            writeln!(f, "  {:<46} {count:>5}", kind.words())?;
        }
        writeln!(f, "exit codes")?;
        for (code, count) in &self.ledger.exits {
            writeln!(f, "  {code:<46} {count:>5}")?;
        }
        writeln!(f, "overlaps          {:>6}", self.verdict.faults.len())?;
        match self.least_slack() {
            None => writeln!(f, "least slack            - (leases do not end by time)")?,
            Some((slack, run)) => {
                let known = self.ledger.slacks(runs).count();
                let millis = slack / 1_000_000;
                writeln!(f, "least slack       {millis:>6} ms, of {known} terms; that of {run}")?;
            }
        }
        writeln!(f, "longest without a leader, with no fault on: {:.1?}", self.vacancy())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.figures(f)?;
        writeln!(f, "at first and at last")?;
        for Life { what, pid, since, until, first, last } in &self.lives {
            let span = until.since(*since).as_secs();
            writeln!(f, "  {what} ({pid}, {span} s): {first}; {last}")?;
        }
        for fault in &self.verdict.faults {
            writeln!(f, "BROKEN: {fault}")?;
        }
        for trouble in &self.troubles {
            writeln!(f, "WRONG: {trouble}")?;
        }
        f.write_str(if self.is_good() { "the promise was kept" } else { "NOT GOOD" })
    }
}
