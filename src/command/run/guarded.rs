//! A guardian, and what is left to do once it is dead.

use crate::election::machine::Event;
use crate::guard::{Guardian, Report};

pub(super) struct Guarded {
    guardian: Guardian,
    is_dead: bool,
    sweeps: bool,
}

/// What comes of it.
#[derive(Clone, Copy)]
pub(super) enum Happened {
    Reported(Report),
    /// The guardian is dead, and may have left something.
    Died,
    /// Nothing of that is left.
    Swept,
}

impl Happened {
    /// What it is to the engine, if anything.
    pub(super) const fn event(self) -> Option<Event> {
        Some(match self {
            Self::Died => Event::GuardianDied,
            Self::Reported(Report::Started { .. }) => Event::Started,
            Self::Reported(Report::NotStarted(errno)) => Event::NotStarted(errno),
            Self::Reported(Report::SoftPassed) => Event::SoftPassed,
            Self::Reported(Report::Stopped(_)) => return None,
            Self::Reported(Report::MayNotSignal(pid)) => Event::MayNotSignal(pid),
            Self::Reported(Report::Ended(ended)) => Event::Ended(ended),
            Self::Reported(Report::Empty) | Self::Swept => Event::Empty,
        })
    }
}

impl Guarded {
    pub(super) const fn new(guardian: Guardian) -> Self {
        Self { guardian, is_dead: false, sweeps: false }
    }

    pub(super) const fn guardian(&mut self) -> &mut Guardian {
        &mut self.guardian
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guardian
    }

    /// Kills what the dead guardian has left.
    pub(super) const fn sweep(&mut self) {
        self.sweeps = true;
    }

    /// What comes next: never anything, once the guardian is dead and nothing is to be swept.
    ///
    /// # Cancellation
    /// Nothing is lost.
    pub(super) async fn next(&mut self) -> Happened {
        match (self.is_dead, self.sweeps) {
            (false, _) => {
                let report = self.guardian.next_report().await;
                self.is_dead = report.is_none();
                report.map_or(Happened::Died, Happened::Reported)
            }
            (true, true) => {
                self.guardian.sweep().await;
                self.sweeps = false;
                Happened::Swept
            }
            (true, false) => std::future::pending().await,
        }
    }
}
