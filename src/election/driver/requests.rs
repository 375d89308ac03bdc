//! What the store is asked for: one call at a time.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use elect_api::{
    Boottime, Cell, Durability, Error, ErrorKind, If, Note, Seat, Standing, Token, Versioned,
};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::{Candidacy, Once};
use crate::election::division;
use crate::election::history::last_led;
use crate::election::once::{Attempt, Run, Runs, quoted};
use crate::election::orders::Orders;
use crate::election::ranking::Field;
use crate::election::{Attempted, Ending, Reply};

/// A call that is under way.
pub(super) type PendingCall<'a> = Pin<Box<dyn Future<Output = Result<Raw, Error>> + Send + 'a>>;

/// The seat is with the call that is under way; there is one.
pub(super) type SharedSeat = Arc<Mutex<Box<dyn Seat>>>;

/// What came of it: with what the machine has no use for.
pub(super) enum Raw {
    Seat(Box<dyn Seat>),
    Standing(Standing),
    Note(Note),
    Plain(Reply),
}

/// How a call ended that was answered like this.
pub(super) const fn ending(answer: &Result<Raw, Error>) -> Ending {
    match answer {
        Err(error) => Ending::Failed(error.kind()),
        Ok(Raw::Standing(Standing::Leading { .. })) => Ending::Proven,
        Ok(_) => Ending::Answered,
    }
}

pub(super) fn open<'a>(candidacy: &Candidacy<'a>) -> PendingCall<'a> {
    let Candidacy { store, election, candidate, ttl, .. } = *candidacy;
    Box::pin(async move { store.open(election, candidate, ttl).await.map(Raw::Seat) })
}

pub(super) fn settle<'a>(candidacy: &Candidacy<'a>) -> PendingCall<'a> {
    let Candidacy { store, election, candidate, .. } = *candidacy;
    Box::pin(async move {
        let agreement = division::settle(store, election, candidate).await?;
        Ok(Raw::Plain(Reply::Agreement(agreement)))
    })
}

/// Of two who write at once one is overtaken, and finds it done or tries again.
pub(super) fn announce<'a>(candidacy: &Candidacy<'a>) -> PendingCall<'a> {
    let Candidacy { store, election, .. } = *candidacy;
    Box::pin(async move {
        let Versioned { bytes, version } = store.read(election, Cell::Control).await?;
        let orders = Orders::read(bytes.as_deref())?;
        if !orders.are_ranked() {
            let ranked = orders.ranked().to_bytes();
            store.write(election, Cell::Control, &ranked, If::Version(version)).await?;
        }
        Ok(Raw::Plain(Reply::Announced))
    })
}

pub(super) fn compare<'a>(candidacy: &Candidacy<'a>) -> PendingCall<'a> {
    let candidacy = *candidacy;
    Box::pin(async move {
        let survey = candidacy.survey().await?;
        let last = last_led(candidacy.store, candidacy.election).await?;
        Ok(Raw::Plain(Reply::Field(Box::new(Field { survey, last }))))
    })
}

pub(super) fn refresh<'a>(seat: SharedSeat, now: Boottime) -> PendingCall<'a> {
    Box::pin(async move { seat.lock().await.refresh(now).await.map(Raw::Standing) })
}

pub(super) fn read(seat: SharedSeat, now: Boottime, cell: Cell<'_>) -> PendingCall<'_> {
    Box::pin(async move { seat.lock().await.read(now, cell).await.map(Raw::Note) })
}

pub(super) fn write(
    seat: SharedSeat,
    now: Boottime,
    (cell, durability): (Cell<'_>, Durability),
    bytes: Vec<u8>,
) -> PendingCall<'_> {
    Box::pin(async move {
        let written = seat.lock().await.write(now, cell, &bytes, durability).await?;
        Ok(Raw::Plain(Reply::Written(written)))
    })
}

/// Counts the run that is about to start, in one step with the proof that we lead. Whether it was counted before, as the
/// answer was lost, is seen by its token; nobody else has written since we won.
pub(super) fn attempt<'a>(
    candidacy: &Candidacy<'a>,
    seat: SharedSeat,
    now: Boottime,
    run: Run,
) -> Option<PendingCall<'a>> {
    let Once { key, attempts } = candidacy.once?;
    let (most, election) = (attempts?, candidacy.election);
    Some(Box::pin(async move {
        let mut seat = seat.lock().await;
        let runs = read_runs(&mut **seat, now).await?;
        let attempted = match runs.attempt(key, most, run) {
            Attempt::Counted => Attempted::Counted,
            Attempt::UsedUp(why) => {
                let undo = format!("elect done {election} {} --undo", quoted(key));
                Attempted::UsedUp(format!("{why}; `{undo}` permits as many again"))
            }
            Attempt::Write(note) => {
                match seat.write(now, Cell::Runs, &note, Durability::Usual).await?.why_not() {
                    None => Attempted::Counted,
                    Some(_) => Attempted::Uncounted,
                }
            }
        };
        Ok(Raw::Plain(Reply::Attempted(attempted)))
    }))
}

async fn read_runs(seat: &mut dyn Seat, now: Boottime) -> Result<Runs, Error> {
    let note = seat.read(now, Cell::Runs).await?;
    Runs::read(note.bytes.as_deref())
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
async fn say(seat: &mut dyn Seat, now: Boottime, key: &str, said: Said) -> Result<(), Error> {
    let runs = read_runs(seat, now).await?;
    let note = match said {
        Said::Ended(run) => Some(runs.ended(key, run)),
        Said::Retracted(token) => runs.retracted(key, token),
    };
    let Some(note) = note else { return Ok(()) };
    let written = seat.write(now, Cell::Runs, &note, Durability::Usual).await?;
    written.why_not().map_or(Ok(()), |why| Err(Error::new(ErrorKind::Unreachable, why)))
}

pub(super) fn resign(
    seat: SharedSeat,
    now: Boottime,
    history: Option<Vec<u8>>,
    said: Option<(&str, Said)>,
) -> PendingCall<'_> {
    Box::pin(async move {
        let mut seat = seat.lock().await;
        if let Some((key, said)) = said {
            let _ = timeout(LAST_WORDS, say(&mut **seat, now, key, said)).await;
        }
        let last = history.as_deref().map(|history| (Cell::History, history));
        seat.resign(last).await?;
        Ok(Raw::Plain(Reply::Resigned))
    })
}
