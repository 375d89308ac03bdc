//! The candidacy that makes us a member: nothing runs for it, and whoever leads coordinates.

use std::collections::VecDeque;
use std::io;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Survey, Ticket, Token};
use tokio::sync::watch;

use crate::command::candidacy::Observer;
use crate::command::run::tree::{Guarded, Happened};
use crate::election::driver::{self, Tree};
use crate::election::machine::{Event, News};
use crate::election::orders::Orders;
use crate::election::{Called, Reply};
use crate::guard::{Deadlines, Ended, Guardian, Order};

/// What a member knows of the roster.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// What is asked, and who is to hold which shards; `None` before the store has said so.
    pub(super) orders: Option<Orders>,
    /// The token with which we coordinate, if we do.
    pub(super) leads: Option<Token>,
}

/// In the place of a command tree: it is empty as soon as it is asked to be. Its guardian, which starts nothing, gives
/// our entry up if we crash.
pub(super) struct Roster<'a> {
    guarded: Guarded,
    known: &'a watch::Sender<Known>,
    runs: bool,
    pending: VecDeque<Event>,
}

impl<'a> Roster<'a> {
    pub(super) fn new(guardian: Guardian, known: &'a watch::Sender<Known>) -> Self {
        let (guarded, pending) = (Guarded::new(guardian), VecDeque::new());
        Self { guarded, known, runs: false, pending }
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guarded.into_guardian()
    }

    fn end(&mut self) {
        self.known.send_modify(|known| known.leads = None);
        if std::mem::take(&mut self.runs) {
            self.pending.extend([Event::Ended(Ended::Exited(0)), Event::Empty]);
        }
    }
}

#[async_trait]
impl Tree for Roster<'_> {
    fn start(&mut self, token: Token, _: &Holds<'_>) -> io::Result<()> {
        self.runs = true;
        self.pending.push_back(Event::Started);
        self.known.send_modify(|known| known.leads = Some(token));
        Ok(())
    }

    /// Whoever coordinates without leading any more gives advice, and no more.
    fn obey(&mut self, order: Order) {
        if !matches!(order, Order::Renewed(_)) {
            self.end();
        }
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.guarded.guardian().keep(ticket);
    }

    fn resigns(&mut self) {}

    fn sweep(&mut self) {
        self.end();
    }

    /// The member passes none on.
    fn signaled(&mut self, signal: i32) -> Option<i32> {
        Some(signal)
    }

    async fn next_event(&mut self) -> Event {
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        while !matches!(self.guarded.next().await, Happened::Died) {}
        Event::GuardianDied
    }
}

/// Passes on what a member needs to know, and to people what is not only the roster's.
pub(super) struct RosterObserver<'a> {
    pub(super) inner: Observer<'a>,
    pub(super) known: &'a watch::Sender<Known>,
}

impl driver::Observer for RosterObserver<'_> {
    fn news(&mut self, news: News) {
        match news {
            News::Waiting { .. }
            | News::Leading(_)
            | News::SteppingDown(_)
            | News::Leaving { .. }
            | News::Emptied => {}
            news => self.inner.news(news),
        }
    }

    /// What it hears is the roster's: no command of a member runs for that.
    fn happened(&mut self, event: &Event) {
        match event {
            Event::Ordered(orders) => {
                self.known.send_modify(|known| known.orders = Some(orders.clone()));
            }
            // Nothing was ever asked, if it did not come before.
            Event::Replied(Ok(Reply::Standing(_))) if self.known.borrow().orders.is_none() => {
                self.known.send_modify(|known| known.orders = Some(Orders::default()));
            }
            _ => {}
        }
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.inner.renewed(deadlines);
    }

    fn called(&mut self, called: &Called) {
        self.inner.called(called);
    }

    fn turns(&mut self, next: Option<Boottime>) {
        self.inner.turns(next);
    }

    fn wants_surveys(&self) -> bool {
        false
    }

    /// Whoever has the only shard may lead the members or wait among them.
    fn survey(&mut self, survey: &Survey, _: Option<&str>) -> Option<Event> {
        survey.entries().find_map(|entry| self.inner.would_wait_for_itself(entry))
    }
}
