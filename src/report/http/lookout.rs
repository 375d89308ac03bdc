use async_trait::async_trait;
use elect_api::Boottime;

use crate::report::ElectionStatus;

/// An election, and when it looked like this.
#[derive(Clone, Debug)]
pub struct Sight {
    /// When it was asked for.
    pub at: Boottime,
    /// What was seen.
    pub status: ElectionStatus,
}

/// Whoever knows who else takes part.
#[async_trait]
pub trait Lookout: Send + Sync {
    /// The newest sight; asks for a newer one if it is time, and does not wait long for it.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn look(&self) -> Option<Sight>;
}
