//! A leadership, and the check whether it still counts.

use std::time::Duration;

use elect_api::{Boottime, Token};
use tokio::sync::{oneshot, watch};

use super::Error;
use crate::guard;

/// Leadership of an election, from the win until it is resigned, dropped or lost.
///
/// While this value lives and leadership is not lost, a thread of elect's own renews the lease, even while the
/// program's threads are busy. Its [`validity`](Leadership::validity) tells whether it is lost.
///
/// **Dropping it** gives leadership up without waiting. [`Validity::is_valid`] is false soon after, and the entry is
/// removed in the background. If the process ends before that, the entry ends as the store defines: at once on the
/// local disk, otherwise with its lease. So a program that is about to exit calls [`resign`](Leadership::resign). A
/// program must stop acting as the leader before it drops or resigns leadership.
#[derive(Debug)]
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
    /// The fencing token. It is strictly greater at every change of leader of this election, even after a crash or when
    /// the election is created anew. A resource that refuses smaller tokens than it has seen is safe from a leader that
    /// was stopped in the middle of a write. A command of `elect run` gets it as `ELECT_TOKEN`.
    pub const fn token(&self) -> u64 {
        self.token.get()
    }

    /// The id that others see, in `elect status` for example: the label and a nonce.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the check whether leadership still counts.
    pub fn validity(&self) -> Validity {
        self.validity.clone()
    }

    /// Gives leadership up, and returns when the next candidate can lead. A leadership that was lost before is no
    /// error.
    ///
    /// # Errors
    /// [`Error::Unreached`] or [`Error::Refused`] if the entry could not be removed, after some seconds of trying. Then
    /// no other candidate leads before the lease has ended.
    ///
    /// # Cancellation
    /// Dropping the future changes nothing. Leadership is given up all the same.
    pub async fn resign(self) -> Result<(), Error> {
        let Self { release, ended, .. } = self;
        drop(release);
        ended.await.unwrap_or_else(|_| Err(Error::stopped()))
    }
}

/// Tells at any time whether a leadership still counts.
///
/// Copies are cheap, and may go to every task and thread that acts as the leader. They outlive the
/// [`Leadership`](crate::Leadership), and then say that it is over.
///
/// No method asks the store. Each renewal moves a deadline on, and no other candidate can lead before it. The methods
/// compare that deadline with `CLOCK_BOOTTIME`, which counts suspends. So the answer is true however long this process,
/// or the machine, was stopped before.
///
/// **A check does not protect a write.** The process may be stopped for any time between `is_valid()` and the write
/// that follows it. If other candidates write to the same resource, each write has to carry the
/// [token](crate::Leadership::token). The resource must refuse a token that is smaller than one it has seen.
#[derive(Clone, Debug)]
pub struct Validity {
    told: watch::Receiver<Told>,
}

/// The state of a leadership, as the program sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// The deadline of the newest proof; `None` where leases do not end by time.
    pub(super) proven: Option<Boottime>,
    /// The time at which leadership ends, whatever is proven later.
    pub(super) ends: Option<Boottime>,
    /// The reason for the end.
    pub(super) why: Option<String>,
}

impl Told {
    fn deadline(&self) -> Option<Boottime> {
        [self.proven, self.ends].into_iter().flatten().min()
    }

    /// Whether leadership is ending, with a known time and reason.
    const fn is_ending(&self) -> bool {
        self.ends.is_some() && self.why.is_some()
    }
}

impl Validity {
    pub(super) const fn new(told: watch::Receiver<Told>) -> Self {
        Self { told }
    }

    /// Whether no other candidate can lead at this moment: the deadline has not passed. It never blocks.
    pub fn is_valid(&self) -> bool {
        self.deadline().is_none_or(|deadline| guard::now() < deadline)
    }

    /// Returns how long leadership counts if no further renewal succeeds. It is zero when leadership is over, and
    /// [`Duration::MAX`] where leases do not end by time (`file:`) and nothing has ended it.
    pub fn remaining(&self) -> Duration {
        self.deadline().map_or(Duration::MAX, |deadline| deadline.since(guard::now()))
    }

    /// Returns the instant on this machine's `CLOCK_BOOTTIME` by which all work of the leader has to be over. It is
    /// `None` where leases do not end by time and nothing has ended leadership. Renewals move it on, until leadership
    /// is being lost or given up. From then on it only comes nearer.
    pub fn deadline(&self) -> Option<Boottime> {
        self.told.borrow().deadline()
    }

    /// Waits until leadership is being lost or given up, and returns the reason, in words for people. Returns at once
    /// if that has happened before.
    ///
    /// The program then has to stop before the [deadline](Validity::deadline). The [grace](crate::Campaign::grace) is
    /// left for that, unless the entry is already gone from the store, when no time is left. A program that is done
    /// earlier drops the [`Leadership`](crate::Leadership), so that the next candidate leads sooner.
    ///
    /// # Cancellation
    /// May be dropped at any time. It needs no particular executor.
    pub async fn lost(&self) -> String {
        let mut told = self.told.clone();
        // Without a sender, leadership is over as well.
        let _ = told.wait_for(Told::is_ending).await;
        told.borrow().why.clone().unwrap_or_default()
    }
}
