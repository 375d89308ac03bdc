//! What the store is asked for: one call at a time.

use std::pin::Pin;
use std::sync::Arc;

use elect_api::{Boottime, Error, Note, NoteName, Seat, Standing};
use tokio::sync::Mutex;

use super::Candidacy;
use crate::election::division;
use crate::election::history::last_led;
use crate::election::orders::Orders;
use crate::election::ranking::Field;
use crate::election::{Ending, Reply};

/// A call that is under way.
pub(super) type Request<'a> = Pin<Box<dyn Future<Output = Result<Raw, Error>> + Send + 'a>>;

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

pub(super) fn open<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, candidate, ttl, .. } = *candidacy;
    Box::pin(async move { store.open(election, candidate, ttl).await.map(Raw::Seat) })
}

pub(super) fn settle<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, candidate, .. } = *candidacy;
    Box::pin(async move {
        let agreement = division::settle(store, election, candidate).await?;
        Ok(Raw::Plain(Reply::Agreement(agreement)))
    })
}

/// Of two who write at once one is overtaken, and finds it done or tries again.
pub(super) fn announce<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, .. } = *candidacy;
    Box::pin(async move {
        let kept = store.orders(election).await?;
        let orders = Orders::read(kept.text.as_deref())?;
        if !orders.are_ranked() {
            store.order(election, &orders.ranked().to_bytes(), kept.version).await?;
        }
        Ok(Raw::Plain(Reply::Announced))
    })
}

pub(super) fn compare<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, .. } = *candidacy;
    Box::pin(async move {
        let survey = store.survey(election).await?;
        let last = last_led(store, election).await?;
        Ok(Raw::Plain(Reply::Field(Box::new(Field { survey, last }))))
    })
}

pub(super) fn refresh<'a>(seat: SharedSeat, now: Boottime) -> Request<'a> {
    Box::pin(async move { seat.lock().await.refresh(now).await.map(Raw::Standing) })
}

pub(super) fn read<'a>(seat: SharedSeat, now: Boottime, name: NoteName) -> Request<'a> {
    Box::pin(async move { seat.lock().await.read_note(now, name).await.map(Raw::Note) })
}

pub(super) fn write<'a>(
    seat: SharedSeat,
    now: Boottime,
    name: NoteName,
    note: Vec<u8>,
) -> Request<'a> {
    Box::pin(async move {
        let noted = seat.lock().await.write_note(now, name, &note).await?;
        Ok(Raw::Plain(Reply::Noted(noted)))
    })
}

pub(super) fn resign<'a>(seat: SharedSeat, history: Option<Vec<u8>>) -> Request<'a> {
    Box::pin(async move {
        let mut seat = seat.lock().await;
        match history {
            Some(note) => seat.resign_with(NoteName::HISTORY, &note).await?,
            None => seat.resign().await?,
        }
        Ok(Raw::Plain(Reply::Resigned))
    })
}
