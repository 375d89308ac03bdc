use async_trait::async_trait;
use elect_api::Boottime;

use super::Board;
use crate::report::{ElectionStatus, Suspicion};

/// An election, and when it looked like this.
#[derive(Clone, Debug)]
pub struct Sight {
    /// When it was asked for.
    pub at: Boottime,
    /// What was seen.
    pub status: ElectionStatus,
    /// How suspicious the leader was, for somebody who has seen enough of it.
    pub suspicion: Option<Suspicion>,
}

/// Whoever knows who else takes part.
#[async_trait]
pub trait Lookout: Send + Sync {
    /// The newest sight; asks for a newer one if it is time, and does not wait long for it.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn look(&self) -> Option<Sight>;

    /// How suspicious the leader is at this moment, as far as that is known. To ask has it
    /// [watched](Lookout::watch) for some time.
    fn suspicion(&self) -> Option<Suspicion>;

    /// Looks again and again at how the leader renews its lease, for as long as somebody wants to know, and it is
    /// on `board` that we are the next to lead: one of us is enough. Never ends.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn watch(&self, board: &Board);
}
