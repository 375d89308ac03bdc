//! A leadership, and whether it may still be counted on.

use std::fmt;
use std::time::Duration;

use elect_api::{Boottime, Token};
use tokio::sync::{oneshot, watch};

use super::Error;
use crate::guard;

/// Leadership of an election, from the win until it is resigned, dropped or lost.
///
/// As long as it lives, and has not been lost, its lease is renewed on a thread of elect's own, also while the
/// program's own threads are busy. Whether it has been lost its [`validity`](Leadership::validity) tells.
///
/// **Dropping it** gives leadership up without waiting: [`Validity::is_valid`] is false soon after, and the entry is
/// removed in the background. If the process ends before that, the entry ends as the store has it: at once on
/// the local disk, else with its lease. So a program that is about to exit calls [`resign`](Leadership::resign).
/// Whoever drops it, or resigns, has stopped to act as the leader.
#[must_use = "leadership is given up when this is dropped"]
pub struct Leadership {
    pub(super) id: String,
    pub(super) token: Token,
    pub(super) validity: Validity,
    /// The engine keeps leadership as long as this lives.
    pub(super) release: oneshot::Sender<()>,
    pub(super) ended: oneshot::Receiver<Result<(), Error>>,
}

impl Leadership {
    /// The fencing token: strictly greater at every change of leader of this election, also after a crash or when the
    /// election is made anew. A resource that refuses smaller tokens than it has seen is safe from a
    /// leader that was stopped in the middle of a write. It is the `ELECT_TOKEN` of a command of `elect run`.
    pub const fn token(&self) -> u64 {
        self.token.get()
    }

    /// What others see this candidate as, in `elect status` for example: the label and a nonce.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What tells whether leadership may still be counted on.
    pub fn validity(&self) -> Validity {
        self.validity.clone()
    }

    /// Gives leadership up, and returns when the next candidate can lead. It is no error if leadership was lost
    /// before.
    ///
    /// # Errors
    /// [`Error::Unreached`] or [`Error::Refused`] if our entry could not be removed, which is tried for some seconds:
    /// nobody else leads before its lease has ended.
    ///
    /// # Cancellation
    /// Dropping the future changes nothing: leadership is given up all the same.
    pub async fn resign(self) -> Result<(), Error> {
        let Self { release, ended, .. } = self;
        drop(release);
        ended.await.unwrap_or_else(|_| Err(Error::stopped()))
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("id", &self.id)
            .field("token", &self.token)
            .field("validity", &self.validity)
            .finish_non_exhaustive()
    }
}

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
