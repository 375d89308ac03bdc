//! The URL of a server, of its Sentinels, or of nodes of a cluster.

use elect_api::{Error, StoreId};
use elect_remote::{Address, Demand, Host, Parts, Settings, Variable, Wanted, Way, unfit};

use crate::PRODUCT;

const DEFAULT_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
const DEFAULT_PREFIX: &str = "elect";
/// The user of a server that names none.
pub(crate) const DEFAULT_USER: &str = "default";
/// The option with the name of the primary, which the hosts, that are Sentinels, know.
pub(crate) const SENTINEL: &str = "sentinel";
/// The longest prefix, in letters.
const LONGEST_PREFIX: usize = 64;
/// The options that a URL may have.
pub(crate) const OPTIONS: &[&str] = &[
    "ca",
    "cert",
    "key",
    "password-file",
    "prefix",
    PROMISE,
    SENTINEL,
    "socket",
    StoreId::OPTION,
    "user",
];
/// The option that accepts the weaker promise.
pub(crate) const PROMISE: &str = "promise";

/// Reads a URL, and the files that it names. `variable` reads the environment.
///
/// # Errors
/// `Unfit` or `Denied`, with a message that names the wrong part.
pub(crate) fn parse(text: &str, variable: Variable<'_>) -> Result<Address, Error> {
    let settings = Settings::of(text, OPTIONS, &[], variable)?;
    let (url, is_secured) =
        (&settings.url, settings.url.scheme.ends_with("ss") || settings.url.scheme == "valkeys");
    let number = url.path.trim_matches('/');
    if !number.is_empty() && number.parse::<u32>().is_err() {
        return Err(unfit(format!("{number:?} is no number of a database: write redis://HOST/0")));
    }
    if url.option(PROMISE).is_some_and(|promise| promise != "weak") {
        return Err(unfit(
            "the option promise is weak, which accepts the weaker promise, or left out",
        ));
    }
    let database = if number.is_empty() { "0" } else { number };
    let demand = if is_secured { Demand::Name } else { Demand::Off };
    let parts = Parts {
        ways: ways(&settings)?,
        database: database.to_owned(),
        user: url.option("user").or(url.user.as_deref()).unwrap_or(DEFAULT_USER).to_owned(),
        space: (prefix(url.option("prefix"))?, "prefix", DEFAULT_PREFIX),
        wanted: Wanted {
            demand,
            setting: format!("{}://", url.scheme),
            better: "rediss://",
            files: PRODUCT.names.map(|name| settings.get(name)),
            server_name: None,
        },
    };
    let mut address = settings.address(&PRODUCT, parts, |_| settings.password(PRODUCT.password))?;
    if let Some(name) = settings.url.option(SENTINEL) {
        let begin = if address.location.contains('?') { '&' } else { '?' };
        address.location = format!("{}{begin}{SENTINEL}={name}", address.location);
    }
    Ok(address)
}

/// The ways that a URL names.
fn ways(settings: &Settings<'_>) -> Result<Vec<Way>, Error> {
    let url = &settings.url;
    match url.option("socket") {
        Some(_) if settings.names_hosts => {
            Err(unfit("a socket is on this machine: write redis:///?socket=PATH"))
        }
        Some(path) => Ok(vec![Way::Socket(path.into())]),
        None => {
            let usual = if url.option(SENTINEL).is_some() { SENTINEL_PORT } else { DEFAULT_PORT };
            let port = |port| if port == 0 { usual } else { port };
            let way = |host: &Host| Way::Network(Host { port: port(host.port), ..host.clone() });
            Ok(url.hosts.iter().map(way).collect())
        }
    }
}

fn prefix(given: Option<&str>) -> Result<String, Error> {
    let prefix = given.unwrap_or(DEFAULT_PREFIX);
    let is_plain =
        prefix.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:".contains(letter));
    if prefix.is_empty() || prefix.len() > LONGEST_PREFIX || !is_plain {
        return Err(unfit(format!(
            "the option prefix has 1 to {LONGEST_PREFIX} letters, digits and the characters _-.:"
        )));
    }
    Ok(prefix.to_owned())
}

#[cfg(test)]
mod tests {
    use elect_remote::Encryption;

    use super::*;

    fn parse(url: &str) -> Result<Address, Error> {
        super::parse(url, &|_| None)
    }

    #[test]
    fn what_a_url_leaves_out_is_what_the_field_takes() {
        for (url, expected) in [
            ("redis://", "redis://localhost:6379/0"),
            ("valkey://a,b:1/2", "redis://a:6379,b:1/2"),
            ("redis://a?prefix=p", "redis://a:6379/0?prefix=p"),
            ("redis://a?sentinel=m", "redis://a:26379/0?sentinel=m"),
            ("redis://a?prefix=p&sentinel=m", "redis://a:26379/0?prefix=p&sentinel=m"),
            ("redis:///?socket=/s", "redis:///s/0"),
        ] {
            let address = parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.location, expected, "{url}");
            assert_eq!(address.user, DEFAULT_USER);
            assert!(address.encryption == Encryption::Off);
        }
        for url in ["rediss://me@a", "valkeys://a?user=me"] {
            let address = parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.user, "me");
            assert!(address.encryption.checks_names(), "{url}");
        }
    }

    #[test]
    fn a_url_that_means_no_server_is_refused() {
        for (url, why) in [
            ("redis://a/x", "no number of a database"),
            ("redis://a?prefix={p}", "the option prefix"),
            ("redis://a?socket=/s", "a socket is on this machine"),
            ("redis://a?db=1", "unknown option"),
            ("redis://a?promise=strong", "the option promise is weak"),
        ] {
            let error = parse(url).err().expect(url);
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
    }
}
