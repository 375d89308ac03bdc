//! In the place of a command tree: what the application is told of its leadership, and what makes that
//! end.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};
use tokio::sync::watch;

use super::health::Fitness;
use crate::command::candidacy::Poster;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{self, Alarm, Ended, Incoming, Order, Whom};
use crate::report::http::{Board, Reason};

/// Like a command that takes the whole of its grace to end once it is asked to.
pub(super) struct Standing<'a> {
    incoming: &'a Incoming,
    fitness: watch::Receiver<Fitness>,
    poster: Poster,
    board: Option<&'a Board>,
    grace: Duration,
    alarm: Alarm,
    /// When the application is taken to have noticed the end.
    ends: Option<Boottime>,
    pending: VecDeque<Event>,
}

impl<'a> Standing<'a> {
    pub(super) fn new(
        incoming: &'a Incoming,
        fitness: watch::Receiver<Fitness>,
        poster: Poster,
        board: Option<&'a Board>,
        grace: Duration,
    ) -> anyhow::Result<Self> {
        let alarm = Alarm::new().context("cannot make a timer")?;
        let pending = VecDeque::new();
        Ok(Self { incoming, fitness, poster, board, grace, alarm, ends: None, pending })
    }

    pub(super) fn is_fit(&mut self) -> bool {
        matches!(&*self.fitness.borrow_and_update(), Fitness::Fit)
    }

    /// A signal that wants us to end, or a change of the application's fitness.
    ///
    /// # Cancellation
    /// Nothing is lost.
    pub(super) async fn news(&mut self) -> Event {
        news(self.incoming, &mut self.fitness).await
    }

    /// From here on we say that we do not lead.
    fn end_by(&mut self, at: Boottime) {
        self.poster.end();
        self.ends = Some(self.ends.map_or(at, |ends| ends.min(at)));
    }
}

#[async_trait]
impl Tree for Standing<'_> {
    fn start(&mut self, token: Token, _: &Holds<'_>) -> io::Result<()> {
        self.ends = None;
        self.pending = [Event::Started].into();
        self.poster.begin(token);
        Ok(())
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Renewed(_) => self.poster.ordered(order),
            Order::Stop { kill_at } => self.end_by(kill_at),
            Order::Signal { .. } => {
                if let Some(board) = self.board {
                    board.over(Reason::SteppedDown, None);
                }
                self.end_by(guard::now() + self.grace);
            }
            Order::Kill => self.end_by(guard::now()),
        }
    }

    /// There is nobody to give the entry up if we crash: the application may count on it as long as it
    /// was told.
    fn keep(&mut self, _: Option<&Ticket>) {}

    fn resigns(&mut self) {}

    fn sweep(&mut self) {}

    async fn next_event(&mut self) -> Event {
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        tokio::select! {
            biased;
            () = self.alarm.until(self.ends) => {}
            event = news(self.incoming, &mut self.fitness) => return event,
        }
        self.ends = None;
        self.pending = [Event::Empty].into();
        Event::Ended(Ended::Exited(0))
    }
}

async fn news(incoming: &Incoming, fitness: &mut watch::Receiver<Fitness>) -> Event {
    loop {
        tokio::select! {
            signal = incoming.next() => match signal {
                Ok(libc::SIGCHLD) => guard::reap(),
                Ok(libc::SIGTSTP) => _ = guard::stop(Whom::Ourselves),
                // There is no daemon that would reload.
                Ok(libc::SIGHUP) => return Event::Signal(libc::SIGTERM),
                Ok(signal @ (libc::SIGINT | libc::SIGQUIT | libc::SIGTERM)) => {
                    return Event::Signal(signal);
                }
                Ok(_) => {}
                // The descriptor cannot fail.
                Err(_) => std::future::pending().await,
            },
            changed = fitness.changed() => {
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
                return match &*fitness.borrow_and_update() {
                    Fitness::Unfit(why) => {
                        Event::Withdraw(format!("the application is not well: {why}"))
                    }
                    Fitness::Fit | Fitness::Unknown => Event::Tick,
                };
            }
        }
    }
}
