//! Leaving slots and the door, beside the calls of the seat.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{self, Arc, MutexGuard, PoisonError};
use std::task::Poll;

use elect_api::{Cell, Error, Ticket, Wake};
use futures_util::future::join_all;
use tokio::sync::Mutex;

use super::place::Standpoint;

type Places = Arc<Mutex<Vec<Standpoint>>>;

#[derive(Default)]
pub(super) struct Leaving {
    places: Places,
    /// Of those places, and of some that are given up by now.
    tickets: Vec<(Option<u16>, Ticket)>,
    aside: Aside,
}

impl Leaving {
    /// Begins to give up these as well, and all that is left of those of before. It goes on beside a wake of the seat,
    /// and beside its next calls.
    pub(super) fn begin(&mut self, others: impl IntoIterator<Item = Standpoint>) {
        self.add(others);
        if self.has_any() {
            let places = Arc::clone(&self.places);
            self.aside.begin(async move {
                // What is left is tried again with the next refresh.
                let _ = leave(&places, None).await;
            });
        }
    }

    /// These are to be given up as well. Nothing goes on any more.
    pub(super) fn add(&mut self, others: impl IntoIterator<Item = Standpoint>) {
        self.aside.end();
        // Whoever else has it went on aside.
        let Ok(mut places) = self.places.try_lock() else { return };
        places.retain(|place| place.is_in);
        places.extend(others);
        self.tickets = places.iter().filter_map(Standpoint::ticket).collect();
    }

    fn has_any(&self) -> bool {
        self.places.try_lock().is_ok_and(|places| places.iter().any(|place| place.is_in))
    }

    /// Gives up all of them.
    ///
    /// # Cancellation
    /// What is left is given up by the next call.
    pub(super) async fn finish(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        self.aside.end();
        leave(&self.places, last).await?;
        self.tickets.clear();
        Ok(())
    }

    /// Keeps it going on whenever it is polled. It ends never.
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

/// Gives up the slots, at once, and then the door, whatever came of those.
async fn leave(places: &Places, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
    let mut places = places.lock().await;
    let (doors, slots): (Vec<_>, Vec<_>) =
        places.iter_mut().filter(|place| place.is_in).partition(|place| place.part.is_none());
    let mut outcome = Ok(());
    for some in [slots, doors] {
        let resigning = some.into_iter().map(|place| place.resign(last));
        for resigned in join_all(resigning).await {
            outcome = outcome.and(resigned);
        }
    }
    outcome
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Something that goes on whenever a wake of it is polled, and lasts when that is dropped.
#[derive(Clone, Default)]
pub(super) struct Aside(Arc<sync::Mutex<Option<Task>>>);

impl Aside {
    fn task(&self) -> MutexGuard<'_, Option<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with this, in place of what went on.
    pub(super) fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        *self.task() = Some(Box::pin(task));
    }

    /// Drops what goes on.
    pub(super) fn end(&self) {
        *self.task() = None;
    }

    /// Whether it has not come to its end.
    pub(super) fn goes_on(&self) -> bool {
        self.task().is_some()
    }

    /// Ends when it has come to its end; never, if it has before.
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
