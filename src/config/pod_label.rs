//! The label of a pod, for plans that ask for one.

use std::time::Duration;

use async_trait::async_trait;
use elect_api::Error;

use super::{BackendUrl, CampaignPlan, ConfigError};
use crate::stores;

/// A label that marks the leader among those who take part. Each change is a bounded attempt, and nothing is tried
/// again.
#[async_trait]
pub trait PodLabel: Send + Sync {
    /// What is labelled, for people.
    fn pod(&self) -> String;

    /// The longest that a change takes.
    fn limit(&self) -> Duration;

    /// Sets it on ours.
    ///
    /// # Errors
    /// The store's own. It may be set after [`Ambiguous`](elect_api::ErrorKind::Ambiguous).
    async fn set(&self) -> Result<(), Error>;

    /// Removes it from ours. One that is not there counts as removed.
    ///
    /// # Errors
    /// The store's own.
    async fn remove(&self) -> Result<(), Error>;

    /// Removes it from those that others have left with it.
    ///
    /// # Errors
    /// The store's own; [`Denied`](elect_api::ErrorKind::Denied) if we may not.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn remove_from_others(&self) -> Result<(), Error>;
}

#[cfg(feature = "kubernetes")]
#[async_trait]
impl PodLabel for elect_kubernetes::PodLabel {
    fn pod(&self) -> String {
        self.pod()
    }

    fn limit(&self) -> Duration {
        Self::LIMIT
    }

    async fn set(&self) -> Result<(), Error> {
        self.set().await
    }

    async fn remove(&self) -> Result<(), Error> {
        self.remove().await
    }

    async fn remove_from_others(&self) -> Result<(), Error> {
        self.remove_from_others().await
    }
}

/// The label that a plan asks for, if it does. Nothing is sent yet.
///
/// # Errors
/// When it is not known which pod this is, or the store cannot be used.
#[cfg(feature = "kubernetes")]
pub fn pod_label(plan: &CampaignPlan) -> Result<Option<Box<dyn PodLabel>>, Error> {
    if !plan.pod_label {
        return Ok(None);
    }
    let url = plan.backend.with_secrets();
    let label = elect_kubernetes::PodLabel::of(url, &plan.election, &plan.candidate.host)?;
    Ok(Some(Box::new(label)))
}

/// None: no plan of this build asks for one.
#[cfg(not(feature = "kubernetes"))]
pub const fn pod_label(_: &CampaignPlan) -> Result<Option<Box<dyn PodLabel>>, Error> {
    Ok(None)
}

/// Checks that the store at a URL knows pods.
///
/// # Errors
/// [`ConfigError::NoPod`].
pub(super) fn knows_pods(url: &BackendUrl) -> Result<(), ConfigError> {
    if stores::find(url)?.knows_pods { Ok(()) } else { Err(ConfigError::NoPod(url.to_string())) }
}
