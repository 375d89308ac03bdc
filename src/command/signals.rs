//! Signals that come to elect.

use std::convert::Infallible;

use nix::sys::signal::Signal;
use tokio::sync::mpsc::UnboundedSender;

use crate::election::machine::Event;
use crate::guard::{self, Incoming, Whom};

/// The next signal that is to end us.
///
/// # Cancellation
/// May be dropped at any time.
pub(super) async fn interruption(incoming: &Incoming) -> i32 {
    loop {
        match incoming.next().await {
            Ok(signal @ (libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM)) => {
                return signal;
            }
            Ok(_) => {}
            // The descriptor cannot fail; if it does, there is none.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Passes all of them on.
pub(super) async fn forward(incoming: &Incoming, inbox: &UnboundedSender<Event>) -> Infallible {
    // The descriptor cannot fail; if it does, there are none.
    while let Ok(signal) = incoming.next().await {
        // Whoever reads it ends only with all of us.
        let _ = inbox.send(Event::Signal(signal));
    }
    std::future::pending().await
}

/// Ends by a signal from the terminal, so that a shell knows what ended the loop around us; else the exit code is
/// 128 and the signal's number.
pub(super) fn ended_by(signal: i32) -> u8 {
    if let Ok(known @ (Signal::SIGINT | Signal::SIGQUIT)) = Signal::try_from(signal) {
        guard::end_by(known, Whom::Ourselves);
    }
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
