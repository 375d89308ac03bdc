//! What the store is asked for: one call at a time.

use std::pin::Pin;
use std::sync::Arc;

use elect_api::{Boottime, Cell, Durability, Error, If, Note, Seat, Standing, Versioned};
use tokio::sync::Mutex;

use super::Candidacy;
use crate::election::division;
use crate::election::history::last_led;
use crate::election::orders::Orders;
use crate::election::ranking::Field;
use crate::election::{Ending, Reply};

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

pub(super) fn resign<'a>(seat: SharedSeat, history: Option<Vec<u8>>) -> PendingCall<'a> {
    Box::pin(async move {
        let last = history.as_deref().map(|history| (Cell::History, history));
        seat.lock().await.resign(last).await?;
        Ok(Raw::Plain(Reply::Resigned))
    })
}
