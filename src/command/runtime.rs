//! What a subcommand runs on, its clock, and the signals that come to it.

use std::convert::Infallible;

use anyhow::Context;
use async_trait::async_trait;
use elect_api::Boottime;
use nix::sys::signal::Signal;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::yield_now;

use crate::election::driver::Clock;
use crate::election::machine::Event;
use crate::guard::{self, Alarm, Incoming, Inherited, Whom};

/// Runs what a subcommand does with stores, on this thread.
///
/// # Errors
/// Those of `work`; or no runtime can be had.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let outcome = runtime.block_on(work);
    // A resolver may keep a thread for minutes.
    runtime.shutdown_background();
    outcome
}

/// The machine's clock that counts suspends.
pub(in crate::command) struct BootClock(Alarm);

impl BootClock {
    /// A clock on the present runtime.
    ///
    /// # Errors
    /// When no descriptor is left.
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

/// The next signal that is to end us.
///
/// # Cancellation
/// May be dropped at any time.
pub(crate) async fn interruption(incoming: &Incoming) -> i32 {
    loop {
        let signal = incoming.next().await;
        if matches!(signal, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM) {
            return signal;
        }
    }
}

/// Passes all of them on. Whoever reads them has to read what is left at the end: to the kernel they are delivered.
pub(super) async fn forward(incoming: &Incoming, inbox: &UnboundedSender<Event>) -> Infallible {
    loop {
        let signal = incoming.next().await;
        // Whoever reads it ends only with all of us.
        let _ = inbox.send(Event::Signal(signal));
        // However many come, they are acted on in between.
        yield_now().await;
    }
}

/// What a signal asks of a command that looks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Wish {
    /// To end.
    End,
    /// To stop, as with Ctrl-Z: see [`pause`](Wishes::pause).
    Pause,
    /// To draw anew: the terminal has another size, or is ours again.
    Redraw,
}

/// The signals that come to it.
pub(in crate::command) struct Wishes(Incoming);

impl Wishes {
    /// Reads what [`Inherited::take`] has blocked, on the present runtime.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(in crate::command) fn new(inherited: &Inherited) -> anyhow::Result<Self> {
        Ok(Self(Incoming::new(inherited).context("cannot read signals")?))
    }

    /// The next one.
    ///
    /// # Cancellation
    /// No signal is lost.
    pub(in crate::command) async fn next(&self) -> Wish {
        loop {
            match self.0.next().await {
                libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM => return Wish::End,
                libc::SIGTSTP => return Wish::Pause,
                libc::SIGWINCH | libc::SIGCONT => return Wish::Redraw,
                _ => {}
            }
        }
    }

    /// Stops this process, and returns when it is continued.
    #[allow(clippy::unused_self, reason = "only whoever reads signals has blocked them")]
    pub(in crate::command) fn pause(&self) {
        guard::stop(Whom::Ourselves);
    }
}

/// Ends by a signal from the terminal, so that a shell knows what ended the loop around us; else the exit code is
/// 128 and the signal's number.
pub(crate) fn ended_by(signal: i32) -> u8 {
    if let Ok(known @ (Signal::SIGINT | Signal::SIGQUIT)) = Signal::try_from(signal) {
        guard::end_by(known, Whom::Ourselves);
    }
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
