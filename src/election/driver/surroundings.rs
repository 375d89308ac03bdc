//! What the engine needs to be there around it: time, a command to run, and somebody who tells people.

use std::io;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Survey, Ticket, Token};

use crate::election::Called;
use crate::election::machine::{Event, News};
use crate::guard::Deadlines;

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

/// The command and what guards it, as the engine sees it.
#[async_trait]
pub trait Tree: Send {
    /// Has the command started, or started again once the tree is empty; it inherits `holds`.
    ///
    /// # Errors
    /// When it cannot even be tried.
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()>;

    /// Keeps a ticket, to give our entry up if we crash; in place of any before.
    fn keep(&mut self, ticket: &Ticket);

    /// Keeps no ticket until the next one.
    fn withhold(&mut self) {}

    /// The tree is empty, and leadership, if it was ours, is being given up.
    fn resigns(&mut self) {}

    /// Keeps these deadlines; the first ones come before the start.
    fn renewed(&mut self, deadlines: Deadlines);

    /// Asks the command to stop, and kills everything at `kill_at`.
    fn stop(&mut self, kill_at: Boottime);

    /// Signals the command, followed by CONT for `resume`, and by the kill of everything at `kill_at`.
    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>);

    /// Kills everything now.
    fn kill(&mut self);

    /// Kills everything when the guardian is dead: [`Event::Empty`] comes of it.
    fn sweep(&mut self);

    /// What happens to the command, and which signals come to elect.
    ///
    /// # Cancellation
    /// Nothing is lost.
    async fn next_event(&mut self) -> Event;
}

/// Whoever tells people, and knows what the engine does not.
pub trait Observer: Send {
    /// Something that people may want to know.
    fn news(&mut self, news: News);

    /// What happened, before anything is done about it.
    fn happened(&mut self, event: &Event) {
        let _ = event;
    }

    /// These are the deadlines from now on.
    fn renewed(&mut self, deadlines: Deadlines) {
        let _ = deadlines;
    }

    /// A call to the store is over.
    fn called(&mut self, called: &Called) {
        let _ = called;
    }

    /// The loop turns, and does so again by `next`, whatever happens before.
    fn turns(&mut self, next: Option<Boottime>);

    /// Whether a survey is wanted at each change of our place, and of what people ask of the election. There is
    /// one at the first in any case.
    fn wants_surveys(&self) -> bool;

    /// How the election looks while we wait, and why nobody is to lead, if so. An event may come of it.
    fn survey(&mut self, survey: &Survey, pause: Option<&str>) -> Option<Event>;
}
