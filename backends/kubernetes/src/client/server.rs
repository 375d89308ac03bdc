//! The API server: its address, and the way to it.

use std::fmt;

use elect_api::Error;
use elect_remote::{Check, Hints, Host, Pem, Proxy, Secured};
use hyper::Uri;
use serde_json::{Value, json};

use super::base64;
use super::files::Files;
use super::kubeconfig::{NamedItem, unfit};

/// A certificate and its key, in PEM.
pub(super) type Identity = (String, String);

/// An API server, and the way to it.
pub(super) struct Server {
    pub(super) address: Address,
    /// `None` if it speaks HTTP in clear.
    pub(super) tls: Option<Tls>,
    pub(super) proxy: Option<Proxy>,
    /// The settings that people may have to correct.
    pub(super) hints: Hints,
}

/// TLS with an API server.
pub(super) struct Tls {
    pem: Pem,
    secured: Secured,
}

impl Server {
    /// What it takes to begin TLS, if the server speaks it. A plugin's `identity` counts before ours.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if the plugin's certificate cannot be used.
    pub(super) fn secured(&self, identity: Option<&Identity>) -> Result<Option<Secured>, Error> {
        let Some(Tls { pem, secured }) = &self.tls else { return Ok(None) };
        let mut secured = secured.clone();
        if let Some(identity) = identity {
            let pem = Pem { identity: Some(identity.clone()), ..pem.clone() };
            let printed = "clientCertificateData and clientKeyData of the plugin";
            secured.config = pem.config(&[], &self.hints.authority, printed)?;
        }
        Ok(Some(secured))
    }

    /// Returns whether the server may be any machine, as its certificate is not checked.
    pub(super) fn is_blind(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.pem.check == Check::Nothing)
    }
}

impl Tls {
    /// Gets ready for TLS with a server whose certificate has this name.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if a certificate, a key or the name cannot be used.
    pub(super) fn new(pem: Pem, name: &str, hints: &Hints) -> Result<Self, Error> {
        let config = pem.config(&[], &hints.authority, &hints.identity)?;
        Ok(Self { pem, secured: Secured::new(config, name)? })
    }
}

/// Names the settings of a cluster and of a user.
pub(super) fn hints(cluster: &str, user: &str) -> Hints {
    Hints {
        place: format!("the server of {cluster}").into(),
        other_name: format!("correct the server of {cluster}, or set its tls-server-name").into(),
        authority: format!("certificate-authority of {cluster}").into(),
        identity: format!("client-certificate and client-key of {user}").into(),
        ..Hints::of_url("http", "https", "")
    }
}

/// Reads the server of a cluster, and what a plugin is told of it.
///
/// # Errors
/// [`elect_api::ErrorKind::Unfit`] or `Denied` if it cannot be used as the kubeconfig has it.
pub(super) fn server_of(
    cluster: &NamedItem,
    user: Option<&NamedItem>,
    env: &dyn Fn(&str) -> Option<String>,
    files: &mut Files,
) -> Result<(Server, Value), Error> {
    let title = cluster.title();
    let url = cluster.text("server")?.ok_or_else(|| cluster.wrong("has no server"))?;
    let address = Address::parse(&url, &title)?;
    let proxy_url = cluster.text("proxy-url")?;
    let proxy = match &proxy_url {
        Some(url) => Some(Proxy::parse(url, &format!("the proxy-url of {title}"))?),
        None => Proxy::of_environment(env, &address.host, address.is_tls)?,
    };
    let hints = hints(&title, &user.map_or_else(|| "a user".to_owned(), NamedItem::title));
    let authority = cluster.pem("certificate-authority", files)?;
    let told = [
        ("server", Some(json!(url))),
        ("tls-server-name", cluster.text("tls-server-name")?.map(Value::String)),
        (
            "insecure-skip-tls-verify",
            cluster.flag("insecure-skip-tls-verify")?.then_some(Value::Bool(true)),
        ),
        ("proxy-url", proxy_url.map(Value::String)),
        ("certificate-authority-data", authority.as_ref().map(|pem| json!(base64(pem.as_bytes())))),
        ("config", extension(cluster)),
    ];
    let told = told.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let tls = tls_of(cluster, user, &address, authority, &hints, files)?;
    Ok((Server { address, tls, proxy, hints }, told.collect()))
}

/// Reads what TLS with a server takes; `None` if it speaks no TLS.
fn tls_of(
    cluster: &NamedItem,
    user: Option<&NamedItem>,
    address: &Address,
    authority: Option<String>,
    hints: &Hints,
    files: &mut Files,
) -> Result<Option<Tls>, Error> {
    let is_blind = cluster.flag("insecure-skip-tls-verify")?;
    if is_blind && authority.is_some() {
        let why = "has a certificate-authority and insecure-skip-tls-verify: remove one of them";
        return Err(cluster.wrong(why));
    }
    let mut of_user = |key| user.map_or(Ok(None), |user| user.pem(key, files));
    let identity = match (of_user("client-certificate")?, of_user("client-key")?, user) {
        (Some(certificate), Some(key), _) => Some((certificate, key)),
        (None, None, _) | (_, _, None) => None,
        (.., Some(user)) => {
            return Err(user.wrong("needs both client-certificate and client-key"));
        }
    };
    if !address.is_tls {
        return Ok(None);
    }
    let authorities = match authority {
        Some(pem) => pem,
        None if is_blind => String::new(),
        None => files.system_authorities(&hints.authority)?,
    };
    let name = cluster.text("tls-server-name")?;
    let name = name.as_deref().unwrap_or_else(|| address.host.without_zone());
    let check = if is_blind { Check::Nothing } else { Check::Name };
    Tls::new(Pem { authorities, identity, check }, name, hints).map(Some)
}

/// Returns the settings that the cluster has for plugins.
fn extension(cluster: &NamedItem) -> Option<Value> {
    let extensions = cluster.value("extensions").as_array()?;
    let ours = json!("client.authentication.k8s.io/exec");
    let found = extensions.iter().find(|extension| extension.get("name") == Some(&ours))?;
    found.get("extension").cloned()
}

/// The parts of an API server's URL.
pub(super) struct Address {
    pub(super) host: Host,
    /// The host and the port as the URL has them.
    pub(super) authority: String,
    /// The beginning of all paths: empty, or a path without a slash at its end.
    pub(super) base: String,
    pub(super) is_tls: bool,
}

impl Address {
    /// Reads a URL. `whose` names its owner in messages.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if no API server can have it.
    pub(super) fn parse(url: &str, whose: &str) -> Result<Self, Error> {
        // The message does not quote the URL, which may have a password.
        let wrong = |why: &str| {
            unfit(format!(
                "the server of {whose} {why}: write https://HOST:PORT or https://HOST:PORT/PATH"
            ))
        };
        let uri: Uri = url.parse().map_err(|_| wrong("is no URL"))?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong("begins neither with https:// nor with http://")),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str()).to_owned();
        let name = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if authority.contains('@') {
            return Err(wrong("has a user in it"));
        }
        if uri.query().is_some() {
            return Err(wrong("has a ? in it"));
        }
        if name.is_empty() {
            return Err(wrong("names no host"));
        }
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let base = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { host: Host { name, port }, authority, base, is_tls })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.host, self.base)
    }
}
