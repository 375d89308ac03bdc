use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};

use super::{Clock, Tree};
use crate::election::machine::{Event, StoppedBy};
use crate::guard::{Deadlines, Ended, Order};

/// What whoever leads does where no process is there to be killed for it.
#[async_trait]
pub trait Duty: Send {
    /// Leadership with this token begins.
    fn begins(&mut self, token: Token);

    /// These are the deadlines from now on.
    fn renewed(&mut self, deadlines: Deadlines);

    /// It is taken to be over at `at`, or earlier if that was said before; whether people asked for that.
    fn ends(&mut self, at: Boottime, is_asked: bool);

    /// Keeps a ticket, as [`Tree::keep`] has it.
    fn keep(&mut self, ticket: Option<&Ticket>);

    /// What else comes of it; never anything, perhaps. Whoever withdraws has ended already.
    ///
    /// # Cancellation
    /// Nothing is lost.
    async fn next_event(&mut self) -> Event;
}

/// In the place of a command tree: a duty, which is over by itself at the instant that it is told.
pub struct OnDuty<'a, D> {
    /// The duty.
    pub duty: D,
    clock: &'a (dyn Clock + Sync),
    /// How long it may take to end once people ask for that; `None` if it ends at once, whatever the reason.
    grace: Option<Duration>,
    leads: bool,
    /// When it is taken to be over.
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
