use std::fmt;

use elect_api::Token;
use tokio::sync::oneshot;

use super::{Error, Validity};

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
