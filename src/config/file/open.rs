//! Which configuration file counts, and whether it is to be trusted.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::{env, fmt};

use elect_api::path::{
    self, Cause, Doubt, Last, Stop, Walk, is_read_only, is_regular, is_writable_by_others,
};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fstat, fstatat, stat};
use nix::unistd::Uid;

use crate::cli::Position;
use crate::config::ConfigError;
use crate::guard::reason;

/// The greatest size of a configuration file, in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// What to name in the place of a configuration file for none to count.
pub const NO_FILE: &str = "/dev/null";

/// A configuration file that nobody but we and root can have written.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) is_readable_by_all: bool,
}

/// Opens and reads the file at `path`; `None` if there is none.
///
/// # Errors
/// Somebody else can write the file or replace it, or it cannot be read.
pub(super) fn open(path: &Path) -> Result<Option<Source>, ConfigError> {
    look(path)?.or_else(|errno| unreadable(path, &reason(errno as i32)))
}

/// The same for a path that nobody named: `HOME` may be another user's, whose files are not for us.
///
/// # Errors
/// As [`open`], but a directory that we may not enter counts as empty.
pub(super) fn open_if_in_reach(path: &Path) -> Result<Option<Source>, ConfigError> {
    match look(path)? {
        Err(Errno::EACCES) => Ok(None),
        found => found.or_else(|errno| unreadable(path, &reason(errno as i32))),
    }
}

/// `Err` inside if the way to the file is closed to us.
fn look(path: &Path) -> Result<Result<Option<Source>, Errno>, ConfigError> {
    // As a rule there is none, which this tells at once. With any other answer the way is looked at.
    if let Err(Errno::ENOENT | Errno::ENOTDIR) = stat(path) {
        return Ok(Ok(None));
    }
    if path == Path::new(NO_FILE) {
        let text = String::new();
        return Ok(Ok(Some(Source { path: path.to_owned(), text, is_readable_by_all: true })));
    }
    let me = Uid::effective().as_raw();
    let whole = std::path::absolute(path)
        .map_err(|error| ConfigError::untrusted(path, format!("cannot be found: {error}")))?;
    let mut walk = match Walk::along(&whole, Last::Followed) {
        Ok(walk) => walk,
        Err(errno) => return Ok(Err(errno)),
    };
    let name = match walk.go() {
        Stop::There(name) | Stop::Open(name) => name,
        // Where there is nothing, nobody is misled.
        Stop::Missing(_) | Stop::Closed(Errno::ENOENT | Errno::ENOTDIR) => return Ok(Ok(None)),
        Stop::Closed(errno) => return Ok(Err(errno)),
    };
    let users = [me, 0];
    path::strict(walk.steps(), &users, None).map_err(|doubt| untrusted(&doubt))?;
    let Some((file, stat)) = open_regular(walk.folder(), &name, path)? else {
        return Ok(Ok(None));
    };
    if !users.contains(&stat.st_uid) {
        let cause = Cause::Owner(stat.st_uid);
        return Err(untrusted(&Doubt { path: path.to_owned(), cause }));
    }
    path::appointed(walk.steps(), &users)
        .and_then(|known| known.vouch_for(&stat, path))
        .map_err(|doubt| untrusted(&doubt))?;
    if is_writable_by_others(&stat) && !is_read_only(&file) {
        let why =
            "can be written by other users, who could make elect run as they like: chmod go-w it";
        return Err(ConfigError::untrusted(path, why.to_owned()));
    }
    let text = read(file, path)?;
    let is_readable_by_all = stat.st_mode & libc::S_IROTH != 0;
    Ok(Ok(Some(Source { path: path.to_owned(), text, is_readable_by_all })))
}

/// Opens what has this name in the directory; `None` if it is gone by now.
fn open_regular(
    directory: &OwnedFd,
    name: &OsStr,
    path: &Path,
) -> Result<Option<(OwnedFd, FileStat)>, ConfigError> {
    let odd = || Err(ConfigError::untrusted(path, "is not a regular file: name one".to_owned()));
    // A device may do things when it is opened, and a FIFO wait for ever.
    let before = fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW);
    if before.is_ok_and(|stat| !is_regular(&stat)) {
        return odd();
    }
    let flags = OFlag::O_RDONLY
        | OFlag::O_NOFOLLOW
        | OFlag::O_NONBLOCK
        | OFlag::O_NOCTTY
        | OFlag::O_CLOEXEC;
    let file = match openat(directory, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(None),
        Err(errno) => return unreadable(path, &reason(errno as i32)),
    };
    match fstat(&file) {
        Ok(stat) if is_regular(&stat) => Ok(Some((file, stat))),
        _ => odd(),
    }
}

fn unreadable<T>(path: &Path, why: &str) -> Result<T, ConfigError> {
    let why = format!("cannot be read: {why}; let us read it, or name another file with --config");
    Err(ConfigError::untrusted(path, why))
}

fn read(file: OwnedFd, path: &Path) -> Result<String, ConfigError> {
    let refuse = |why: String| Err(ConfigError::untrusted(path, why));
    let mut bytes = Vec::new();
    // The size that is told need not be that which is read.
    if let Err(error) = File::from(file).take(MAX_SIZE + 1).read_to_end(&mut bytes) {
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

/// What makes a configuration file one that strangers may have written.
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
        return open(named)?.ok_or_else(missing).map(Some);
    }
    if let Some(user) = &places.user
        && let Some(source) = open_if_in_reach(user)?
    {
        return Ok(Some(source));
    }
    open(&places.system)
}
