//! The host that Consul's own variables name.

use elect_api::Error;
use elect_remote::{Settings, Url, Way, unfit};

use crate::address::port;

const ADDRESS: &str = "CONSUL_HTTP_ADDR";
/// These name another store, which elect does not know.
const ENTERPRISE: [&str; 2] = ["CONSUL_NAMESPACE", "CONSUL_PARTITION"];

/// The way that the variables name, where the URL names no host.
pub(crate) struct Usual {
    pub(crate) way: Way,
    pub(crate) is_secured: bool,
    /// Whether the server's certificate is checked.
    pub(crate) is_checked: bool,
}

impl Usual {
    /// `None` if the URL names a host.
    pub(crate) fn of(settings: &Settings<'_>) -> Result<Option<Self>, Error> {
        if let Some(name) = ENTERPRISE.into_iter().find(|name| settings.variable(name).is_some()) {
            return Err(unfit(format!(
                "elect does not support namespaces and partitions of Consul Enterprise: unset {name}"
            )));
        }
        if settings.names_hosts {
            return Ok(None);
        }
        let given = settings.variable(ADDRESS);
        let text = given.as_deref().unwrap_or("localhost");
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        // As in Consul's own client, http:// does not take TLS back.
        let is_secured = settings.url.scheme.ends_with("tls")
            || scheme == "https"
            || flag(settings, "CONSUL_HTTP_SSL")? == Some(true);
        let is_checked = flag(settings, "CONSUL_HTTP_SSL_VERIFY")? != Some(false);
        let usual_port = match given {
            None => port(is_secured),
            Some(_) if is_secured => 443,
            Some(_) => 80,
        };
        let way = match (settings.url.option("socket"), scheme) {
            (Some(path), _) => Way::Socket(path.into()),
            (None, "unix") => Way::Socket(rest.into()),
            (None, "" | "http" | "https") => host(rest, usual_port)?,
            (None, _) => {
                return Err(unfit(format!("{ADDRESS} begins with http://, https:// or unix://")));
            }
        };
        if is_secured && way.host().is_none() {
            return Err(unfit("elect speaks no TLS over a socket: name a host and a port"));
        }
        Ok(Some(Self { way, is_secured, is_checked }))
    }
}

fn host(text: &str, usual_port: u16) -> Result<Way, Error> {
    // As in Consul's own client, a port alone is one of this machine.
    let machine = if text.starts_with(':') { "localhost" } else { "" };
    let url =
        Url::parse(&format!("consul://{machine}{}", text.trim_end_matches('/')), usual_port, &[]);
    let url = url.map_err(|error| unfit(format!("{ADDRESS} is no HOST:PORT: {error}")))?;
    match &url.hosts[..] {
        [host] if url.path.is_empty() => Ok(Way::Network(host.clone())),
        _ => Err(unfit(format!("{ADDRESS} names one host, and no path: put it into the URL"))),
    }
}

fn flag(settings: &Settings<'_>, name: &str) -> Result<Option<bool>, Error> {
    let value = settings.variable(name).map(|value| value.to_ascii_lowercase());
    match value.as_deref() {
        None => Ok(None),
        Some("1" | "t" | "true") => Ok(Some(true)),
        Some("0" | "f" | "false") => Ok(Some(false)),
        Some(_) => Err(unfit(format!("{name} is true or false"))),
    }
}
