//! The interfaces of the engine to its surroundings: the candidacy, the clock, the command tree, and the observer that
//! informs people.

use std::io;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Error, Holds, Store, Survey, Ticket, Token};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::election::CallEnd;
use crate::election::machine::{Event, News, StoppedBy};
use crate::guard::{Deadlines, Order};

/// One candidacy: the candidate, the election and the store.
#[derive(Clone, Copy)]
pub struct Candidacy<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// The election.
    pub election: &'a ElectionName,
    /// The candidate.
    pub candidate: &'a Candidate,
    /// The `--once` key of the candidacy, if the machine's rules have one.
    pub once: Option<Once<'a>>,
    /// Limits the number of surveys at a time, where this process has many candidacies. Each survey may be large.
    pub surveys: Option<&'a Semaphore>,
}

/// A `--once` key and the limit of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once<'a> {
    /// The key.
    pub key: &'a str,
    /// The greatest number of its runs among all candidates. `None` for no limit.
    pub attempts: Option<u32>,
}

impl Candidacy<'_> {
    /// Surveys the election, once the limit of surveys at a time allows it.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn survey(self) -> Result<Survey, Error> {
        in_turn(self.surveys, self.store.survey(self.election)).await
    }
}

/// Starts the work when a turn is free, and ends the turn with the work.
async fn in_turn<T>(turns: Option<&Semaphore>, work: impl Future<Output = T>) -> T {
    let _turn = match turns {
        Some(turns) => turns.acquire().await.ok(),
        None => None,
    };
    work.await
}

/// The clock of the engine.
#[async_trait]
pub trait Clock: Send {
    /// The present instant.
    fn now(&self) -> Boottime;

    /// Returns how fast the clock runs, as a share of its own free rate. 1 where that cannot be known.
    fn rate(&self) -> f64 {
        1.0
    }

    /// Waits until `at`. Never ends for `None`.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn until(&self, at: Option<Boottime>);
}

/// The command and its guardian, as the engine sees them. No method has a default, so that a wrapper has to pass on all
/// of them.
#[async_trait]
pub trait Tree: Send {
    /// Starts the command, or starts it again once the tree is empty. The guardian gets `holds`. Of those, the command
    /// inherits the marks only.
    ///
    /// # Errors
    /// If the start cannot even be tried.
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()>;

    /// Passes an order to the command and to all that runs beside it. `stopped_by` says who stops the command, if the
    /// order does.
    fn obey(&mut self, order: Order, stopped_by: Option<StoppedBy>);

    /// Keeps the ticket that removes the entry if this process crashes, in place of any earlier one. `None` discards
    /// it.
    fn keep(&mut self, ticket: Option<&Ticket>);

    /// Tells the tree that it is empty and the candidate is resigning.
    fn resigns(&mut self);

    /// Kills everything when the guardian is dead. [`Event::Empty`] follows.
    fn sweep(&mut self);

    /// Handles a signal to elect that is for the tree: CHLD is about a child, TSTP and CONT are about a job of the
    /// terminal. Returns the signal if the engine has to handle it.
    fn signaled(&mut self, signal: i32) -> Option<i32>;

    /// Returns the next event of the command.
    ///
    /// # Cancellation
    /// Nothing is lost.
    async fn next_event(&mut self) -> Event;
}

/// Events from outside the candidacy: signals to elect, and requests of the code that runs the candidacy.
pub type Inbox = UnboundedReceiver<Event>;

/// Returns an inbox that never gets an event.
pub fn no_inbox() -> Inbox {
    unbounded_channel().1
}

/// The observer, which informs people and knows what the engine does not. An observer that wraps another one must pass
/// on all calls.
pub trait Observer: Send {
    /// Reports something that people may want to know.
    fn news(&mut self, news: News);

    /// Reports an event before it is handled.
    fn happened(&mut self, _event: &Event) {}

    /// Reports the deadlines that apply from now on.
    fn renewed(&mut self, _deadlines: Deadlines) {}

    /// Reports that a call to the store is over.
    fn called(&mut self, _called: &CallEnd) {}

    /// Reports a turn of the loop. The next one comes by `_next` at the latest.
    fn turns(&mut self, _next: Option<Boottime>) {}

    /// Returns whether the observer wants a survey at each change of the candidate's place, and of the requests to the
    /// election. The first survey is made in any case.
    fn wants_surveys(&self) -> bool {
        false
    }

    /// Reports a survey that was made while the candidate waits, and the reason for a pause, if there is one. May
    /// return an event.
    fn survey(&mut self, _survey: &Survey, _pause: Option<&str>) -> Option<Event> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn no_more_work_goes_on_at_once_than_has_a_turn() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || async {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            yield_now().await;
            now.fetch_sub(1, Ordering::Relaxed);
        };
        let turns = Semaphore::new(2);
        join_all((0..8).map(|_| in_turn(Some(&turns), work()))).await;
        assert_eq!(most.swap(0, Ordering::Relaxed), 2);
        join_all((0..8).map(|_| in_turn(None, work()))).await;
        assert_eq!(most.into_inner(), 8, "no other call waits");
        // A future that gives up its turn, or its wait for one, blocks no other.
        let held = in_turn(Some(&turns), std::future::pending::<()>());
        tokio::select! {
            biased;
            () = held => {}
            () = yield_now() => {}
        }
        assert_eq!(turns.available_permits(), 2);
    }
}
