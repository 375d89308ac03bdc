//! The stores of this build, found by the scheme of a URL.

mod url;

use elect_api::{Store, StoreKind};

pub use url::BackendUrl;

/// The stores of this build.
const KINDS: &[StoreKind] = &[
    #[cfg(feature = "file")]
    elect_file::KIND,
    #[cfg(feature = "consul")]
    elect_consul::KIND,
    #[cfg(feature = "cloud")]
    elect_dynamodb::KIND,
    #[cfg(feature = "cloud")]
    elect_objects::KIND,
    #[cfg(feature = "etcd")]
    elect_etcd::KIND,
    #[cfg(feature = "kubernetes")]
    elect_kubernetes::KIND,
    #[cfg(feature = "mariadb")]
    elect_mariadb::KIND,
    #[cfg(feature = "postgresql")]
    elect_postgresql::KIND,
    #[cfg(feature = "redis")]
    elect_redis::KIND,
    #[cfg(feature = "zookeeper")]
    elect_zookeeper::KIND,
    #[cfg(feature = "sim")]
    elect_testkit::sim::KIND,
];

/// Returns the stores of this build.
pub fn kinds() -> impl Iterator<Item = &'static StoreKind> {
    KINDS.iter()
}

/// Opens the store that a URL names.
///
/// # Errors
/// [`UrlError`] if the URL names none; else the store's own [`elect_api::Error`].
pub fn connect(url: &BackendUrl) -> anyhow::Result<Box<dyn Store>> {
    let kind = find(url)?;
    crate::guard::bind_helpers();
    Ok((kind.connect)(url.with_secrets())?)
}

/// Returns the kind of store that a URL names. Whether the store answers is seen later.
///
/// # Errors
/// The URL names no store of this build.
pub fn find(url: &BackendUrl) -> Result<&'static StoreKind, UrlError> {
    if let Some(what) = url.blank() {
        return Err(UrlError::Blank { url: url.to_string(), what });
    }
    let wanted = url.scheme().ok_or_else(|| UrlError::NoScheme(url.to_string()))?;
    let found = kinds().find(|kind| kind.schemes.contains(&wanted));
    found.ok_or_else(|| UrlError::UnknownScheme(url.to_string()))
}

/// Returns what to do about a password in a URL that others can see. `other` is the place to move a URL to, such as
/// `set ELECT_BACKEND to the URL`.
pub fn hide_password(url: &BackendUrl, other: &str) -> String {
    match find(url).ok().and_then(|kind| kind.credentials) {
        Some(credentials) => format!("leave it out, as {credentials}"),
        None => format!("{other}, or name a file with the URL's option password-file"),
    }
}

/// Why a URL names no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It has no scheme.
    #[error("the backend {0:?} is not the URL of a store")]
    NoScheme(String),
    /// It has a character in it that people do not see.
    #[error("the backend {url:?} has {what}, which would name another place")]
    Blank {
        /// The URL without its secrets.
        url: String,
        /// The character, and its place.
        what: String,
    },
    /// No store of this build has its scheme.
    #[error("this build of elect has no store for {0:?}")]
    UnknownScheme(String),
}

impl UrlError {
    /// Returns what to write instead.
    pub fn hint(&self) -> String {
        match self {
            Self::Blank { .. } => {
                "remove it; one that belongs to a path or a password is percent-encoded, as %20 \
                                   for a space"
                    .to_owned()
            }
            Self::NoScheme(text) if text.starts_with(['/', '.', '~']) => {
                "for a directory write file:///DIR, with its whole path".to_owned()
            }
            Self::NoScheme(text) => {
                let is_meant = |kind: &&StoreKind| {
                    kind.schemes.iter().chain(kind.nicknames).any(|word| word == text)
                };
                kinds().find(is_meant).map_or_else(examples, |kind| kind.lacks.to_owned())
            }
            Self::UnknownScheme(_) if KINDS.is_empty() => {
                "build elect with at least one backend, such as --features file".to_owned()
            }
            Self::UnknownScheme(url)
                if ["dynamodb:", "s3:"].iter().any(|it| url.starts_with(it)) =>
            {
                "build elect with --features cloud".to_owned()
            }
            Self::UnknownScheme(url) if url.starts_with("https:") => {
                of_each(|kind| Some(format!("{}://HOST for {}", kind.tls_scheme()?, kind.name)))
            }
            Self::UnknownScheme(url) if url.starts_with("http:") => of_each(|kind| {
                kind.tls_scheme().map(|_| format!("{} for {}", kind.example, kind.name))
            }),
            Self::UnknownScheme(_) => examples(),
        }
    }
}

fn examples() -> String {
    of_each(|kind| (!kind.example.is_empty()).then(|| kind.example.to_owned()))
}

/// Returns a hint with a word for each kind of store that has one.
fn of_each(word: impl Fn(&StoreKind) -> Option<String>) -> String {
    let words: Vec<String> = kinds().filter_map(word).collect();
    match words.split_last() {
        Some((last, [])) => format!("write {last}"),
        Some((last, others)) => format!("write {} or {last}", others.join(", ")),
        None => examples(),
    }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::UrlError;

    fn check(url: &str) -> Result<(), UrlError> {
        let Ok(url) = url.parse();
        super::find(&url).map(drop)
    }

    #[test]
    fn a_store_is_found_by_its_scheme() {
        for url in ["file:", "file:///a/b"] {
            assert_eq!(check(url), Ok(()));
        }
    }

    #[test]
    fn an_unknown_scheme_is_answered_with_a_url_of_each_store() {
        let error = check("abacus://user:pw@a").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("abacus://a") && !text.contains("pw"), "{text}");
        assert!(error.hint().contains("file:///DIR"), "{}", error.hint());
        let hint = check("localhost:2379").unwrap_err().hint();
        assert!(hint.contains("etcd://HOST"), "{hint}");
    }

    #[test]
    fn a_path_is_no_url() {
        let error = check("/var/lib/elect").unwrap_err();
        assert_eq!(error, UrlError::NoScheme("/var/lib/elect".to_owned()));
        assert!(error.hint().contains("file:///DIR"), "{}", error.hint());
    }

    #[cfg(all(feature = "cloud", feature = "etcd"))]
    #[test]
    fn the_way_out_of_a_shown_password_is_one_that_the_store_has() {
        let way_out = |url: &str| {
            let Ok(url) = url.parse();
            super::hide_password(&url, "set X")
        };
        for url in ["s3://key:pw@jobs", "dynamodb://key:pw@jobs"] {
            let said = way_out(url);
            assert!(said.contains("Amazon's variables") && !said.contains("set X"), "{said}");
        }
        assert!(way_out("etcd://me:pw@a").starts_with("set X, or name a file"));
    }
}
