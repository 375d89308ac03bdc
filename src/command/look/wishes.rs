use anyhow::Context;

use crate::guard::{self, Incoming, Inherited, Whom};

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
