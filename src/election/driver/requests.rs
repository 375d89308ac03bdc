//! What the store is asked for: one request at a time.

use std::pin::Pin;
use std::sync::Arc;

use elect_api::{Boottime, Error, Note, NoteName, Noted, Seat, Standing};
use tokio::sync::Mutex;

use super::Candidacy;
use crate::election::division::{self, Agreement};
use crate::election::history::last_led;
use crate::election::machine::Command;
use crate::election::orders::Orders;
use crate::election::ranking::Field;
use crate::election::{Ending, Operation};

/// A request that is under way.
pub(super) type Request<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// The seat is with the request that is under way; there is one.
pub(super) type SharedSeat = Arc<Mutex<Box<dyn Seat>>>;

/// What came of it.
pub(super) enum Reply {
    Opened(Result<Box<dyn Seat>, Error>),
    Refreshed(Result<Standing, Error>),
    Recalled(Result<Note, Error>),
    Recorded(Result<Noted, Error>),
    Settled(Result<Agreement, Error>),
    Announced(Result<(), Error>),
    Compared(Result<Box<Field>, Error>),
    HistoryRead(Result<Note, Error>),
    HistoryWritten(Result<Noted, Error>),
    Resigned(Result<(), Error>),
}

impl Reply {
    /// How the call ended.
    pub(super) const fn ending(&self) -> Ending {
        match self {
            Self::Opened(Err(error))
            | Self::Refreshed(Err(error))
            | Self::Recalled(Err(error))
            | Self::Recorded(Err(error))
            | Self::Settled(Err(error))
            | Self::Announced(Err(error))
            | Self::Compared(Err(error))
            | Self::HistoryRead(Err(error))
            | Self::HistoryWritten(Err(error))
            | Self::Resigned(Err(error)) => Ending::Failed(error.kind()),
            Self::Refreshed(Ok(Standing::Leading { .. })) => Ending::Proven,
            _ => Ending::Answered,
        }
    }
}

pub(super) fn open<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, candidate, ttl, .. } = *candidacy;
    Box::pin(async move { Reply::Opened(store.open(election, candidate, ttl).await) })
}

pub(super) fn settle<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, candidate, .. } = *candidacy;
    Box::pin(async move { Reply::Settled(division::settle(store, election, candidate).await) })
}

/// Of two who write at once one is overtaken, and finds it done or tries again.
pub(super) fn announce<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, .. } = *candidacy;
    Box::pin(async move {
        let announce = async {
            let kept = store.orders(election).await?;
            let orders = Orders::read(kept.text.as_deref())?;
            if !orders.are_ranked() {
                store.order(election, &orders.ranked().to_bytes(), kept.version).await?;
            }
            Ok(())
        };
        Reply::Announced(announce.await)
    })
}

pub(super) fn compare<'a>(candidacy: &Candidacy<'a>) -> Request<'a> {
    let Candidacy { store, election, .. } = *candidacy;
    Box::pin(async move {
        let compare = async {
            let survey = store.survey(election).await?;
            let last = last_led(store, election).await?;
            Ok(Box::new(Field { survey, last }))
        };
        Reply::Compared(compare.await)
    })
}

/// What a command asks the store for, if it does.
pub(super) const fn operation(command: &Command) -> Option<Operation> {
    Some(match command {
        Command::Open => Operation::Open,
        Command::Refresh => Operation::Refresh,
        Command::Recall => Operation::Recall,
        Command::Record => Operation::Record,
        Command::Settle => Operation::Settle,
        Command::Announce => Operation::Announce,
        Command::Compare => Operation::Compare,
        Command::ReadHistory => Operation::ReadHistory,
        Command::WriteHistory | Command::BeginHistory(_) => Operation::WriteHistory,
        Command::Resign(_) => Operation::Resign,
        _ => return None,
    })
}

pub(super) fn refresh<'a>(seat: SharedSeat, now: Boottime) -> Request<'a> {
    Box::pin(async move { Reply::Refreshed(seat.lock().await.refresh(now).await) })
}

pub(super) fn recall<'a>(seat: SharedSeat, now: Boottime) -> Request<'a> {
    Box::pin(async move { Reply::Recalled(seat.lock().await.read_note(now, NoteName::ONCE).await) })
}

pub(super) fn record<'a>(seat: SharedSeat, now: Boottime, note: Vec<u8>) -> Request<'a> {
    Box::pin(async move {
        Reply::Recorded(seat.lock().await.write_note(now, NoteName::ONCE, &note).await)
    })
}

pub(super) fn read_history<'a>(seat: SharedSeat, now: Boottime) -> Request<'a> {
    Box::pin(async move {
        Reply::HistoryRead(seat.lock().await.read_note(now, NoteName::HISTORY).await)
    })
}

pub(super) fn write_history<'a>(seat: SharedSeat, now: Boottime, note: Vec<u8>) -> Request<'a> {
    Box::pin(async move {
        let mut seat = seat.lock().await;
        Reply::HistoryWritten(seat.write_note(now, NoteName::HISTORY, &note).await)
    })
}

/// A winner that holds back for a leader that was cut short goes by it.
pub(super) fn begin_history<'a>(seat: SharedSeat, now: Boottime, note: Vec<u8>) -> Request<'a> {
    Box::pin(async move {
        let mut seat = seat.lock().await;
        let name = NoteName::HISTORY.to_last();
        Reply::HistoryWritten(seat.write_note(now, name, &note).await)
    })
}

pub(super) fn resign<'a>(seat: SharedSeat, history: Option<Vec<u8>>) -> Request<'a> {
    Box::pin(async move {
        let mut seat = seat.lock().await;
        Reply::Resigned(match history {
            Some(note) => seat.resign_with(NoteName::HISTORY, &note).await,
            None => seat.resign().await,
        })
    })
}
