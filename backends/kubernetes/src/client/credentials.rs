//! Who we are: where what a request shows comes from.

use std::path::{Path, PathBuf};

use elect_api::Error;
use hyper::header::HeaderValue;
use serde_json::Value;

use super::base64;
use super::held::Held;
use super::kubeconfig::{Entry, unfit};
use super::pass::{Pass, bearer, hidden};
use super::plugin::Plugin;

/// How a user proves who it is, beside by a client certificate of its own.
pub(super) enum Login {
    Nobody,
    /// A token or a password, which stays.
    Fixed(HeaderValue),
    File(TokenFile),
    Plugin(Plugin),
}

/// A token in a file, which is read again.
pub(super) struct TokenFile {
    held: Held,
    /// For as long as the file has none.
    spare: Option<HeaderValue>,
}

impl Login {
    /// That of a user. A plugin is told `cluster`, if it wants to know.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if it cannot be used, or `Denied` if a file may not be read.
    pub(super) fn of(user: &Entry, cluster: Value) -> Result<Self, Error> {
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
            return TokenFile::new(&what, path, token).map(Self::File);
        }
        if let Some(token) = token {
            return Ok(Self::Fixed(token));
        }
        match (name, password) {
            (None, None) => {}
            (Some(name), Some(password)) => {
                let both = base64(format!("{name}:{password}").as_bytes());
                return hidden(&format!("Basic {both}"))
                    .map(Self::Fixed)
                    .ok_or_else(|| odd("password"));
            }
            _ => return Err(user.wrong("needs both username and password")),
        }
        match user.part("exec") {
            Some(exec) => Plugin::new(&exec, cluster).map(Self::Plugin),
            None => Ok(Self::Nobody),
        }
    }

    /// That there is nothing to show although that took so long, and what to do.
    pub(super) fn silence(&self, limit: &str) -> String {
        match self {
            // They are at hand.
            Self::Nobody | Self::Fixed(_) => format!("there were no credentials within {limit}"),
            Self::File(file) => format!(
                "{} could not be read within {limit}: see its file system",
                file.held.path().display()
            ),
            Self::Plugin(plugin) => plugin.silence(limit),
        }
    }

    /// What the next request shows.
    ///
    /// # Errors
    /// Why there is nothing to show.
    ///
    /// # Cancellation
    /// A plugin goes on, and what it says is for the next caller.
    pub(super) async fn pass(&self) -> Result<Pass, String> {
        match self {
            Self::Nobody => Ok(Pass::default()),
            Self::Fixed(header) => Ok(Pass::showing(header.clone())),
            Self::File(file) => file.token().await.map(Pass::showing),
            Self::Plugin(plugin) => plugin.pass().await,
        }
    }

    /// The server did not know us by what was shown: what can be renewed is renewed before the next request.
    pub(super) fn doubt(&self) {
        match self {
            Self::Nobody | Self::Fixed(_) => {}
            Self::File(file) => file.held.doubt(),
            Self::Plugin(plugin) => plugin.doubt(),
        }
    }
}

impl TokenFile {
    /// One in a file, or in the place of it `spare` while it cannot be read.
    ///
    /// # Errors
    /// As [`Held::file`], and [`elect_api::ErrorKind::Unfit`] if there is no token in it.
    pub(super) fn new(
        what: &str,
        path: PathBuf,
        spare: Option<HeaderValue>,
    ) -> Result<Self, Error> {
        let held = match Held::file(what, path.clone()) {
            Err(_) if spare.is_some() => Held::missing(path),
            held => held?,
        };
        let file = Self { held, spare };
        file.read(&file.held.last()).map_err(unfit)?;
        Ok(file)
    }

    async fn token(&self) -> Result<HeaderValue, String> {
        self.read(&self.held.current().await)
    }

    fn read(&self, bytes: &[u8]) -> Result<HeaderValue, String> {
        let token = bytes.trim_ascii();
        let token = Some(token).filter(|token| !token.is_empty()).and_then(bearer);
        token.or_else(|| self.spare.clone()).ok_or_else(|| no_token(self.held.path()))
    }
}

fn no_token(path: &Path) -> String {
    format!(
        "there is no token in {}: it is empty, or has characters that no header may have",
        path.display()
    )
}
