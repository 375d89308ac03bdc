//! A seat at the door or in one slot, its ticket, and the background task that gives seats up.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{self, Arc, MutexGuard, PoisonError};
use std::task::Poll;

use elect_api::{
    Boottime, Cell, Division, ElectionName, Error, ErrorKind, Refreshed, Removal, Seat, Standing,
    Store, Ticket, Versioned, Wake, awake, stamp,
};
use futures_util::future::join_all;
use tokio::sync::Mutex;

use crate::election::control::Control;

/// A seat at the door or in one slot.
pub(super) struct PartSeat {
    /// The number of the slot; `None` at the door.
    pub(super) part: Option<u16>,
    pub(super) seat: Box<dyn Seat>,
    /// The control cell there, as in the last answer.
    pub(super) control: Versioned,
    /// Whether there may be an entry.
    pub(super) is_in: bool,
    /// Whether it was seen to lead, and was not given up since.
    pub(super) leads: bool,
}

impl PartSeat {
    pub(super) fn new(part: Option<u16>, seat: Box<dyn Seat>) -> Self {
        Self { part, seat, control: Versioned::default(), is_in: false, leads: false }
    }

    /// Refreshes the seat, and notes whether it leads.
    pub(super) async fn refresh(&mut self, now: Boottime) -> Result<Standing, Error> {
        self.is_in = true;
        let Refreshed { standing, control } = self.seat.refresh(now).await?;
        self.control = control;
        self.leads = matches!(standing, Standing::Leading { .. });
        Ok(standing)
    }

    /// Refreshes a seat that is only to win. An entry that was won, and lost before it was used, is given up.
    pub(super) async fn compete(&mut self, now: Boottime) -> Result<Standing, Error> {
        let standing = self.refresh(now).await?;
        if !self.asked().is_divided(Division::Whole) {
            self.resign(None).await?;
            let what = "a slot of the election is divided itself: end the candidates that use its own name";
            return Err(Error::new(ErrorKind::Unfit, what));
        }
        match standing {
            // The slot was kept through a pause, and is asked to be given up. No other code would see that request.
            Standing::Leading { token, .. } if !self.counts() && self.asked().ends(token) => {
                self.resign(None).await?;
                Ok(Standing::Waiting { ahead: 1, alive: true, wake: awake() })
            }
            Standing::Evicted(_) | Standing::Gone(_) => {
                self.resign(None).await?;
                Ok(Standing::Waiting { ahead: 1, alive: true, wake: awake() })
            }
            standing => Ok(standing),
        }
    }

    /// Returns whether it leads, and may be used. A slot that is paused itself is kept, so that no candidate that
    /// ignores the control cell leads in it. The head waits for it as for a taken slot.
    pub(super) fn counts(&self) -> bool {
        self.leads && self.asked().pausing().is_none()
    }

    /// The requests to the slot. An unreadable cell asks nothing, and the leader reports it.
    fn asked(&self) -> Control {
        let asked = Control::read(self.control.bytes.as_deref()).unwrap_or_default();
        asked.as_of(stamp::display())
    }

    /// Gives the entry up, if there may be one, with these last words if it leads.
    pub(super) async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        if !self.is_in {
            return Ok(());
        }
        self.seat.resign(last.filter(|_| self.leads)).await?;
        (self.is_in, self.leads) = (false, false);
        Ok(())
    }

    pub(super) fn ticket(&self) -> Option<(Option<u16>, Ticket)> {
        Some((self.part, self.seat.ticket()?))
    }
}

/// The prefix of a joint ticket. No store's own ticket has it.
const PREFIX: &str = "slots:";
/// The separator between two tickets. No ticket contains it.
const BETWEEN: char = ',';

/// Joins the tickets of all seats of a candidate into one.
///
/// `None` is the door, and a number is a slot. Tickets that do not fit are left out, so those should come last. Such an
/// entry ends by itself.
pub(super) fn join_tickets(tickets: impl Iterator<Item = (Option<u16>, Ticket)>) -> Option<Ticket> {
    let mut text = PREFIX.to_owned();
    for (part, ticket) in tickets {
        let part = part.map(|part| part.to_string()).unwrap_or_default();
        let between = if text.len() > PREFIX.len() { BETWEEN.to_string() } else { String::new() };
        let one = format!("{between}{part}={ticket}");
        if text.len() + one.len() > Ticket::MAX_LEN || ticket.as_str().contains(BETWEEN) {
            continue;
        }
        text.push_str(&one);
    }
    text.parse().ok().filter(|_| text.len() > PREFIX.len())
}

/// Splits a joint ticket into its parts, each with its election. A store's own ticket is one part.
fn split(whole: &ElectionName, ticket: &Ticket) -> Option<Vec<(ElectionName, Ticket)>> {
    let Some(tickets) = ticket.as_str().strip_prefix(PREFIX) else {
        return Some(vec![(whole.clone(), ticket.clone())]);
    };
    let one = |text: &str| {
        let (part, ticket) = text.split_once('=')?;
        let election = match part {
            "" => whole.clone(),
            number => Division::part(whole, number.parse().ok()?).ok()?,
        };
        Some((election, ticket.parse().ok()?))
    };
    tickets.split(BETWEEN).map(one).collect()
}

/// Removes all entries that a ticket stands for. The ticket may be a joint one of a candidate for slots, or a plain one
/// of a store.
///
/// # Errors
/// Those of [`Store::remove`], and `Unfit` if it is no ticket. Some of the entries may be removed by then.
///
/// # Cancellation
/// The same as for [`Store::remove`].
pub async fn redeem(
    store: &dyn Store,
    election: &ElectionName,
    ticket: &Ticket,
) -> Result<(), Error> {
    let tickets = split(election, ticket).ok_or_else(|| {
        Error::new(ErrorKind::Unfit, format!("{ticket} is no ticket of an election of slots"))
    })?;
    let redeeming =
        tickets.iter().map(|(election, ticket)| store.remove(election, Removal::Crashed(ticket)));
    // All of them are tried, even if one fails.
    join_all(redeeming).await.into_iter().collect()
}

type PartSeats = Arc<Mutex<Vec<PartSeat>>>;

/// Gives up slots and the door, beside the calls of the seat.
#[derive(Default)]
pub(super) struct Leaving {
    seats: PartSeats,
    /// The tickets of those seats, and of some that are given up by now.
    tickets: Vec<(Option<u16>, Ticket)>,
    aside: Aside,
}

impl Leaving {
    /// Begins to give up these seats as well as the rest of the earlier ones. This runs beside a wake of the seat and
    /// beside its next calls.
    pub(super) fn begin(&mut self, others: impl IntoIterator<Item = PartSeat>) {
        self.add(others);
        if self.has_any() {
            let seats = Arc::clone(&self.seats);
            self.aside.begin(async move {
                // The next refresh tries again what is left.
                let _ = leave(&seats, None).await;
            });
        }
    }

    /// Adds seats that have to be given up. Stops the task in the background.
    pub(super) fn add(&mut self, others: impl IntoIterator<Item = PartSeat>) {
        self.aside.end();
        // Only the task in the background, which is gone, could hold the lock.
        let Ok(mut seats) = self.seats.try_lock() else { return };
        seats.retain(|seat| seat.is_in);
        seats.extend(others);
        self.tickets = seats.iter().filter_map(PartSeat::ticket).collect();
    }

    fn has_any(&self) -> bool {
        self.seats.try_lock().is_ok_and(|seats| seats.iter().any(|seat| seat.is_in))
    }

    /// Gives up all seats.
    ///
    /// # Cancellation
    /// The next call gives up what is left.
    pub(super) async fn finish(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        self.aside.end();
        leave(&self.seats, last).await?;
        self.tickets.clear();
        Ok(())
    }

    /// Returns a wake that runs the task whenever it is polled. It never ends.
    pub(super) fn wake(&self) -> Wake {
        let aside = self.aside.wake();
        Box::pin(async move {
            aside.await;
            std::future::pending::<()>().await;
        })
    }

    pub(super) fn tickets(&self) -> impl Iterator<Item = (Option<u16>, Ticket)> {
        self.tickets.iter().cloned()
    }
}

/// Gives up all slots together, and then the door, even if a slot failed.
async fn leave(seats: &PartSeats, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
    let mut seats = seats.lock().await;
    let (doors, slots): (Vec<_>, Vec<_>) =
        seats.iter_mut().filter(|seat| seat.is_in).partition(|seat| seat.part.is_none());
    let mut outcome = Ok(());
    for some in [slots, doors] {
        let resigning = some.into_iter().map(|seat| seat.resign(last));
        for resigned in join_all(resigning).await {
            outcome = outcome.and(resigned);
        }
    }
    outcome
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task that runs whenever one of its wakes is polled, and stays when a wake is dropped.
#[derive(Clone, Default)]
pub(super) struct Aside(Arc<sync::Mutex<Option<Task>>>);

impl Aside {
    fn task(&self) -> MutexGuard<'_, Option<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a task in place of the old one.
    pub(super) fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        *self.task() = Some(Box::pin(task));
    }

    /// Drops the task.
    pub(super) fn end(&self) {
        *self.task() = None;
    }

    /// Returns whether there is a task that has not ended.
    pub(super) fn goes_on(&self) -> bool {
        self.task().is_some()
    }

    /// Returns a wake that ends when the task ends. It never ends if there is no task.
    pub(super) fn wake(&self) -> Wake {
        let aside = self.clone();
        Box::pin(poll_fn(move |context| {
            let mut task = aside.task();
            let is_over = task.as_mut().is_some_and(|task| task.as_mut().poll(context).is_ready());
            if !is_over {
                return Poll::Pending;
            }
            *task = None;
            Poll::Ready(())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(text: &str) -> Ticket {
        text.parse().expect("a ticket")
    }

    #[test]
    fn many_tickets_go_through_one() {
        let whole: ElectionName = "jobs".parse().expect("a name");
        let all = [(None, ticket("a=b")), (Some(0), ticket("x")), (Some(63), ticket("y-1"))];
        let joined = join_tickets(all.into_iter()).expect("one ticket");
        assert_eq!(joined.as_str(), "slots:=a=b,0=x,63=y-1");
        let split_up = split(&whole, &joined).expect("three");
        let names: Vec<_> = split_up.iter().map(|(name, one)| format!("{name} {one}")).collect();
        assert_eq!(names, ["jobs a=b", "jobs:0 x", "jobs:63 y-1"]);
        assert_eq!(split(&whole, &ticket("abc")), Some(vec![(whole.clone(), ticket("abc"))]));
        for bad in ["slots:", "slots:x", "slots:x=y", "slots:70000=y", "slots:1="] {
            assert_eq!(split(&whole, &ticket(bad)), None, "{bad}");
        }
        assert_eq!(join_tickets(std::iter::empty()), None);
    }

    #[test]
    fn there_is_room_for_the_tickets_of_every_slot() {
        let long = ticket(&"x".repeat(55));
        let all = [None].into_iter().chain((0..Division::MOST_SLOTS).map(Some));
        let joined = join_tickets(all.map(|part| (part, long.clone()))).expect("one ticket");
        assert_eq!(joined.as_str().split(BETWEEN).count(), 65);
    }
}
