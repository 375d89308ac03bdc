//! What the engine needs to be there around it: who runs for what, time, a command to run, and somebody who tells people.

use std::io;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Error, Holds, Store, Survey, Ticket, Token};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::election::CallEnd;
use crate::election::machine::{Event, News, StoppedBy};
use crate::guard::{Deadlines, Order};

/// One candidacy: who runs for what, where.
#[derive(Clone, Copy)]
pub struct Candidacy<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// The election.
    pub election: &'a ElectionName,
    /// Who runs.
    pub candidate: &'a Candidate,
    /// What is to be done once. As long as the machine's rules have it.
    pub once: Option<Once<'a>>,
    /// How many surveys are under way at once, where this process has many candidacies: each may be large.
    pub surveys: Option<&'a Semaphore>,
}

/// What is to be done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once<'a> {
    /// The key that it is known by.
    pub key: &'a str,
    /// How many runs of it there may be among all candidates; any number if `None`.
    pub attempts: Option<u32>,
}

impl Candidacy<'_> {
    /// Who takes part, once it is our turn to ask.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn survey(self) -> Result<Survey, Error> {
        in_turn(self.surveys, self.store.survey(self.election)).await
    }
}

/// Begins the work once it is its turn, which ends with it.
async fn in_turn<T>(turns: Option<&Semaphore>, work: impl Future<Output = T>) -> T {
    let _turn = match turns {
        Some(turns) => turns.acquire().await.ok(),
        None => None,
    };
    work.await
}

/// Time, as the engine sees it.
#[async_trait]
pub trait Clock: Send {
    /// The present instant.
    fn now(&self) -> Boottime;

    /// How fast it runs, as a share of what it would by itself. 1 where that is not to be known.
    fn rate(&self) -> f64 {
        1.0
    }

    /// Ends at `at`, or never.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn until(&self, at: Option<Boottime>);
}

/// The command and what guards it, as the engine sees it. Nothing has a default, so that whoever wraps
/// one passes on all of it.
#[async_trait]
pub trait Tree: Send {
    /// Has the command started, or started again once the tree is empty. The guardian gets `holds`; the command inherits the marks
    /// among them only.
    ///
    /// # Errors
    /// When it cannot even be tried.
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()>;

    /// Does what is asked of the command, and of all that runs beside it; who stops the command, where this does.
    fn obey(&mut self, order: Order, stopped_by: Option<StoppedBy>);

    /// Keeps a ticket, to give our entry up if we crash, in place of any before; with `None` nobody has one.
    fn keep(&mut self, ticket: Option<&Ticket>);

    /// The tree is empty, and leadership, if it was ours, is being given up.
    fn resigns(&mut self);

    /// Kills everything when the guardian is dead: [`Event::Empty`] comes of it.
    fn sweep(&mut self);

    /// Does what this signal to elect wants of the tree itself: CHLD is about a child, TSTP and CONT are about a job of the
    /// terminal. Returns what is left for the engine.
    fn signaled(&mut self, signal: i32) -> Option<i32>;

    /// What happens to the command.
    ///
    /// # Cancellation
    /// Nothing is lost.
    async fn next_event(&mut self) -> Event;
}

/// What comes from outside of a candidacy: signals to elect, and what whoever drives it wants.
pub type Inbox = UnboundedReceiver<Event>;

/// The inbox of a candidacy that nobody writes to.
pub fn no_inbox() -> Inbox {
    unbounded_channel().1
}

/// Whoever tells people, and knows what the engine does not. It has no defaults either.
pub trait Observer: Send {
    /// Something that people may want to know.
    fn news(&mut self, news: News);

    /// What happened, before anything is done about it.
    fn happened(&mut self, event: &Event);

    /// These are the deadlines from now on.
    fn renewed(&mut self, deadlines: Deadlines);

    /// A call to the store is over.
    fn called(&mut self, called: &CallEnd);

    /// The loop turns, and does so again by `next`, whatever happens before.
    fn turns(&mut self, next: Option<Boottime>);

    /// Whether a survey is wanted at each change of our place, and of what people ask of the election. There is
    /// one at the first in any case.
    fn wants_surveys(&self) -> bool;

    /// How the election looks while we wait, and why nobody is to lead, if so. An event may come of it.
    fn survey(&mut self, survey: &Survey, pause: Option<&str>) -> Option<Event>;
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
        assert_eq!(most.into_inner(), 8, "nobody else has to wait");
        // Whoever gives up its turn, or its wait for one, keeps nobody else from it.
        let held = in_turn(Some(&turns), std::future::pending::<()>());
        tokio::select! {
            biased;
            () = held => {}
            () = yield_now() => {}
        }
        assert_eq!(turns.available_permits(), 2);
    }
}
