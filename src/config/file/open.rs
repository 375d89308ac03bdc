//! Finds the configuration file that counts, and checks whether it can be trusted.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fmt};

use elect_system::path::{self, Cause, Disobeyed, Doubt, Inherited, Instructions};
use nix::errno::Errno;
use nix::libc;
use nix::sys::stat::stat;

use crate::cli::Position;
use crate::config::ConfigError;
use crate::guard::reason;

/// The greatest size of a configuration file, in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// The name that selects no configuration file at all.
pub const NO_FILE: &str = "/dev/null";

/// The text of a configuration file that only this user and root can have written.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) is_readable_by_all: bool,
}

/// Opens and reads the file at `path`; `None` if there is none.
///
/// # Errors
/// If another user can write or replace the file, or if it cannot be read.
pub(super) fn open(path: &Path) -> Result<Option<Source>, ConfigError> {
    open_checked(path)?.or_else(|errno| unreadable(path, &reason(errno as i32)))
}

/// As [`open`], for a path that the user did not name. `HOME` may belong to another user, whose files
/// do not concern this one.
///
/// # Errors
/// As [`open`], but a directory that this process may not enter counts as empty.
pub(super) fn open_if_in_reach(path: &Path) -> Result<Option<Source>, ConfigError> {
    match open_checked(path)? {
        Err(Errno::EACCES) => Ok(None),
        found => found.or_else(|errno| unreadable(path, &reason(errno as i32))),
    }
}

/// The inner `Err` says that the way to the file is closed.
fn open_checked(path: &Path) -> Result<Result<Option<Source>, Errno>, ConfigError> {
    if path == Path::new(NO_FILE) && stat(path).is_ok() {
        let text = String::new();
        return Ok(Ok(Some(Source { path: path.to_owned(), text, is_readable_by_all: true })));
    }
    let refuse = |why: &str| Err(ConfigError::untrusted(path, why.to_owned()));
    let Instructions { file, stat } = match path::instructions(path, Inherited::Refused) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Ok(None)),
        Err(Disobeyed::Doubt(doubt)) => return Err(untrusted(&doubt)),
        Err(Disobeyed::Writable) => {
            return refuse(
                "can be written by other users, who could make elect run as they like: chmod go-w it",
            );
        }
        Err(Disobeyed::Odd) => return refuse("is not a regular file: name one"),
        Err(Disobeyed::Closed(errno)) => return Ok(Err(errno)),
        Err(Disobeyed::Unreadable(errno)) => return unreadable(path, &reason(errno as i32)),
    };
    let text = read(file, path)?;
    let is_readable_by_all = stat.st_mode & libc::S_IROTH != 0;
    Ok(Ok(Some(Source { path: path.to_owned(), text, is_readable_by_all })))
}

fn unreadable<T>(path: &Path, why: &str) -> Result<T, ConfigError> {
    let why = format!(
        "cannot be read: {why}; give elect the right to read it, or name another file with --config"
    );
    Err(ConfigError::untrusted(path, why))
}

fn read(file: File, path: &Path) -> Result<String, ConfigError> {
    let refuse = |why: String| Err(ConfigError::untrusted(path, why));
    let mut bytes = Vec::new();
    // The reported size may differ from the size that is read.
    if let Err(error) = file.take(MAX_SIZE + 1).read_to_end(&mut bytes) {
        return unreadable(path, &error.to_string());
    }
    if bytes.len() as u64 > MAX_SIZE {
        return refuse("is larger than 1 MiB, which no configuration is: name another file".into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.split(|&byte| byte == b'\n').skip(1).count() as u64;
        let column = 1 + valid.iter().rev().take_while(|&&byte| byte != b'\n').count() as u64;
        let place = Position { file: path.to_owned(), line, column };
        ConfigError::file(&place, "is not UTF-8 text: save the file as UTF-8".to_owned())
    })
}

/// The error for a configuration file that another user may have written.
fn untrusted(doubt: &Doubt) -> ConfigError {
    let why = match doubt.cause {
        Cause::Owner(owner) => format!(
            "belongs to user {owner}, who could make elect run as they like: chown it, or name another file with \
             --config"
        ),
        Cause::Open => "can be written by other users, who could put another configuration in it: chmod go-w it, or \
                        name a file elsewhere with --config"
            .to_owned(),
        Cause::Linked => "has a second name (a hard link), which another user may have given it: copy it, or name \
                          another file with --config"
            .to_owned(),
    };
    ConfigError::untrusted(&doubt.path, why)
}

/// The system's configuration file. `$XDG_CONFIG_DIRS` is for desktops, and would be one more variable
/// that can mislead a service.
const SYSTEM: &str = "/etc/elect/config.yaml";

/// The path of a user's file, below the user's configuration directory.
const OF_USER: &str = "elect/config.yaml";

/// The search path of the configuration file. Only the first one that exists counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The file that the user named. Then it is the only one.
    pub named: Option<PathBuf>,
    /// The user's file, if a home directory is known.
    pub user: Option<PathBuf>,
    /// The system's file.
    pub system: PathBuf,
}

impl fmt::Display for SearchPath {
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

/// Returns the search path; `named` is the path that the user gave. The current directory is never
/// searched by default.
pub fn search_path(named: Option<&Path>) -> SearchPath {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home =
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    SearchPath {
        named: named.map(ToOwned::to_owned),
        user: home.map(|home| home.join(OF_USER)),
        system: SYSTEM.into(),
    }
}

/// Opens and reads the first file that exists.
///
/// # Errors
/// If a named file does not exist, or a file that exists cannot be trusted or read.
pub(super) fn first(search_path: &SearchPath) -> Result<Option<Source>, ConfigError> {
    if let Some(named) = &search_path.named {
        let missing = || {
            ConfigError::untrusted(named, "does not exist: create it, or name another one".into())
        };
        return open(named)?.ok_or_else(missing).map(Some);
    }
    if let Some(user) = &search_path.user
        && let Some(source) = open_if_in_reach(user)?
    {
        return Ok(Some(source));
    }
    open(&search_path.system)
}
