//! This file shows a run as a time line: a lane for each candidate and for each member of the store.

mod drawing;
mod text;

use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};

use super::axis::brief;

/// A time line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// A short description of the run.
    pub title: String,
    /// The time at which it ends; it begins at zero.
    pub end: Duration,
    /// The lanes, from the top down.
    pub lanes: Vec<Lane>,
    /// The events of the script, in the order of time.
    pub marks: Vec<Mark>,
}

/// The lane of one candidate or one member of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The name of the node.
    pub label: String,
    /// The role of the node.
    pub role: Role,
    /// The states of the node. If spans overlap, the later one in the list is shown, but a running command is always
    /// shown.
    pub spans: Vec<Span>,
}

/// The role of a lane's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A candidate.
    Candidate,
    /// A member of the store.
    Store,
}

/// A span of time in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first instant.
    pub from: Duration,
    /// The first instant after the span. A span that ends before it begins is not shown.
    pub until: Duration,
    /// The state.
    pub state: State,
    /// The fencing token of the leadership, if it has one.
    pub token: Option<u64>,
}

/// The state of a candidate or of a member of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The node is up, and does not lead.
    Waits,
    /// The candidate's command runs. Two commands should never run at the same time.
    Runs,
    /// The member leads the store.
    Serves,
    /// The node is up, but stopped.
    Stopped,
    /// The node is up, but cannot reach a majority of the store.
    CutOff,
    /// The node is not up.
    Dead,
}

/// An event of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The time of the event.
    pub at: Duration,
    /// A short description of the event.
    pub text: String,
}

impl State {
    /// All states, in the order of a legend.
    pub(super) const ALL: [Self; 6] =
        [Self::Runs, Self::Waits, Self::Serves, Self::Stopped, Self::CutOff, Self::Dead];

    fn appearance(self) -> Appearance {
        let (words, class, style, signs) = match self {
            Self::Waits => ("waits", "waits", Style::new().dimmed(), ['░', '.']),
            Self::Runs => {
                ("command runs", "runs", AnsiColor::Green.on_default().bold(), ['█', '#'])
            }
            Self::Serves => ("leads the store", "serves", AnsiColor::Cyan.on_default(), ['▬', '=']),
            Self::Stopped => ("paused", "stopped", AnsiColor::Yellow.on_default(), ['‖', '|']),
            Self::CutOff => ("cut off", "cut-off", AnsiColor::Magenta.on_default(), ['╌', '~']),
            Self::Dead => ("dead", "dead", AnsiColor::Red.on_default(), ['×', 'x']),
        };
        Appearance { words, class, style, signs }
    }
}

/// How a state is shown.
struct Appearance {
    /// Its name in a legend.
    words: &'static str,
    /// Its class in a drawing.
    class: &'static str,
    /// Its style in a terminal.
    style: Style,
    /// Its signs in a terminal with Unicode, and in one without.
    signs: [char; 2],
}

impl Span {
    /// Returns a span without a token.
    pub const fn new(from: Duration, until: Duration, state: State) -> Self {
        Self { from, until, state, token: None }
    }

    fn is_seen(&self) -> bool {
        self.from < self.until
    }
}

impl Timeline {
    /// Returns the times in which two or more commands ran at once, in order.
    pub fn overlaps(&self) -> Vec<(Duration, Duration)> {
        // At one instant, ends come before begins, so a hand-over is not an overlap.
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

    /// Returns the time at which the picture ends, which is never zero. If no end is given, it is the end of the last
    /// span or mark.
    fn end(&self) -> Duration {
        let spans = self.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.until);
        let marks = self.marks.iter().map(|mark| mark.at);
        let last = spans.chain(marks).max().unwrap_or_default();
        if self.end.is_zero() { last.max(Duration::from_nanos(1)) } else { self.end }
    }

    /// Returns the lanes of the candidates, then the lanes of the store.
    fn ordered(&self) -> impl Iterator<Item = &Lane> {
        let of = |role| self.lanes.iter().filter(move |lane| lane.role == role);
        of(Role::Candidate).chain(of(Role::Store))
    }

    /// Returns the states that are shown.
    fn seen(&self) -> impl Iterator<Item = State> {
        let is_seen = |state: &State| {
            let mut spans = self.lanes.iter().flat_map(|lane| &lane.spans);
            spans.any(|span| span.state == *state && span.is_seen())
        };
        State::ALL.into_iter().filter(is_seen)
    }

    /// Returns a sentence that says whether two commands ever ran at once. `None` if no command ran.
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
    /// Returns the spans that begin before this end and are shown. Those in which the command runs come last, as they
    /// cover all others.
    fn shown(&self, end: Duration) -> impl Iterator<Item = &Span> {
        let of = move |runs: bool| {
            self.spans.iter().filter(move |span| {
                span.is_seen() && span.from < end && runs == (span.state == State::Runs)
            })
        };
        of(false).chain(of(true))
    }

    /// Returns the times in which the command ran, merged.
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
