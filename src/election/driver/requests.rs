//! Sends the calls to the store, one at a time, and turns their answers into events for the machine.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use elect_api::{
    Boottime, Cell, Doubt, Durability, Error, If, Refreshed, Seat, Standing, Token, Validity,
    Versioned, WatchedCell, Written, stamp,
};
use tokio::sync::Mutex;

use super::Driver;
use super::ports::{Candidacy, Once};
use super::run::{self, Said};
use crate::election::control::Control;
use crate::election::division;
use crate::election::history::{History, LeadershipRecord, last_led};
use crate::election::machine::{Event, News};
use crate::election::once::Done;
use crate::election::ranking::Field;
use crate::election::runs::Run;
use crate::election::{Answer, Call, CallOutcome, Reply};
use crate::guard::is_off;

/// A call that is pending.
pub(super) type PendingCall<'a> = Pin<Box<dyn Future<Output = Result<Raw, Error>> + Send + 'a>>;

/// The seat, which the pending call uses. At most one call is pending.
pub(super) type SharedSeat = Arc<Mutex<Box<dyn Seat>>>;

/// The outcome of a call, with parts that the machine does not need.
pub(super) enum Raw {
    Seat(Box<dyn Seat>),
    Refreshed(Refreshed),
    Cell(WatchedCell),
    Plain(Reply),
}

impl<'a> Driver<'a> {
    /// Sends the requests of a call. Returns `None` if a call needs a seat and there is none.
    pub(super) fn ask(&mut self, now: Boottime, call: &Call) -> Option<PendingCall<'a>> {
        let candidacy = self.candidacy;
        Some(match call {
            Call::Open(ttl) => open(candidacy, *ttl),
            Call::Settle => settle(candidacy),
            Call::Announce => announce(candidacy),
            Call::Compare => compare(candidacy),
            // `start_survey` makes the surveys for people.
            Call::Survey => return None,
            Call::Refresh => {
                if !is_off!(TicketFirst) {
                    self.hand_over_ticket();
                }
                refresh(self.seat.clone()?, now)
            }
            Call::Recall => read(self.seat.clone()?, now, Cell::Once),
            Call::ReadHistory => read(self.seat.clone()?, now, Cell::History),
            Call::Record => {
                let text = self.done.clone().with(candidacy.once?.key);
                write(self.seat.clone()?, now, (Cell::Once, Durability::Usual), text)
            }
            Call::Attempt(token) => {
                self.run.counted = Some(*token);
                let run = Run::begun(*token, candidacy.candidate, stamp::display());
                attempt(candidacy, self.seat.clone()?, now, run)?
            }
            Call::WriteHistory => {
                let text = self.history.cell_with(self.began.as_ref()?);
                write(self.seat.clone()?, now, (Cell::History, Durability::Usual), text)
            }
            Call::BeginHistory(token) => {
                let begun = self.begin(*token);
                let text = self.history.cell_with(&begun);
                // A later winner relies on it when it waits for a leader that was cut short.
                write(self.seat.clone()?, now, (Cell::History, Durability::Lasting), text)
            }
            Call::Resign(words) => {
                self.wake = None;
                self.tree.resigns();
                let ended = self.began.take().zip(words.as_ref());
                let run = std::mem::take(&mut self.run);
                let ended = ended.map(|(begun, words)| begun.ended(words, run.outcome()));
                let text = ended.map(|ended| self.history.cell_with(&ended));
                let said =
                    candidacy.once.and_then(|once| Some((once.key, run.say(candidacy.candidate)?)));
                resign(self.seat.clone()?, now, text, said)
            }
        })
    }

    /// Gives the guardian the ticket before a refresh, which may create an entry. This process may die in the middle of
    /// it.
    fn hand_over_ticket(&mut self) {
        let Some(seat) = &self.seat else { return };
        // No request is pending: the next one is about to be sent.
        let ticket = seat.try_lock().ok().and_then(|seat| seat.ticket());
        if let Some(ticket) = ticket.filter(|ticket| self.ticket.as_ref() != Some(ticket)) {
            self.tree.keep(Some(&ticket));
            self.ticket = Some(ticket);
        }
    }

    /// Returns the record of the leadership with this token. It begins now, unless it has begun before.
    pub(super) fn begin(&mut self, token: Token) -> LeadershipRecord {
        let known = self.began.take().filter(|begun| begun.token() == token);
        let id = &self.candidacy.candidate.id;
        let key = self.candidacy.once.map(|once| once.key);
        let begun =
            known.unwrap_or_else(|| LeadershipRecord::begun(token, id, stamp::display()).of(key));
        self.began.insert(begun).clone()
    }
}

impl Driver<'_> {
    /// Returns the event for the machine that follows from an answer.
    pub(super) fn answered(&mut self, call: Option<&Call>, answer: Result<Raw, Error>) -> Event {
        Event::Replied(match answer {
            Err(error) => Err(error),
            Ok(Raw::Plain(reply)) => {
                self.run.is_recorded |=
                    call == Some(&Call::Record) && matches!(reply, Reply::Written(Written::Yes(_)));
                Ok(reply)
            }
            Ok(Raw::Seat(seat)) => {
                self.seat = Some(Arc::new(Mutex::new(seat)));
                Ok(Reply::Opened)
            }
            Ok(Raw::Cell(found)) if call == Some(&Call::ReadHistory) => {
                Ok(Reply::EndedWell(self.history_read(&found)))
            }
            Ok(Raw::Cell(found)) => self.recalled(found).map(Reply::Done),
            Ok(Raw::Refreshed(refreshed)) => return self.refreshed(refreshed),
        })
    }

    fn refreshed(&mut self, Refreshed { standing, control }: Refreshed) -> Event {
        self.wake = None;
        if is_off!(TicketFirst) {
            self.hand_over_ticket();
        }
        let waits = matches!(standing, Standing::Waiting { .. });
        let is_in_doubt = matches!(standing, Standing::Waiting { alive: false, .. });
        let answer = match standing {
            Standing::Leading { token, validity, wake } => {
                self.wake = Some(wake);
                Answer::Leading { token, validity: self.anchored(validity) }
            }
            Standing::Waiting { ahead, alive, wake } => {
                self.wake = Some(wake);
                Answer::Waiting { ahead, alive }
            }
            Standing::Evicted(why) => Answer::Evicted(why),
            Standing::Gone(why) => Answer::Gone(why),
        };
        let answer = Event::Replied(Ok(Reply::Standing(answer)));
        let doubted = self.doubt().filter(|_| is_in_doubt).map(Event::Doubted);
        let Some(control) = self.new_control(&control) else {
            let Some(doubted) = doubted else { return answer };
            self.pending.push_back(answer);
            return doubted;
        };
        // The survey may show another leader now.
        if waits && self.has_surveyed && self.observer.wants_surveys() {
            self.start_survey(self.clock.now());
        }
        self.pending.extend(doubted);
        self.pending.push_back(answer);
        Event::ControlRead(control)
    }

    /// Returns what the seat says, with which no call is under way.
    fn doubt(&self) -> Option<Doubt> {
        self.seat.as_ref()?.try_lock().ok()?.doubt()
    }

    /// Returns the validity as the store gave it, unless a test wants the fault of counting from the reply.
    fn anchored(&self, validity: Validity) -> Validity {
        match validity {
            Validity::Window { window, .. } if is_off!(Anchor) => {
                Validity::Window { anchor: self.clock.now(), window }
            }
            validity => validity,
        }
    }

    /// Returns the requests to the election, if the cell has changed.
    fn new_control(&mut self, kept: &Versioned) -> Option<Control> {
        if !self.in_force.is_new(kept.version) {
            return None;
        }
        let read = Control::read(kept.bytes.as_deref()).unwrap_or_else(|error| {
            self.observer.news(News::ControlUnread(error));
            Control::default()
        });
        self.in_force.take_in(self.clock.now(), read);
        Some(self.in_force.control().clone())
    }

    /// Returns whether the `--once` key is done according to this cell.
    fn recalled(&mut self, cell: WatchedCell) -> Result<bool, Error> {
        self.done = Done::read(cell.bytes.as_deref())?;
        self.noted = Some(cell.wake);
        Ok(self.candidacy.once.is_some_and(|once| self.done.has(once.key)))
    }

    /// Returns whether the last leadership ended well according to this cell. After a power cut, the cell may hold
    /// anything.
    fn history_read(&mut self, cell: &WatchedCell) -> bool {
        let known = History::read(cell.bytes.as_deref()).ok();
        let has_ended_well = known.as_ref().is_some_and(History::has_ended_well);
        self.history = known.unwrap_or_default();
        has_ended_well
    }
}

/// Returns how a call with this answer ended.
pub(super) const fn outcome(answer: &Result<Raw, Error>) -> CallOutcome {
    match answer {
        Err(error) => CallOutcome::Failed(error.kind()),
        Ok(Raw::Refreshed(Refreshed { standing: Standing::Leading { .. }, .. })) => {
            CallOutcome::Proven
        }
        Ok(_) => CallOutcome::Answered,
    }
}

fn open<'a>(candidacy: &Candidacy<'a>, ttl: Duration) -> PendingCall<'a> {
    let Candidacy { store, election, candidate, .. } = *candidacy;
    Box::pin(async move { store.open(election, candidate, ttl).await.map(Raw::Seat) })
}

fn settle<'a>(candidacy: &Candidacy<'a>) -> PendingCall<'a> {
    let Candidacy { store, election, candidate, .. } = *candidacy;
    Box::pin(async move {
        let agreement = division::settle(store, election, candidate).await?;
        Ok(Raw::Plain(Reply::Agreement(agreement)))
    })
}

/// If two candidates write at once, one write fails. That candidate finds the cell written, or tries again.
fn announce<'a>(candidacy: &Candidacy<'a>) -> PendingCall<'a> {
    let Candidacy { store, election, .. } = *candidacy;
    Box::pin(async move {
        let Versioned { bytes, version } = store.read(election, Cell::Control).await?;
        let control = Control::read(bytes.as_deref())?;
        if !control.is_ranked() {
            let ranked = control.ranked().to_bytes();
            store.write(election, Cell::Control, &ranked, If::Version(version)).await?;
        }
        Ok(Raw::Plain(Reply::Announced))
    })
}

fn compare<'a>(candidacy: &Candidacy<'a>) -> PendingCall<'a> {
    let candidacy = *candidacy;
    Box::pin(async move {
        let survey = candidacy.survey().await?;
        let last = last_led(candidacy.store, candidacy.election).await?;
        Ok(Raw::Plain(Reply::Field(Box::new(Field { survey, last }))))
    })
}

fn refresh<'a>(seat: SharedSeat, now: Boottime) -> PendingCall<'a> {
    Box::pin(async move { seat.lock().await.refresh(now).await.map(Raw::Refreshed) })
}

fn read(seat: SharedSeat, now: Boottime, cell: Cell<'_>) -> PendingCall<'_> {
    Box::pin(async move { seat.lock().await.read(now, cell).await.map(Raw::Cell) })
}

fn write(
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

fn attempt<'a>(
    candidacy: &Candidacy<'a>,
    seat: SharedSeat,
    now: Boottime,
    run: Run,
) -> Option<PendingCall<'a>> {
    let Candidacy { election, once: Some(Once { key, attempts: Some(most) }), .. } = *candidacy
    else {
        return None;
    };
    Some(Box::pin(async move {
        let mut seat = seat.lock().await;
        let attempted = run::count(&mut **seat, now, (election, key, most), run).await?;
        Ok(Raw::Plain(Reply::Attempted(attempted)))
    }))
}

fn resign(
    seat: SharedSeat,
    now: Boottime,
    history: Option<Vec<u8>>,
    said: Option<(&str, Said)>,
) -> PendingCall<'_> {
    Box::pin(async move {
        let mut seat = seat.lock().await;
        if let Some((key, said)) = said {
            run::say(&mut **seat, now, key, said).await;
        }
        let last = history.as_deref().map(|history| (Cell::History, history));
        seat.resign(last).await?;
        Ok(Raw::Plain(Reply::Resigned))
    })
}
