/// Why a campaign does not lead, or why its entry could not be removed. The text is for people: it says what was
/// tried, where, and the way out, and holds no secret of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for cannot be: the URL, a name, or times that do not go together. Trying again does not help.
    #[error("{0}")]
    Invalid(String),
    /// The store refuses, or cannot serve an election. Trying again does not help.
    #[error("{0}")]
    Refused(String),
    /// The store is out of reach: within 10 s it never answered, or took no entry, or it did not answer when leadership
    /// was given up. Trying again may help.
    #[error("{0}")]
    Unreached(String),
    /// This machine or what the store grants does not allow for leading: no thread or descriptor is left, its clock
    /// is slewed by more than [`Campaign::max_clock_drift`](crate::Campaign::max_clock_drift), or leases are so short
    /// that they could not be renewed.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(super) fn of_store(error: elect_api::Error) -> Self {
        let is_permanent = error.is_permanent();
        let what = format!("{:#}", anyhow::Error::from(error));
        if is_permanent { Self::Refused(what) } else { Self::Unreached(what) }
    }

    /// What was asked for cannot be.
    pub(super) fn invalid(why: impl Into<anyhow::Error>) -> Self {
        Self::Invalid(format!("{:#}", why.into()))
    }

    /// A task ended without a word.
    pub(super) fn stopped() -> Self {
        Self::Failed("the engine has stopped".to_owned())
    }
}
