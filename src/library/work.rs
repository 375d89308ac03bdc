use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};
use tokio::sync::{oneshot, watch};

use super::engine::Engine;
use super::leadership::Told;
use crate::election::driver::{Clock as _, Tree};
use crate::election::machine::Event;
use crate::guard::{self, Ended, Order};

/// In the place of a command tree: what a program does as the leader. It is over when the program says so, by
/// dropping its end of `released`, or at the deadline that it was told.
pub(super) struct Work {
    engine: Arc<Engine>,
    grace: Duration,
    told: Arc<watch::Sender<Told>>,
    /// For whoever waits for the win.
    won: Option<oneshot::Sender<Token>>,
    released: oneshot::Receiver<()>,
    is_released: bool,
    leads: bool,
    /// When it is taken to be over.
    ends: Option<Boottime>,
    pending: VecDeque<Event>,
}

impl Work {
    pub(super) fn new(
        engine: Arc<Engine>,
        grace: Duration,
        told: Arc<watch::Sender<Told>>,
        won: oneshot::Sender<Token>,
        released: oneshot::Receiver<()>,
    ) -> Self {
        let (won, pending) = (Some(won), VecDeque::new());
        let (is_released, leads, ends) = (false, false, None);
        Self { engine, grace, told, won, released, is_released, leads, ends, pending }
    }

    fn end_by(&mut self, at: Boottime) {
        let ends = self.ends.map_or(at, |ends| ends.min(at));
        self.ends = Some(ends);
        self.told.send_modify(|told| told.ends = Some(told.ends.map_or(ends, |at| at.min(ends))));
    }

    /// Nobody wants us to lead any more.
    fn let_go(&mut self) -> Event {
        self.is_released = true;
        if self.leads {
            self.end_by(guard::now());
        }
        Event::Withdraw("its program has resigned".to_owned())
    }
}

#[async_trait]
impl Tree for Work {
    fn start(&mut self, token: Token, _: &Holds<'_>) -> io::Result<()> {
        self.leads = true;
        self.pending.push_back(Event::Started);
        if let Some(won) = self.won.take() {
            // Whoever does not wait any more has let go of `released` as well.
            let _ = won.send(token);
        }
        Ok(())
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Renewed(deadlines) => {
                self.told.send_modify(|told| told.proven = Some(deadlines.hard));
            }
            Order::Stop { kill_at } => self.end_by(kill_at),
            Order::Signal { .. } => self.end_by(guard::now() + self.grace),
            Order::Kill => self.end_by(guard::now()),
        }
    }

    /// There is nobody to give the entry up if we crash.
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
        tokio::select! {
            biased;
            () = self.engine.until(self.ends) => {}
            _ = &mut self.released, if !self.is_released => return self.let_go(),
        }
        (self.leads, self.ends) = (false, None);
        self.pending.push_back(Event::Empty);
        Event::Ended(Ended::Exited(0))
    }
}

/// Whatever ended the candidacy: it says nothing good any more.
impl Drop for Work {
    fn drop(&mut self) {
        self.end_by(guard::now());
        self.told.send_modify(|told| {
            told.why.get_or_insert_with(|| "it is over".to_owned());
        });
    }
}
