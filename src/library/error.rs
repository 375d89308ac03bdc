/// Why a campaign does not lead, or why its entry could not be removed. The text is for people: it says what was
/// tried, where, and the way out, and holds no secret of a URL.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for cannot be: the URL, a name, or times that do not go together. Trying again does not help.
    #[error("{0}")]
    Invalid(String),
    /// The store refuses, or cannot serve an election; or, where a leadership was given up, our entry is left in it
    /// until it ends by itself.
    #[error("{0}")]
    Store(String, #[source] elect_api::Error),
    /// The store never answered within 10 s. Trying again may help.
    #[error("{0} did not answer in time")]
    Unreached(String),
    /// This machine or what the store grants does not allow for leading: no thread or descriptor is left, its clock
    /// is slewed by more than [`Campaign::max_clock_drift`](crate::Campaign::max_clock_drift), or leases are so short
    /// that they could not be renewed.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(super) fn store(error: elect_api::Error) -> Self {
        Self::Store(error.to_string(), error)
    }

    /// A task ended without a word.
    pub(super) fn stopped() -> Self {
        Self::Failed("the engine has stopped".to_owned())
    }
}
