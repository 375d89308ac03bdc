//! The URL of agents or servers, and Consul's own variables.

use elect_api::{Error, StoreId};
use elect_remote::{
    Address, Demand, Host, Parts, Password, Settings, Variable, Wanted, Way, unfit,
};

use crate::PRODUCT;
use crate::environment::Usual;

const DEFAULT_PORT: u16 = 8500;
/// The usual port with TLS.
const DEFAULT_TLS_PORT: u16 = 8501;
const DEFAULT_PREFIX: &str = "elect";
/// The longest prefix, in letters.
const LONGEST_PREFIX: usize = 256;
/// The options that a URL may have.
pub(crate) const OPTIONS: &[&str] = &[
    "ca",
    "cert",
    "dc",
    "key",
    "password-file",
    "server-name",
    "socket",
    StoreId::OPTION,
    "token-file",
];
/// The settings that a variable of Consul's has, too.
const VARIABLES: &[(&str, &str)] = &[
    ("ca", "CONSUL_CACERT"),
    ("cert", "CONSUL_CLIENT_CERT"),
    ("key", "CONSUL_CLIENT_KEY"),
    ("server-name", "CONSUL_TLS_SERVER_NAME"),
];

/// Reads a URL, and the files that it names. `variable` reads the environment.
///
/// # Errors
/// `Unfit` or `Denied`, with a message that names the wrong part.
pub(crate) fn parse(text: &str, variable: Variable<'_>) -> Result<Address, Error> {
    let settings = Settings::of(text, OPTIONS, VARIABLES, variable)?;
    let usual = Usual::of(&settings)?;
    let is_secured =
        usual.as_ref().map_or(settings.url.scheme.ends_with("tls"), |it| it.is_secured);
    let is_checked = usual.as_ref().is_none_or(|usual| usual.is_checked);
    let demand = match (is_secured, is_checked) {
        (false, _) => Demand::Off,
        (true, true) => Demand::Name,
        (true, false) => Demand::Required,
    };
    let is_blind = demand == Demand::Required;
    let file = |name: &&str| settings.get(name).filter(|_| is_secured);
    let [ca, cert, key] = PRODUCT.names.each_ref().map(file);
    let parts = Parts {
        ways: match usual {
            Some(usual) => vec![usual.way],
            None => ways(&settings, is_secured)?,
        },
        database: prefix(&settings.url.path)?,
        user: "token".to_owned(),
        space: (datacenter(settings.url.option("dc"))?, "dc", ""),
        wanted: Wanted {
            demand,
            setting: if is_blind { "CONSUL_HTTP_SSL_VERIFY=false" } else { "consul://" }.to_owned(),
            better: "consul+tls://",
            files: [ca.filter(|_| !is_blind), cert, key],
            server_name: settings.get("server-name").filter(|_| is_secured),
        },
    };
    settings.address(&PRODUCT, parts, |_| token(&settings))
}

/// The ways that a URL names.
fn ways(settings: &Settings<'_>, is_secured: bool) -> Result<Vec<Way>, Error> {
    let url = &settings.url;
    if url.option("socket").is_some() {
        return Err(unfit("a socket is on this machine: write consul:///PREFIX?socket=PATH"));
    }
    let port = |given| if given == 0 { port(is_secured) } else { given };
    let way = |host: &Host| Way::Network(Host { port: port(host.port), ..host.clone() });
    Ok(url.hosts.iter().map(way).collect())
}

pub(crate) const fn port(is_secured: bool) -> u16 {
    if is_secured { DEFAULT_TLS_PORT } else { DEFAULT_PORT }
}

fn prefix(path: &str) -> Result<String, Error> {
    let prefix = path.trim_matches('/');
    let prefix = if prefix.is_empty() { DEFAULT_PREFIX } else { prefix };
    let is_plain = |part: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        !part.is_empty() && part.chars().all(is_letter) && part.chars().any(|letter| letter != '.')
    };
    if prefix.len() > LONGEST_PREFIX || !prefix.split('/').all(is_plain) {
        return Err(unfit(format!(
            "the prefix after the host has 1 to {LONGEST_PREFIX} letters, digits and the characters _-., and single \
             slashes between them"
        )));
    }
    Ok(prefix.to_owned())
}

fn datacenter(given: Option<&str>) -> Result<String, Error> {
    let name = given.unwrap_or_default();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if name.chars().all(is_letter) {
        return Ok(name.to_owned());
    }
    Err(unfit("the option dc is the name of a datacenter: letters, digits, _ and -"))
}

/// The token: as each store's password, or as Consul's own variables have it.
fn token(settings: &Settings<'_>) -> Result<Option<Password>, Error> {
    if let Some(token) = settings.password("")? {
        return Ok(Some(token));
    }
    match settings.variable("CONSUL_HTTP_TOKEN_FILE") {
        Some(path) => Password::in_file(&path).map(Some),
        None => settings.password("CONSUL_HTTP_TOKEN"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use elect_remote::Encryption;

    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, Error> {
        super::parse(url, &elect_testkit::environment(variables))
    }

    #[test]
    fn what_a_url_leaves_out_is_what_consul_takes() {
        for (url, variables, expected) in [
            ("consul://a", &[][..], "consul://a:8500/elect"),
            ("consul://a,b:1/x/y?dc=d", &[], "consul://a:8500,b:1/x/y?dc=d"),
            ("consul+tls://a", &[], "consul://a:8501/elect"),
            ("consul://", &[], "consul://localhost:8500/elect"),
            ("consul:///p?socket=/s", &[], "consul:///s/p"),
            ("consul:///p", &[("CONSUL_HTTP_ADDR", "b:9")], "consul://b:9/p"),
            ("consul://", &[("CONSUL_HTTP_ADDR", "http://b:9/")], "consul://b:9/elect"),
            ("consul://", &[("CONSUL_HTTP_ADDR", "https://b")], "consul://b:443/elect"),
            ("consul://", &[("CONSUL_HTTP_ADDR", "b")], "consul://b:80/elect"),
            ("consul://", &[("CONSUL_HTTP_ADDR", ":9")], "consul://localhost:9/elect"),
            ("consul://", &[("CONSUL_HTTP_SSL", "1")], "consul://localhost:8501/elect"),
            ("consul://", &[("CONSUL_HTTP_ADDR", "unix:///s")], "consul:///s/elect"),
            ("consul://a", &[("CONSUL_HTTP_ADDR", "https://b:9")], "consul://a:8500/elect"),
        ] {
            let address = parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.location, expected, "{url}, {variables:?}");
        }
    }

    #[test]
    fn tls_is_as_the_url_or_the_variables_have_it() {
        let is_secured = |url: &str, variables: &[(&str, &str)]| {
            let address = parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}"));
            matches!(address.encryption, Encryption::Required(_))
        };
        assert!(is_secured("consul+tls://a", &[]));
        assert!(is_secured("consul://", &[("CONSUL_HTTP_SSL", "true")]));
        assert!(is_secured("consul://", &[("CONSUL_HTTP_ADDR", "https://a")]));
        assert!(!is_secured("consul://a", &[("CONSUL_HTTP_SSL", "true")]));
        // As Consul's own client has it.
        assert!(is_secured(
            "consul://",
            &[("CONSUL_HTTP_ADDR", "http://a"), ("CONSUL_HTTP_SSL", "1")]
        ));
        // The files of others do not matter without TLS.
        assert!(!is_secured("consul://a", &[("CONSUL_CACERT", "/is/not/there")]));
    }

    #[test]
    fn a_token_is_where_consul_or_elect_has_it() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&file, "of-file\n").expect("written");
        let path = file.path().to_str().expect("a path");
        let token = |url: &str, variables: &[(&str, &str)]| {
            let address = parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}"));
            address.destinations[0].password.as_ref().map(|token| token.reveal().to_owned())
        };
        let of_variable = ("CONSUL_HTTP_TOKEN", "of-variable");
        assert_eq!(token("consul://a", &[]), None);
        assert_eq!(token("consul://a", &[of_variable]).as_deref(), Some("of-variable"));
        let of_file = ("CONSUL_HTTP_TOKEN_FILE", path);
        assert_eq!(token("consul://a", &[of_variable, of_file]).as_deref(), Some("of-file"));
        let url = format!("consul://a?token-file={path}");
        assert_eq!(token(&url, &[of_variable]).as_deref(), Some("of-file"));
    }

    #[test]
    fn a_url_that_means_no_store_is_refused() {
        for (url, variables, why) in [
            ("consul://a/b//c", &[][..], "the prefix"),
            ("consul://a/x/../y", &[], "the prefix"),
            ("consul://a/x%20y", &[], "the prefix"),
            ("consul://a?dc=a/b", &[], "the option dc"),
            ("consul://a?socket=/s", &[], "a socket is on this machine"),
            ("consul://a?wait=1", &[], "unknown option"),
            ("consul://", &[("CONSUL_HTTP_ADDR", "ftp://a")], "begins with http://"),
            ("consul://", &[("CONSUL_HTTP_ADDR", "a,b")], "names one host"),
            ("consul://", &[("CONSUL_HTTP_SSL", "maybe")], "is true or false"),
            ("consul+tls:///?socket=/s", &[], "no TLS over a socket"),
            ("consul://a", &[("CONSUL_NAMESPACE", "n")], "unset CONSUL_NAMESPACE"),
        ] {
            let error = parse(url, variables).err().expect(url);
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
    }
}
