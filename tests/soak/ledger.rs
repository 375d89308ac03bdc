//! Keeps a record of the faults, exits and leases as they happen.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use elect_api::Boottime;
use elect_testkit::oracle::Run;

use crate::candidate::Term;
use crate::fault::{Active, Kind};

#[derive(Debug)]
pub(crate) struct Ledger {
    /// The time and target of each action, for the person who searches for a cause.
    diary: File,
    pub(crate) faults: BTreeMap<Kind, usize>,
    pub(crate) exits: BTreeMap<i32, usize>,
    /// When at the earliest the lease of each token could end.
    leases: BTreeMap<u64, Boottime>,
    /// From the begin of a fault to its end.
    troubled: Vec<(Boottime, Boottime)>,
}

impl Ledger {
    pub(crate) fn new(diary: &Path) -> Self {
        Self {
            diary: File::create(diary).expect("a diary"),
            faults: BTreeMap::new(),
            exits: BTreeMap::new(),
            leases: BTreeMap::new(),
            troubled: Vec::new(),
        }
    }

    fn note(&mut self, at: Boottime, candidate: &str, what: &str) {
        let _ = writeln!(self.diary, "{:.3?} {candidate}: {what}", at.since_boot());
    }

    pub(crate) fn begin(&mut self, candidate: &str, kind: Kind, now: Boottime) {
        *self.faults.entry(kind).or_default() += 1;
        self.note(now, candidate, &kind.words());
    }

    pub(crate) fn end(&mut self, candidate: &str, active: &Active, now: Boottime) {
        self.troubled.push((active.since, now));
        self.note(now, candidate, &format!("end of: {}", active.kind.words()));
    }

    /// Of each run, and when its lease could have ended.
    pub(crate) fn note_runs(&mut self, runs: &[Run]) {
        for run in runs {
            let end = self.leases.get(&run.token).map(|end| end.since_boot());
            let _ = writeln!(self.diary, "{run}; its lease could end at {end:.3?}");
        }
    }

    pub(crate) fn exit(&mut self, code: i32) {
        *self.exits.entry(code).or_default() += 1;
    }

    /// The end of a lease only moves on. A command that is asked to stop may be killed earlier.
    pub(crate) fn term(&mut self, term: Term) {
        let end = self.leases.entry(term.token).or_insert(term.end);
        *end = term.end.max(*end);
    }

    /// Returns the time between the death of each of these runs and the end of its lease, in nanoseconds. Runs with an
    /// unknown end of the lease are left out.
    pub(crate) fn slacks<'a>(&'a self, runs: &'a [Run]) -> impl Iterator<Item = (i128, &'a Run)> {
        let nanos = |instant: Boottime| instant.since_boot().as_nanos().cast_signed();
        runs.iter().filter_map(move |run| {
            let end = self.leases.get(&run.token)?;
            Some((nanos(*end) - nanos(run.last), run))
        })
    }

    /// The longest time between two runs in which no fault was on.
    pub(crate) fn longest_vacancy(&self, runs: &[Run]) -> Duration {
        let mut latest: Option<Boottime> = None;
        let mut longest = Duration::ZERO;
        for run in runs {
            if let Some(from) = latest {
                longest = longest.max(self.longest_quiet(from, run.first));
            }
            latest = latest.max(Some(run.last));
        }
        longest
    }

    /// The longest time without any fault between two instants.
    fn longest_quiet(&self, from: Boottime, to: Boottime) -> Duration {
        let mut troubled: Vec<_> =
            self.troubled.iter().filter(|(begin, end)| *begin < to && *end > from).collect();
        troubled.sort();
        let (mut longest, mut quiet_since) = (Duration::ZERO, from);
        for (begin, end) in troubled {
            longest = longest.max(begin.since(quiet_since));
            quiet_since = quiet_since.max(*end);
        }
        longest.max(to.since(quiet_since))
    }
}
