//! The run of a leadership with a `--once` key: it is counted before it starts, and its end is recorded as the leader
//! resigns.

use std::time::Duration;

use elect_api::text::escape;
use elect_api::{
    Boottime, Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Seat, Token, stamp,
};
use tokio::time::timeout;

use crate::election::Attempted;
use crate::election::machine::Event;
use crate::election::runs::{Attempt, Run, Runs};
use crate::guard::Ended;

/// The progress of the last run of a leadership.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The token with which the run was counted, or may have been.
    pub(super) counted: Option<Token>,
    /// Whether the key is recorded as done.
    pub(super) is_recorded: bool,
    /// The token with which the start was ordered, and when, unless the start is known to have failed. A guardian that
    /// dies in the middle of it may have started something.
    pub(super) ordered: Option<(Token, Boottime)>,
    /// Set once the command has started: the instant of the order to start, and the wall clock when the report came, in
    /// milliseconds since 1970. The report comes later than the start itself. Counted from the report, the time would
    /// be too short.
    started: Option<(Boottime, u64)>,
    /// How the run ended, and when.
    ended: Option<(Ended, Boottime)>,
}

impl Progress {
    pub(super) fn follow(&mut self, now: Boottime, event: &Event) {
        match event {
            Event::Started => {
                let ordered = self.ordered.map_or(now, |(_, at)| at);
                (self.started, self.ended) = (Some((ordered, stamp::display())), None);
            }
            Event::Ended(ended) | Event::EndedAfterKey(ended, _) => {
                self.ended = Some((*ended, now));
            }
            Event::NotStarted(_) => self.ordered = None,
            _ => {}
        }
    }

    /// Returns how the run ended and how long it took, if it has ended.
    pub(super) fn outcome(&self) -> Option<(Ended, Duration)> {
        let ((began, _), (ended, at)) = self.started.zip(self.ended)?;
        Some((ended, at.since(began)))
    }

    /// Returns what to record about the run, if it was to be done once: how it ended, or that it does not count.
    pub(super) fn say(&self, candidate: &Candidate) -> Option<Said> {
        match (self.counted, self.outcome()) {
            (Some(token), _) if self.ordered.is_none() => Some(Said::Retracted(token)),
            (Some(token), Some((ended, _))) if is_no_try(ended) => Some(Said::Retracted(token)),
            (counted, Some((ended, took))) if counted.is_some() || self.is_recorded => {
                let (_, stamp) = self.started?;
                Some(Said::Ended(Run::begun(self.ordered?.0, candidate, stamp).ended(ended, took)))
            }
            _ => None,
        }
    }
}

/// Returns whether a run that ended like this could not even begin its work on this machine, as the codes 126 and 127
/// say.
const fn is_no_try(ended: Ended) -> bool {
    matches!(ended, Ended::Exited(126 | 127))
}

/// Counts the run of `key` that is about to start, of which at most `most` may count. This is one step with the proof
/// of leadership. If an answer was lost, the token shows that the run is counted already. No other candidate has
/// written since the win.
pub(super) async fn count(
    seat: &mut dyn Seat,
    now: Boottime,
    (election, key, most): (&ElectionName, &str, u32),
    run: Run,
) -> Result<Attempted, Error> {
    Ok(match read_runs(seat, now).await?.attempt(key, most, run) {
        Attempt::Counted => Attempted::Counted,
        Attempt::UsedUp(why) => {
            let undo = format!("elect done {election} {} --undo", quoted(key));
            Attempted::UsedUp(format!("{why}; `{undo}` permits as many again"))
        }
        Attempt::Write(cell) => {
            match seat.write(now, Cell::Runs, &cell, Durability::Usual).await?.why_not() {
                None => Attempted::Counted,
                Some(_) => Attempted::Uncounted,
            }
        }
    })
}

async fn read_runs(seat: &mut dyn Seat, now: Boottime) -> Result<Runs, Error> {
    let cell = seat.read(now, Cell::Runs).await?;
    Runs::read(cell.bytes.as_deref())
}

/// Quotes the key as a word for a shell.
fn quoted(key: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._:@%+=,/-".contains(c);
    if key.chars().all(is_plain) && !key.starts_with('-') {
        return key.to_owned();
    }
    escape(&format!("'{}'", key.replace('\'', r"'\''")))
}

/// What is recorded about a run as its leader resigns.
pub(super) enum Said {
    /// The run has ended like this.
    Ended(Run),
    /// The run was counted but does not count: it never started, or could not begin its work here.
    Retracted(Token),
}

/// How long a resignation may wait for the record of the run.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Records how the run went, and ignores failures. The record is for people, or permits one more run, so the leader
/// resigns in any case.
pub(super) async fn say(seat: &mut dyn Seat, now: Boottime, key: &str, said: Said) {
    let _ = timeout(LAST_WORDS, write(seat, now, key, said)).await;
}

async fn write(seat: &mut dyn Seat, now: Boottime, key: &str, said: Said) -> Result<(), Error> {
    let runs = read_runs(seat, now).await?;
    let cell = match said {
        Said::Ended(run) => Some(runs.ended(key, run)),
        Said::Retracted(token) => runs.retracted(key, token),
    };
    let Some(cell) = cell else { return Ok(()) };
    let written = seat.write(now, Cell::Runs, &cell, Durability::Usual).await?;
    written.why_not().map_or(Ok(()), |why| Err(Error::new(ErrorKind::Unreachable, why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_of_a_shell() {
        assert_eq!(
            ["2026-03-01", "a b", "it's"].map(quoted),
            ["2026-03-01", "'a b'", r"'it'\''s'"]
        );
    }

    #[test]
    fn a_command_that_was_not_there_is_no_try() {
        assert!(is_no_try(Ended::Exited(127)) && !is_no_try(Ended::Exited(1)));
    }
}
