use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};

use super::{Clock, Tree};
use crate::election::machine::{Event, StoppedBy};
use crate::guard::{Deadlines, Ended, Order};

/// The work of a leader that runs no command, such as a sidecar or a campaign of the library.
#[async_trait]
pub trait Duty: Send {
    /// Tells the duty that leadership with this token begins.
    fn begins(&mut self, token: Token);

    /// Tells the duty the deadlines that apply from now on.
    fn renewed(&mut self, deadlines: Deadlines);

    /// Tells the duty that it counts as over at `at`, or at an earlier time given before. `is_asked` is whether people
    /// asked for the end.
    fn ends(&mut self, at: Boottime, is_asked: bool);

    /// Keeps a ticket, as [`Tree::keep`] does.
    fn keep(&mut self, ticket: Option<&Ticket>);

    /// Returns the next event of the duty. There may never be one. A duty that returns [`Event::Withdraw`] has ended
    /// already.
    ///
    /// # Cancellation
    /// Nothing is lost.
    async fn next_event(&mut self) -> Event;
}

/// A duty in the place of a command tree. It counts as over at the instant that it is told.
pub struct OnDuty<'a, D> {
    /// The duty.
    pub duty: D,
    clock: &'a (dyn Clock + Sync),
    /// The time that the duty has to end once people ask for that. `None` if it ends at once, whatever the reason.
    grace: Option<Duration>,
    leads: bool,
    /// The instant at which the duty counts as over.
    ends: Option<Boottime>,
    pending: VecDeque<Event>,
}

impl<'a, D: Duty> OnDuty<'a, D> {
    /// A duty that has not begun.
    pub const fn new(duty: D, clock: &'a (dyn Clock + Sync), grace: Option<Duration>) -> Self {
        Self { duty, clock, grace, leads: false, ends: None, pending: VecDeque::new() }
    }

    fn end_by(&mut self, at: Boottime, is_asked: bool) {
        self.duty.ends(at, is_asked);
        if self.leads {
            self.ends = Some(self.ends.map_or(at, |ends| ends.min(at)));
        }
    }
}

#[async_trait]
impl<D: Duty> Tree for OnDuty<'_, D> {
    fn start(&mut self, token: Token, _: &Holds<'_>) -> io::Result<()> {
        (self.leads, self.ends) = (true, None);
        self.pending = [Event::Started].into();
        self.duty.begins(token);
        Ok(())
    }

    fn obey(&mut self, order: Order, _: Option<StoppedBy>) {
        let now = self.clock.now();
        match (order, self.grace) {
            (Order::Renewed(deadlines), _) => self.duty.renewed(deadlines),
            (Order::Stop { kill_at }, Some(_)) => self.end_by(kill_at, false),
            (Order::Ask { .. } | Order::Signal { .. }, grace) if self.leads => {
                self.end_by(now + grace.unwrap_or_default(), true);
            }
            (Order::Ask { .. } | Order::Signal { .. }, _) => {}
            (Order::Stop { .. }, None) | (Order::Kill, _) => self.end_by(now, false),
        }
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.duty.keep(ticket);
    }

    fn resigns(&mut self) {}

    fn sweep(&mut self) {
        self.end_by(self.clock.now(), false);
    }

    fn signaled(&mut self, signal: i32) -> Option<i32> {
        Some(signal)
    }

    async fn next_event(&mut self) -> Event {
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        tokio::select! {
            biased;
            () = self.clock.until(self.ends) => {}
            event = self.duty.next_event() => {
                if matches!(event, Event::Withdraw(_)) {
                    self.end_by(self.clock.now(), false);
                }
                return event;
            }
        }
        (self.leads, self.ends) = (false, None);
        self.pending.push_back(Event::Empty);
        Event::Ended(Ended::Exited(0))
    }
}
