use elect_api::StoreId;
use elect_api::{Error, ErrorKind, Finding};
use elect_remote::{Credentials, Host, Tls, Url};

/// The port of a URL that names none.
pub(crate) const DEFAULT_PORT: u16 = 2379;
const DEFAULT_PREFIX: &str = "elect/";
const TLS_SCHEME: &str = "etcd+tls";

/// The parsed form of a URL of this store.
pub(crate) struct Address {
    /// The URL as people may see it.
    pub(crate) location: String,
    /// The members to ask, in this order.
    pub(crate) hosts: Vec<Host>,
    /// The prefix of all keys, before the name of an election.
    pub(crate) prefix: String,
    /// The id of the store, if the URL states one.
    pub(crate) store: Option<StoreId>,
    pub(crate) credentials: Option<Credentials>,
    /// The warnings about unsafe uses of the credentials.
    pub(crate) cautions: Vec<Finding>,
    /// `None` for connections in the clear.
    pub(crate) tls: Option<Tls>,
}

impl Address {
    /// Reads a URL, the files that it names, and the credentials in the environment, by `variable`.
    pub(crate) fn parse(
        text: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let options: Vec<&str> = [&["prefix", StoreId::OPTION], Credentials::OPTIONS, Tls::OPTIONS]
            .concat()
            .into_iter()
            .collect();
        let url = Url::parse(text, DEFAULT_PORT, &options)?;
        if !matches!(url.scheme.as_str(), crate::SCHEME | TLS_SCHEME) {
            let what =
                format!("{}:// is no etcd: its URLs begin with etcd:// or etcd+tls://", url.scheme);
            return Err(Error::new(ErrorKind::Unfit, what));
        }
        let tls = Tls::of(&url, &["h2"])?;
        let credentials = Credentials::of(&url, variable)?;
        let cautions = credentials.as_ref().map(|it| it.cautions(&url, tls.is_some()));
        Ok(Self {
            location: match url.option("prefix") {
                Some(prefix) => format!("{}?prefix={prefix}", url.location()),
                None => url.location(),
            },
            prefix: prefix_of(&url)?,
            store: StoreId::of_option(url.option(StoreId::OPTION))?,
            credentials,
            cautions: cautions.unwrap_or_default(),
            tls,
            hosts: url.hosts,
        })
    }
}

fn prefix_of(url: &Url) -> Result<String, Error> {
    let path = url.path.trim_matches('/');
    match (url.option("prefix"), path) {
        (Some(prefix), "") => Ok(prefix.to_owned()),
        (Some(_), _) => Err(Error::new(
            ErrorKind::Unfit,
            "the path of the URL and its option prefix say the same thing: give one of them",
        )),
        (None, "") => Ok(DEFAULT_PREFIX.to_owned()),
        (None, path) => Ok(format!("{path}/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, Error> {
        Address::parse(text, |_| None)
    }

    #[test]
    fn the_prefix_comes_from_path_or_option() {
        for (url, prefix) in [
            ("etcd://a", "elect/"),
            ("etcd://a/", "elect/"),
            ("etcd://a/x/y", "x/y/"),
            ("etcd://a/x/", "x/"),
            ("etcd://a?prefix=", ""),
            ("etcd://a?prefix=/", "/"),
            ("etcd+tls://a/?prefix=/x-", "/x-"),
        ] {
            assert_eq!(
                parse(url).map(|address| address.prefix).ok().as_deref(),
                Some(prefix),
                "{url}"
            );
        }
        assert!(parse("etcd://a/x?prefix=y").is_err());
        let location = parse("etcd://a?prefix=x-").map(|address| address.location);
        assert_eq!(location.ok().as_deref(), Some("etcd://a:2379?prefix=x-"));
    }

    #[test]
    fn members_get_the_default_port_and_the_location_has_no_secrets() {
        let address = parse("etcd://me:hush@a,b:1/x?prefix-less").err().expect("unknown option");
        assert!(!address.to_string().contains("hush"));
        let address = parse("etcd://me:hush@a,[::1]:1/x").expect("a good URL");
        assert_eq!(address.location, "etcd://a:2379,[::1]:1/x");
        assert!(address.tls.is_none() && address.credentials.is_some());
    }

    #[test]
    fn a_password_needs_tls_beyond_this_machine() {
        let cautions = |url: &str| parse(url).expect("a good URL").cautions.len();
        assert_eq!(cautions("etcd://me:hush@127.0.0.1,b"), 1);
        assert_eq!(cautions("etcd://me:hush@127.0.0.1"), 0);
        assert_eq!(cautions("etcd+tls://me:hush@b"), 0);
        assert_eq!(cautions("etcd://b"), 0);
    }

    #[test]
    fn tls_has_a_scheme_of_its_own() {
        assert!(parse("etcd+tls://a").expect("a good URL").tls.is_some());
        let error = parse("etcd://a?server-name=b").err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Unfit);
        assert!(error.to_string().contains("etcd+tls://"), "{error}");
        assert!(parse("http://a").is_err());
    }
}
