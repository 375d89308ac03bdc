use std::time::Duration;

use elect_api::Boottime;
use tokio::sync::watch;

use crate::guard;

/// Tells at any time whether a leadership may still be counted on.
///
/// Copies are cheap and may go to every task and thread that acts as the leader. They outlive the
/// [`Leadership`](crate::Leadership), and then say that it is over.
///
/// Nothing here asks the store: each renewal moves a deadline on, before which nobody else can lead, and what is
/// asked for is compared with it on `CLOCK_BOOTTIME`, which counts suspends. So the answer is true however long
/// this process, or the machine, was stopped before.
///
/// **A check does not protect a write.** Between `is_valid()` and the write that follows it, the process may be
/// stopped for as long as you like. What is written where others write, too, is to be written together with
/// the [token](crate::Leadership::token), and refused there if a greater one was seen.
#[derive(Clone, Debug)]
pub struct Validity {
    told: watch::Receiver<Told>,
}

/// What a program is told of its leadership.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// As the newest proof has it; `None` where leases do not end by time.
    pub(super) proven: Option<Boottime>,
    /// When leadership ends, whatever is proven from here on.
    pub(super) ends: Option<Boottime>,
    /// Why it does.
    pub(super) why: Option<String>,
}

impl Told {
    fn deadline(&self) -> Option<Boottime> {
        [self.proven, self.ends].into_iter().flatten().min()
    }

    /// Whoever reads why it ends reads also when.
    const fn is_ending(&self) -> bool {
        self.ends.is_some() && self.why.is_some()
    }
}

impl Validity {
    pub(super) const fn new(told: watch::Receiver<Told>) -> Self {
        Self { told }
    }

    /// Whether nobody else can lead at this moment: the deadline has not passed. It never blocks.
    pub fn is_valid(&self) -> bool {
        self.deadline().is_none_or(|deadline| guard::now() < deadline)
    }

    /// How long leadership may be counted on if nothing is renewed from here on: zero when it is over,
    /// [`Duration::MAX`] where leases do not end by time (`file:`) and nothing has ended it.
    pub fn remaining(&self) -> Duration {
        self.deadline().map_or(Duration::MAX, |deadline| deadline.since(guard::now()))
    }

    /// The instant on this machine's `CLOCK_BOOTTIME` by which all that the leader does has to be over; `None`
    /// where leases do not end by time and nothing has ended it. Renewals move it on, until leadership is
    /// being lost or given up: then it only ever comes nearer.
    pub fn deadline(&self) -> Option<Boottime> {
        self.told.borrow().deadline()
    }

    /// Ends when leadership is being lost or given up, at once if it was, and says why, for people.
    ///
    /// It is time to stop then, before the [deadline](Validity::deadline): the [grace](crate::Campaign::grace) is
    /// left, unless the entry is gone from the store already, when nothing is left. Whoever is done earlier drops
    /// the [`Leadership`](crate::Leadership), and the next one leads sooner.
    ///
    /// # Cancellation
    /// May be dropped at any time. It needs no particular executor.
    pub async fn lost(&self) -> String {
        let mut told = self.told.clone();
        // Without a sender it is over as well.
        let _ = told.wait_for(Told::is_ending).await;
        told.borrow().why.clone().unwrap_or_default()
    }
}
