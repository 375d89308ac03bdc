//! In the place of a command tree: what the application is told of its leadership, and what makes that
//! end.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::yield_now;

use super::health::Fitness;
use crate::command::candidacy::Poster;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{self, Alarm, Ended, Incoming, Order, Whom};
use crate::report::http::{HttpState, Reason};

/// Like a command that takes the whole of its grace to end once it is asked to.
pub(super) struct Standing<'a> {
    poster: Poster,
    board: Option<&'a HttpState>,
    grace: Duration,
    alarm: Alarm,
    /// When the application is taken to have noticed the end.
    ends: Option<Boottime>,
    pending: VecDeque<Event>,
}

impl<'a> Standing<'a> {
    pub(super) fn new(
        poster: Poster,
        board: Option<&'a HttpState>,
        grace: Duration,
    ) -> anyhow::Result<Self> {
        let alarm = Alarm::new().context("cannot make a timer")?;
        let pending = VecDeque::new();
        Ok(Self { poster, board, grace, alarm, ends: None, pending })
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

    fn signaled(&mut self, signal: i32) -> Option<i32> {
        Some(signal)
    }

    async fn next_event(&mut self) -> Event {
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        self.alarm.until(self.ends).await;
        self.ends = None;
        self.pending = [Event::Empty].into();
        Event::Ended(Ended::Exited(0))
    }
}

/// Passes on the signals that want us to end, and what is known of the application.
pub(super) async fn forward(
    incoming: &Incoming,
    mut fitness: watch::Receiver<Fitness>,
    inbox: &UnboundedSender<Event>,
) -> Infallible {
    loop {
        let event = tokio::select! {
            signal = incoming.next() => signaled(signal),
            Ok(()) = fitness.changed() => match &*fitness.borrow_and_update() {
                Fitness::Unfit(why) => {
                    Some(Event::Withdraw(format!("the application is not well: {why}")))
                }
                Fitness::Fit | Fitness::Unknown => Some(Event::Tick),
            },
        };
        if let Some(event) = event {
            // Whoever reads it ends only with all of us.
            let _ = inbox.send(event);
        }
        // However many come, they are acted on in between.
        yield_now().await;
    }
}

/// What a signal is to the driver, if it is anything.
fn signaled(signal: i32) -> Option<Event> {
    match signal {
        // There is no daemon that would reload.
        libc::SIGHUP => Some(Event::Signal(libc::SIGTERM)),
        libc::SIGINT | libc::SIGQUIT | libc::SIGTERM => Some(Event::Signal(signal)),
        libc::SIGCHLD => {
            guard::reap();
            None
        }
        libc::SIGTSTP => {
            guard::stop(Whom::Ourselves);
            None
        }
        _ => None,
    }
}
