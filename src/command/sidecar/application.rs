//! The application of a sidecar in place of a command tree: what it is told of its leadership, and which events end
//! that.

use std::convert::Infallible;

use async_trait::async_trait;
use elect_api::{Boottime, Ticket, Token};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::yield_now;

use super::health::Fitness;
use crate::command::candidacy::LeaseFileWriter;
use crate::election::driver::Duty;
use crate::election::machine::Event;
use crate::guard::{self, Deadlines, Incoming, Order};
use crate::report::http::{HttpState, Reason};

/// The application. It counts as stopped when the whole of its grace is over. From the moment at which it must stop,
/// elect says that it does not lead.
pub(super) struct Application<'a> {
    pub(super) lease_file: LeaseFileWriter,
    pub(super) board: Option<&'a HttpState>,
}

#[async_trait]
impl Duty for Application<'_> {
    fn begins(&mut self, token: Token) {
        self.lease_file.begin(token);
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.lease_file.ordered(Order::Renewed(deadlines));
    }

    fn ends(&mut self, _: Boottime, is_asked: bool) {
        if let Some(board) = self.board.filter(|_| is_asked) {
            board.over(Reason::SteppedDown, None);
        }
        self.lease_file.end();
    }

    /// A sidecar keeps no ticket. After a crash, the application may rely on its leadership until the deadline that it
    /// was told, so no guardian may give up the entry before.
    fn keep(&mut self, _: Option<&Ticket>) {}

    async fn next_event(&mut self) -> Event {
        std::future::pending().await
    }
}

/// Passes on the signals that end elect, and changes of the application's health.
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
            // A send fails only if the receiver is gone, and the receiver lives as long as this process needs events.
            let _ = inbox.send(event);
        }
        // The yield lets other work act on each event, even if many arrive.
        yield_now().await;
    }
}

/// Returns the engine's event for a signal, if there is one.
fn signaled(signal: i32) -> Option<Event> {
    match signal {
        // A sidecar has nothing to reload.
        libc::SIGHUP => Some(Event::Signal(libc::SIGTERM)),
        signal if guard::ends_command(signal) => Some(Event::Signal(signal)),
        libc::SIGCHLD => {
            guard::reap();
            None
        }
        libc::SIGTSTP => {
            guard::suspend();
            None
        }
        _ => None,
    }
}
