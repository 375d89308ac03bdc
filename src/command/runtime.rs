//! The runtime of a subcommand, its clock, and the signals that it gets.

use std::convert::Infallible;

use anyhow::Context;
use async_trait::async_trait;
use elect_api::Boottime;
use nix::sys::signal::Signal;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::yield_now;

use crate::election::driver::Clock;
use crate::election::machine::Event;
use crate::guard::{self, Alarm, Incoming, Inherited, SignalTo};

/// Runs the asynchronous work of a subcommand on this thread.
///
/// # Errors
/// Returns the errors of `work`, and an error if the runtime cannot be built.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let outcome = runtime.block_on(work);
    // The runtime is not awaited: a blocked name resolution may keep a thread for minutes.
    runtime.shutdown_background();
    outcome
}

/// The clock `CLOCK_BOOTTIME`, which goes on while the machine is suspended.
pub(in crate::command) struct BootClock(Alarm);

impl BootClock {
    /// Makes a clock on the present runtime.
    ///
    /// # Errors
    /// Fails if no file descriptor is left.
    pub(in crate::command) fn new() -> anyhow::Result<Self> {
        Ok(Self(Alarm::new().context("cannot make a timer")?))
    }
}

#[async_trait]
impl Clock for BootClock {
    fn now(&self) -> Boottime {
        guard::now()
    }

    fn rate(&self) -> f64 {
        guard::rate()
    }

    async fn until(&self, at: Option<Boottime>) {
        self.0.until(at).await;
    }
}

/// Waits for the next signal that ends elect.
///
/// # Cancellation
/// The future may be dropped at any time.
pub(crate) async fn interruption(incoming: &Incoming) -> i32 {
    loop {
        let signal = incoming.next().await;
        if guard::ends_elect(signal) {
            return signal;
        }
    }
}

/// Sends every signal to the inbox. At the end, the caller must read what is left in the inbox, as the kernel has
/// delivered those signals.
pub(super) async fn forward(incoming: &Incoming, inbox: &UnboundedSender<Event>) -> Infallible {
    loop {
        let signal = incoming.next().await;
        // A send fails only if the receiver is gone, and the receiver lives as long as this process needs signals.
        let _ = inbox.send(Event::Signal(signal));
        // The yield lets other work act on each signal, even if many arrive.
        yield_now().await;
    }
}

/// The request that a signal makes to a command that only watches an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Wish {
    /// The process ends.
    End,
    /// The process stops, as with Ctrl-Z: see [`pause`](Wishes::pause).
    Pause,
    /// The screen is drawn again: the terminal has another size, or this process is in its foreground again.
    Redraw,
}

/// The signals to a command that only watches an election.
pub(in crate::command) struct Wishes(Incoming);

impl Wishes {
    /// Reads the signals that [`Inherited::take`] has blocked, on the present runtime.
    ///
    /// # Errors
    /// Fails if no file descriptor is left.
    pub(in crate::command) fn new(inherited: &Inherited) -> anyhow::Result<Self> {
        Ok(Self(Incoming::new(inherited).context("cannot read signals")?))
    }

    /// Waits for the next request.
    ///
    /// # Cancellation
    /// No signal is lost if the future is dropped.
    pub(in crate::command) async fn next(&self) -> Wish {
        loop {
            match self.0.next().await {
                signal if guard::ends_elect(signal) => return Wish::End,
                libc::SIGTSTP => return Wish::Pause,
                libc::SIGWINCH | libc::SIGCONT => return Wish::Redraw,
                _ => {}
            }
        }
    }

    /// Stops this process, and returns when it is continued.
    #[allow(clippy::unused_self, reason = "only the reader of signals has blocked them")]
    pub(in crate::command) fn pause(&self) {
        guard::suspend();
    }
}

/// Ends this process by SIGINT or SIGQUIT, so that the calling shell knows which signal ended its loop. For any
/// other signal it returns the exit code: 128 plus the signal's number.
pub(crate) fn ended_by(signal: i32) -> u8 {
    if let Ok(known @ (Signal::SIGINT | Signal::SIGQUIT)) = Signal::try_from(signal) {
        guard::end_by(known, SignalTo::Ourselves);
    }
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
