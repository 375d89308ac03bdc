//! Who did what when: a lane for each candidate and for each member of the store.

mod drawing;
mod text;

use std::time::Duration;

use super::axis::brief;

/// A time line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// What happened, in a few words.
    pub title: String,
    /// The time at which it ends; it begins at zero.
    pub end: Duration,
    /// The lanes, from the top down.
    pub lanes: Vec<Lane>,
    /// What the script did, in the order of time.
    pub marks: Vec<Mark>,
}

/// What one candidate or one member of the store did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub label: String,
    /// Which of the two it is.
    pub role: Role,
    /// What it did. Where spans meet, the later of the list is seen; a run is always seen.
    pub spans: Vec<Span>,
}

/// Whose lane it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A candidate's.
    Candidate,
    /// That of a member of the store.
    Store,
}

/// What it did for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first instant.
    pub from: Duration,
    /// The first instant after it. What ends before it begins is not seen.
    pub until: Duration,
    /// What it did.
    pub state: State,
    /// The fencing token of the leadership, if it has one.
    pub token: Option<u64>,
}

/// What a candidate, or a member of the store, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is up, and does not lead.
    Waits,
    /// Its command runs. Two candidates never do so at the same time.
    Runs,
    /// It leads the store.
    Serves,
    /// It is up, but paused.
    Stopped,
    /// It is up, but has no way to a majority of the store.
    CutOff,
    /// It is not up.
    Dead,
}

/// Something that the script did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Duration,
    /// What, in a few words.
    pub text: String,
}

impl State {
    /// All states, in the order of a legend.
    pub(super) const ALL: [Self; 6] =
        [Self::Runs, Self::Waits, Self::Serves, Self::Stopped, Self::CutOff, Self::Dead];

    /// What it is called in a legend.
    const fn words(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Runs => "command runs",
            Self::Serves => "leads the store",
            Self::Stopped => "paused",
            Self::CutOff => "cut off",
            Self::Dead => "dead",
        }
    }
}

impl Span {
    fn is_seen(&self) -> bool {
        self.from < self.until
    }
}

impl Timeline {
    /// When the commands of two candidates or more ran at the same time, in the order of time.
    pub fn overlaps(&self) -> Vec<(Duration, Duration)> {
        // At one instant, what ends does so before anything begins: a hand-over is no overlap.
        let mut changes: Vec<(Duration, bool)> = Vec::new();
        for lane in &self.lanes {
            for (from, until) in lane.runs() {
                changes.extend([(from, true), (until, false)]);
            }
        }
        changes.sort_unstable();
        let (mut running, mut since, mut overlaps) = (0_usize, None, Vec::new());
        for (at, is_start) in changes {
            running = if is_start { running + 1 } else { running.saturating_sub(1) };
            match since {
                None if running > 1 => since = Some(at),
                Some(from) if running < 2 => {
                    overlaps.push((from, at));
                    since = None;
                }
                _ => {}
            }
        }
        overlaps
    }

    /// The time at which the picture ends: no span is beyond it, and it is not zero.
    fn end(&self) -> Duration {
        let spans = self.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.until);
        let marks = self.marks.iter().map(|mark| mark.at);
        let last = spans.chain(marks).max().unwrap_or_default();
        if self.end.is_zero() { last.max(Duration::from_nanos(1)) } else { self.end }
    }

    /// The lanes: those of candidates, then those of the store.
    fn ordered(&self) -> impl Iterator<Item = &Lane> {
        let of = |role| self.lanes.iter().filter(move |lane| lane.role == role);
        of(Role::Candidate).chain(of(Role::Store))
    }

    /// The states that are seen.
    fn seen(&self) -> impl Iterator<Item = State> {
        let is_seen = |state: &State| {
            let mut spans = self.lanes.iter().flat_map(|lane| &lane.spans);
            spans.any(|span| span.state == *state && span.is_seen())
        };
        State::ALL.into_iter().filter(is_seen)
    }

    /// Whether two commands ever ran at once, in a sentence; nothing if none ran.
    fn verdict(&self) -> Option<String> {
        let overlaps = self.overlaps();
        let (Some(first), Some(longest)) = (
            overlaps.first(),
            overlaps.iter().map(|(from, until)| until.saturating_sub(*from)).max(),
        ) else {
            let has_run = self.seen().any(|state| state == State::Runs);
            return has_run.then(|| "No two commands ran at the same time.".to_owned());
        };
        let (from, longest) = (brief(first.0), brief(longest));
        Some(match overlaps.len() {
            1 => {
                format!("OVERLAP: two commands ran at the same time, for {longest} from {from} on.")
            }
            more => format!(
                "OVERLAP: two commands ran at the same time, {more} times, for up to {longest}, \
                 first at {from}."
            ),
        })
    }
}

impl Lane {
    /// The times in which its command ran, merged.
    fn runs(&self) -> Vec<(Duration, Duration)> {
        let runs = self.spans.iter().filter(|span| span.state == State::Runs && span.is_seen());
        let mut runs: Vec<_> = runs.map(|span| (span.from, span.until)).collect();
        if self.role == Role::Store {
            runs.clear();
        }
        runs.sort_unstable();
        let mut merged: Vec<(Duration, Duration)> = Vec::new();
        for (from, until) in runs {
            match merged.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(until),
                _ => merged.push((from, until)),
            }
        }
        merged
    }
}
