use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use super::open::{self, Source};
use crate::config::ConfigError;

/// The system's file. `$XDG_CONFIG_DIRS` is for desktops, and would be one more variable that can lead
/// a service elsewhere.
const SYSTEM: &str = "/etc/elect/config.yaml";

/// The file of a user, below the directory of configurations.
const OF_USER: &str = "elect/config.yaml";

/// The places where the configuration file may be, the first that exists being the only one to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The only place: it was named.
    pub named: Option<PathBuf>,
    /// The user's, where a home is known.
    pub user: Option<PathBuf>,
    /// The system's.
    pub system: PathBuf,
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.named, &self.user) {
            (Some(named), _) => write!(f, "{}", named.display()),
            (None, Some(user)) => {
                write!(f, "neither {} nor {} exists", user.display(), self.system.display())
            }
            (None, None) => write!(f, "{} does not exist", self.system.display()),
        }
    }
}

/// Where the file may be; `named` if the user said so. Never below the current directory by itself.
pub fn places(named: Option<&Path>) -> Places {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home =
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    Places {
        named: named.map(ToOwned::to_owned),
        user: home.map(|home| home.join(OF_USER)),
        system: SYSTEM.into(),
    }
}

/// The first that exists, opened and read.
///
/// # Errors
/// A named one does not exist; one that exists cannot be trusted or read.
pub(super) fn first(places: &Places) -> Result<Option<Source>, ConfigError> {
    if let Some(named) = &places.named {
        let missing = || {
            ConfigError::untrusted(named, "does not exist: create it, or name another one".into())
        };
        return open::open(named)?.ok_or_else(missing).map(Some);
    }
    if let Some(user) = &places.user
        && let Some(source) = open::open_if_in_reach(user)?
    {
        return Ok(Some(source));
    }
    open::open(&places.system)
}
