//! The address of an API server, as the URL in a kubeconfig or in a pod.

use std::fmt;

use elect_api::Error;
use elect_remote::Host;
use hyper::Uri;

use super::kubeconfig::unfit;

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
