use elect_api::Store;

use super::{BackendUrl, ConfigError};

/// Opens a store by its URL.
type Connect = fn(&str) -> Result<Box<dyn Store>, elect_api::Error>;

/// Every store of this build by the scheme of its URLs. What people are told of a scheme is in `cli::backend_url`.
const STORES: &[(&str, Connect)] = &[
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

/// What stands for the list of schemes where it is empty.
pub(super) const NOTHING: &str = "no store at all";

/// The schemes that this build knows.
pub fn schemes() -> Vec<&'static str> {
    STORES.iter().map(|(scheme, _)| *scheme).collect()
}

/// Opens the store that a URL names.
///
/// # Errors
/// [`ConfigError`] if the URL names none; else the store's own [`elect_api::Error`].
pub fn connect(url: &BackendUrl) -> anyhow::Result<Box<dyn Store>> {
    let connect = find(url)?;
    crate::guard::bind_helpers();
    Ok(connect(url.with_secrets())?)
}

/// Checks that a URL names a store of this build. Whether it can be reached is seen later.
pub(super) fn check(url: &BackendUrl) -> Result<(), ConfigError> {
    find(url).map(|_| ())
}

fn find(url: &BackendUrl) -> Result<Connect, ConfigError> {
    let wanted = url.scheme().ok_or_else(|| ConfigError::NoScheme(url.to_string()))?;
    let entry = STORES.iter().find(|(scheme, _)| *scheme == wanted);
    entry.map(|(_, connect)| *connect).ok_or_else(|| ConfigError::UnknownScheme {
        url: url.to_string(),
        known: if STORES.is_empty() { NOTHING.to_owned() } else { schemes().join(", ") },
    })
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
