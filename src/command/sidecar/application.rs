//! In the place of a command tree: what the application is told of its leadership, and what makes that
//! end.

use std::convert::Infallible;

use async_trait::async_trait;
use elect_api::{Boottime, Ticket, Token};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::yield_now;

use super::health::Fitness;
use crate::command::candidacy::Poster;
use crate::election::driver::Duty;
use crate::election::machine::Event;
use crate::guard::{self, Deadlines, Incoming, Order, Whom};
use crate::report::http::{HttpState, Reason};

/// An application, which is taken to have noticed the end when the whole of its grace is over. From the moment on that
/// it is to end we say that it does not lead.
pub(super) struct Application<'a> {
    pub(super) poster: Poster,
    pub(super) board: Option<&'a HttpState>,
}

#[async_trait]
impl Duty for Application<'_> {
    fn begins(&mut self, token: Token) {
        self.poster.begin(token);
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.poster.ordered(Order::Renewed(deadlines));
    }

    fn ends(&mut self, _: Boottime, is_asked: bool) {
        if let Some(board) = self.board.filter(|_| is_asked) {
            board.over(Reason::SteppedDown, None);
        }
        self.poster.end();
    }

    /// There is nobody to give the entry up if we crash: the application may count on it as long as it
    /// was told.
    fn keep(&mut self, _: Option<&Ticket>) {}

    async fn next_event(&mut self) -> Event {
        std::future::pending().await
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
