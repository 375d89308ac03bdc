//! Our credentials, and the source of each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elect_api::Error;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::base64;
use super::files::Files;
use super::kubeconfig::{NamedItem, unfit};
use super::plugin::Plugin;
use super::server::Identity;

/// The credentials of a request.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) authorization: Option<HeaderValue>,
    /// A plugin's certificate, which belongs to the connection.
    pub(super) identity: Option<Arc<Identity>>,
}

impl Pass {
    pub(super) fn showing(header: HeaderValue) -> Self {
        Self { authorization: Some(header), identity: None }
    }
}

/// Makes the header with a token, or `None` if no header can have it.
pub(super) fn bearer(token: &[u8]) -> Option<HeaderValue> {
    let token = std::str::from_utf8(token).ok()?;
    hidden(&format!("Bearer {token}"))
}

/// Makes a header that no `Debug` prints.
fn hidden(text: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// How a user proves its identity, apart from a client certificate of its own.
pub(super) enum Login {
    Nobody,
    /// A token or a password.
    Shown(HeaderValue),
    Plugin(Plugin),
}

impl Login {
    /// Reads the login of a user. A plugin may be told `cluster`. `is_first` allows the token beside a tokenFile that
    /// cannot be read. Later the token that we had is newer.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if it cannot be used, or `Denied` if a file cannot be read.
    pub(super) fn of(
        user: &NamedItem,
        cluster: Value,
        files: &mut Files,
        is_first: bool,
    ) -> Result<Self, Error> {
        if !user.value("auth-provider").is_null() {
            return Err(user.wrong(
                "has an auth-provider, which kubectl no longer knows either: use an exec plugin, such as kubelogin or \
                 gke-gcloud-auth-plugin",
            ));
        }
        let token = user.text("token")?;
        let name = user.text("username")?;
        let password = user.text("password")?;
        if (name.is_some() || password.is_some()) && token.is_some() {
            return Err(user.wrong("has both a token and a password: remove one of them"));
        }
        let odd = |key: &str| user.wrong(&format!("has a {key} that no header may have"));
        let token = token.map(|token| bearer(token.as_bytes()).ok_or_else(|| odd("token")));
        let token = token.transpose()?;
        if let Some(path) = user.path("tokenFile")? {
            let what = format!("the tokenFile of {}", user.title());
            return match (Self::by_file(&what, &path, files), token) {
                (Err(_), Some(token)) if is_first => Ok(Self::Shown(token)),
                (login, _) => login,
            };
        }
        if let Some(token) = token {
            return Ok(Self::Shown(token));
        }
        match (name, password) {
            (None, None) => {}
            (Some(name), Some(password)) => {
                let both = base64(format!("{name}:{password}").as_bytes());
                return hidden(&format!("Basic {both}"))
                    .map(Self::Shown)
                    .ok_or_else(|| odd("password"));
            }
            _ => return Err(user.wrong("needs both username and password")),
        }
        match user.part("exec") {
            Some(exec) => Plugin::new(&exec, cluster).map(Self::Plugin),
            None => Ok(Self::Nobody),
        }
    }

    /// Reads a token from a file.
    ///
    /// # Errors
    /// As [`Files::read`], and [`elect_api::ErrorKind::Unfit`] if there is no token in it.
    pub(super) fn by_file(what: &str, path: &Path, files: &mut Files) -> Result<Self, Error> {
        let bytes = files.read(what, path)?;
        let token = bytes.trim_ascii();
        let token = Some(token).filter(|token| !token.is_empty()).and_then(bearer);
        token.map(Self::Shown).ok_or_else(|| unfit(no_token(path)))
    }

    /// Says that there were no credentials within the limit, and what to do about it.
    pub(super) fn silence(&self, limit: &str) -> String {
        match self {
            // Neither takes time.
            Self::Nobody | Self::Shown(_) => format!("there were no credentials within {limit}"),
            Self::Plugin(plugin) => plugin.silence(limit),
        }
    }

    /// Returns the credentials for the next request.
    ///
    /// # Errors
    /// The reason why there are none, for people.
    ///
    /// # Cancellation
    /// A plugin goes on, and its answer serves the next caller.
    pub(super) async fn pass(&self) -> Result<Pass, String> {
        match self {
            Self::Nobody => Ok(Pass::default()),
            Self::Shown(header) => Ok(Pass::showing(header.clone())),
            Self::Plugin(plugin) => plugin.pass().await,
        }
    }

    /// Asks a plugin again before the next request, as the server refused its credentials.
    pub(super) fn doubt(&self) {
        match self {
            Self::Nobody | Self::Shown(_) => {}
            Self::Plugin(plugin) => plugin.doubt(),
        }
    }
}

fn no_token(path: &Path) -> String {
    format!(
        "there is no token in {}: it is empty, or has characters that no header may have",
        path.display()
    )
}

/// Makes the headers by which a user acts for another.
pub(super) fn acts_for(user: &NamedItem) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str, key: &str| {
        let odd = || user.wrong(&format!("has a {key} that no header may have"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| odd())?;
        headers.push((name, HeaderValue::from_str(value).map_err(|_| odd())?));
        Ok::<(), Error>(())
    };
    let name = user.text("as")?;
    if let Some(name) = &name {
        add("impersonate-user", name, "as")?;
    }
    if let Some(uid) = user.text("as-uid")? {
        add("impersonate-uid", &uid, "as-uid")?;
    }
    for group in user.texts("as-groups")? {
        add("impersonate-group", &group, "as-groups")?;
    }
    if let Some(extra) = user.part("as-user-extra") {
        for key in extra.keys() {
            for value in extra.texts(&key)? {
                add(&format!("impersonate-extra-{}", escape(&key)), &value, "as-user-extra")?;
            }
        }
    }
    if name.is_none() && !headers.is_empty() {
        return Err(user.wrong("has as-uid, as-groups or as-user-extra, which require as"));
    }
    Ok(headers)
}

/// Escapes a name for the name of a header, as client-go does.
fn escape(key: &str) -> String {
    let mut escaped = String::new();
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            escaped.push(byte.into());
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Lists the files with a user's secrets.
pub(super) fn secrets(user: &NamedItem) -> Result<Vec<PathBuf>, Error> {
    let written_out = ["token", "password", "client-key-data"];
    let is_here = written_out.iter().any(|key| !user.value(key).is_null());
    let files = [user.path("tokenFile")?, user.path("client-key")?];
    Ok(is_here
        .then(|| user.file().to_owned())
        .into_iter()
        .chain(files.into_iter().flatten())
        .collect())
}
