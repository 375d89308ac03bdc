//! The run of a leadership, as what is to be done once has it: it is counted before it starts, and as its leader resigns
//! it is said how it went.

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

/// The last run of a leadership, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// With which token it was counted, or may have been.
    pub(super) counted: Option<Token>,
    /// Whether it is recorded that what is to be done once is done.
    pub(super) is_recorded: bool,
    /// With which token it was ordered, and when, unless it is known that nothing came of that. A guardian that dies in the
    /// middle of it may have started something.
    pub(super) ordered: Option<(Token, Boottime)>,
    /// When it was ordered to start, as it has, and what the wall clock showed when that was heard, in milliseconds since
    /// 1970. We hear of the start later than the command does, and would tell too short a time.
    started: Option<(Boottime, u64)>,
    /// How it ended, and when.
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

    /// How it ended, and how long it took, if it has.
    pub(super) fn outcome(&self) -> Option<(Ended, Duration)> {
        let ((began, _), (ended, at)) = self.started.zip(self.ended)?;
        Some((ended, at.since(began)))
    }

    /// What is to be said of it, where it is to be done once: how it ended, or that it does not count.
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

/// Whether a run that ended like this could not even begin its work on this machine: 126 and 127 say so.
const fn is_no_try(ended: Ended) -> bool {
    matches!(ended, Ended::Exited(126 | 127))
}

/// Counts the run of a key that is about to start, of which so many may count, in one step with the proof that we lead.
/// Whether it was counted before, as the answer was lost, is seen by its token; nobody else has written since we won.
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

/// The key as a word for a shell.
fn quoted(key: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._:@%+=,/-".contains(c);
    if key.chars().all(is_plain) && !key.starts_with('-') {
        return key.to_owned();
    }
    escape(&format!("'{}'", key.replace('\'', r"'\''")))
}

/// What is to be said of a run as we resign.
pub(super) enum Said {
    /// It has ended like this.
    Ended(Run),
    /// It was counted, and is none: it never started, or could not begin its work here.
    Retracted(Token),
}

/// How long a resignation may wait until it is said how the run went.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What is said of a run is for the eye, or in favour of one more: whatever becomes of it, we resign.
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
