//! The stores of this build, by the schemes of their URLs.

use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Error, Store};

use super::{BackendUrl, CampaignPlan, ConfigError};

/// Opens a store by its URL.
type Connect = fn(&str) -> Result<Box<dyn Store>, Error>;

/// Every store of this build, by the scheme of its URLs. The descriptions for people are in `cli::backend_url`.
const CONNECTORS: &[(&str, Connect)] = &[
    #[cfg(feature = "file")]
    ("file", elect_file::connect),
    #[cfg(feature = "etcd")]
    ("etcd", elect_etcd::connect),
    #[cfg(feature = "etcd")]
    ("etcd+tls", elect_etcd::connect),
    #[cfg(feature = "kubernetes")]
    ("kubernetes", elect_kubernetes::connect),
    #[cfg(feature = "kubernetes")]
    ("k8s", elect_kubernetes::connect),
    #[cfg(feature = "zookeeper")]
    ("zk", elect_zookeeper::connect),
    #[cfg(feature = "zookeeper")]
    ("zk+tls", elect_zookeeper::connect),
    #[cfg(feature = "sim")]
    ("sim", elect_testkit::sim::connect),
];

/// The schemes of stores that know pods.
const WITH_PODS: [&str; 2] = ["kubernetes", "k8s"];
/// The text in the place of an empty list of schemes.
pub(super) const NOTHING: &str = "no store at all";

/// The schemes of this build.
pub fn schemes() -> Vec<&'static str> {
    CONNECTORS.iter().map(|(scheme, _)| *scheme).collect()
}

/// Opens the store that a URL names.
///
/// # Errors
/// [`ConfigError`] if the URL names no store; else the store's own [`Error`].
pub fn connect(url: &BackendUrl) -> anyhow::Result<Box<dyn Store>> {
    let connect = find(url)?;
    crate::guard::bind_helpers();
    Ok(connect(url.with_secrets())?)
}

/// Checks that a URL names a store of this build. Whether the store can be reached shows later.
pub(super) fn check(url: &BackendUrl) -> Result<(), ConfigError> {
    find(url).map(|_| ())
}

fn find(url: &BackendUrl) -> Result<Connect, ConfigError> {
    if let Some(what) = url.blank() {
        return Err(ConfigError::Blank { url: url.to_string(), what });
    }
    let wanted = url.scheme().ok_or_else(|| ConfigError::NoScheme(url.to_string()))?;
    let entry = CONNECTORS.iter().find(|(scheme, _)| *scheme == wanted);
    entry.map(|(_, connect)| *connect).ok_or_else(|| ConfigError::UnknownScheme {
        url: url.to_string(),
        known: if CONNECTORS.is_empty() { NOTHING.to_owned() } else { schemes().join(", ") },
    })
}

/// A label that marks the leader's pod among the pods of all candidates. Each change is a bounded attempt without a
/// retry.
#[async_trait]
pub trait PodLabel: Send + Sync {
    /// The name of the labelled pod, for people.
    fn pod(&self) -> String;

    /// The longest time that a change takes.
    fn limit(&self) -> Duration;

    /// Sets the label on the pod of this process.
    ///
    /// # Errors
    /// The store's own. The label may be set after [`Ambiguous`](elect_api::ErrorKind::Ambiguous).
    async fn set(&self) -> Result<(), Error>;

    /// Removes the label from the pod of this process. A missing label counts as removed.
    ///
    /// # Errors
    /// The store's own.
    async fn remove(&self) -> Result<(), Error>;

    /// Removes the label from other pods that still have it.
    ///
    /// # Errors
    /// The store's own; [`Denied`](elect_api::ErrorKind::Denied) if this process may not.
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

/// The label that a plan asks for; `None` if it asks for none. Sends no request.
///
/// # Errors
/// If the pod of this process is unknown, or the store cannot be used.
#[cfg(feature = "kubernetes")]
pub fn pod_label(plan: &CampaignPlan) -> Result<Option<Box<dyn PodLabel>>, Error> {
    if !plan.flags.pod_label {
        return Ok(None);
    }
    let url = plan.flags.backend.with_secrets();
    let label = elect_kubernetes::PodLabel::of(url, &plan.election, &plan.host)?;
    Ok(Some(Box::new(label)))
}

/// Always `None`, because no plan of this build asks for a label.
#[cfg(not(feature = "kubernetes"))]
pub const fn pod_label(_: &CampaignPlan) -> Result<Option<Box<dyn PodLabel>>, Error> {
    Ok(None)
}

/// Checks that the store at a URL knows pods.
///
/// # Errors
/// [`ConfigError::Podless`].
pub(super) fn knows_pods(url: &BackendUrl) -> Result<(), ConfigError> {
    let is_known = url.scheme().is_some_and(|scheme| WITH_PODS.contains(&scheme));
    if is_known { Ok(()) } else { Err(ConfigError::Podless(url.to_string())) }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::ConfigError;

    fn check(url: &str) -> Result<(), ConfigError> {
        let Ok(url) = url.parse();
        super::check(&url)
    }

    #[test]
    fn a_store_is_found_by_its_scheme() {
        for url in ["file:", "file:///a/b"] {
            assert_eq!(check(url), Ok(()));
        }
    }

    #[test]
    fn an_unknown_scheme_is_answered_with_those_that_are_known() {
        let text = check("abacus://user:pw@a").unwrap_err().to_string();
        assert!(text.contains("abacus://a") && text.contains("file"), "{text}");
        assert!(!text.contains("pw"), "{text}");
        let hint = check("localhost:2379").unwrap_err().hint().unwrap_or_default();
        assert!(hint.contains("etcd://HOST"), "{hint}");
    }

    #[test]
    fn a_path_is_no_url() {
        let error = check("/var/lib/elect").unwrap_err();
        assert_eq!(error, ConfigError::NoScheme("/var/lib/elect".to_owned()));
        assert!(error.hint().is_some());
    }
}
