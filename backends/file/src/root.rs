use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use elect_api::{Error, ErrorKind, Finding};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::stat::fstat;
use nix::sys::statfs::{Statfs, fstatfs};
use nix::unistd::{AccessFlags, Uid, faccessat};

use crate::error::{failed, wrong};
use crate::network;
use crate::trust::Policy;
use crate::url::{self, Address};
use crate::walk::descend;

/// The place of the system's elections: where services keep their durable state.
const SYSTEM: &str = "/var/lib/elect";

/// The directory whose subdirectories are the elections.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    allow_network: bool,
}

/// The environment that decides the default root.
pub(crate) trait Surroundings {
    /// The environment variable of this name, if it is set and not empty.
    fn variable(&self, name: &str) -> Option<OsString>;
    /// Whether this process may write to the directory at `path`; `None` if there is none.
    fn writable(&self, path: &Path) -> Option<bool>;
}

/// The environment of this process.
pub(crate) struct Process;

impl Surroundings for Process {
    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name).filter(|value| !value.is_empty())
    }

    fn writable(&self, path: &Path) -> Option<bool> {
        let may = |flags| faccessat(AT_FDCWD, path, flags, AtFlags::AT_EACCESS).is_ok();
        may(AccessFlags::F_OK).then(|| may(AccessFlags::W_OK | AccessFlags::X_OK))
    }
}

impl Root {
    /// The root that the URL names, or else the first default that fits. Changes nothing on the disk.
    pub(crate) fn choose(
        address: Address,
        surroundings: &impl Surroundings,
    ) -> Result<Self, Error> {
        let Address { directory, allow_network } = address;
        let path = directory.map_or_else(|| default_path(surroundings), Ok)?;
        Ok(Self { path, allow_network })
    }

    /// A note that the system's elections are in another directory, if there are any. For a root that was
    /// chosen by default.
    pub(crate) fn system_beside(&self, surroundings: &impl Surroundings) -> Option<Finding> {
        let system = Path::new(SYSTEM);
        let is_apart = self.path != system && surroundings.variable("STATE_DIRECTORY").is_none();
        (is_apart && surroundings.writable(system).is_some()).then(|| {
            Finding::note(
                format!(
                    "elections of this user are in {}, those of root in {SYSTEM}: they are different elections",
                    self.path.display()
                ),
                "for one election of both, name one directory with -b file:///DIR",
            )
        })
    }

    /// Opens the root, and returns whom to trust in it. `None` if there is none and `create` is false.
    pub(crate) fn open(&self, create: bool) -> Result<Option<(OwnedFd, Policy)>, Error> {
        let me = Uid::effective().as_raw();
        let Some((directory, steps)) = descend(&self.path, me, create)? else { return Ok(None) };
        let stat = fstat(&directory).map_err(|errno| failed("examine", &self.path, errno))?;
        let policy = Policy::of_root(me, &stat, &self.path, &steps)?;
        self.check_local(&directory)?;
        Ok(Some((directory, policy)))
    }

    fn check_local(&self, directory: &OwnedFd) -> Result<(), Error> {
        if self.allow_network {
            return Ok(());
        }
        let found = fstatfs(directory)
            .map_err(|errno| failed("examine the file system of", &self.path, errno))?;
        refuse_network(magic(&found), &self.path)
    }
}

/// The number that identifies the kind of a file system.
pub(crate) fn magic(found: &Statfs) -> u32 {
    // The number has 32 bits. On some machines its type has more bits, or a sign.
    u32::try_from(found.filesystem_type().0 & 0xFFFF_FFFF).unwrap_or(0)
}

fn refuse_network(magic: u32, path: &Path) -> Result<(), Error> {
    let Some(name) = network::name(magic) else { return Ok(()) };
    let what = format!(
        "is on {name}, where locks of several machines cannot be relied on: use etcd or ZooKeeper (-b etcd://... or \
         -b zk://...) to elect among machines, or name a local directory; if only this machine uses it, append \
         ?allow-network to its URL"
    );
    Err(wrong(ErrorKind::Unfit, path, &what))
}

fn default_path(surroundings: &impl Surroundings) -> Result<PathBuf, Error> {
    let absolute = |name: &str| {
        surroundings.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    if let Some(list) = surroundings.variable("STATE_DIRECTORY") {
        let first = list.as_bytes().split(|&byte| byte == b':').next().unwrap_or_default();
        let first = PathBuf::from(OsString::from_vec(first.to_vec()));
        return url::directory(&first).map_err(|why| {
            Error::new(ErrorKind::Unfit, format!("$STATE_DIRECTORY is {}: {why}", list.display()))
        });
    }
    let system = Path::new(SYSTEM);
    let parent =
        || system.parent().and_then(|parent| surroundings.writable(parent)).unwrap_or(false);
    if surroundings.writable(system).unwrap_or_else(parent) {
        return Ok(system.into());
    }
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .and_then(|state| url::directory(&state.join("elect")).ok())
        .ok_or_else(|| {
            let what = format!(
                "no place to keep elections: {SYSTEM} cannot be written, and neither $XDG_STATE_HOME nor $HOME is an \
                 absolute path; name a directory with -b file:///DIR"
            );
            Error::new(ErrorKind::Unfit, what)
        })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[derive(Default)]
    struct Fake {
        variables: HashMap<&'static str, &'static str>,
        writable: HashMap<&'static str, bool>,
    }

    impl Surroundings for Fake {
        fn variable(&self, name: &str) -> Option<OsString> {
            self.variables.get(name).map(Into::into)
        }
        fn writable(&self, path: &Path) -> Option<bool> {
            self.writable.get(path.to_str().unwrap()).copied()
        }
    }

    fn chosen(
        variables: &[(&'static str, &'static str)],
        writable: &[(&'static str, bool)],
    ) -> Result<PathBuf, Error> {
        default_path(&Fake {
            variables: variables.iter().copied().collect(),
            writable: writable.iter().copied().collect(),
        })
    }

    const USER: (&str, &str) = ("HOME", "/home/u");

    #[test]
    fn systemd_comes_first_then_the_system_then_the_user() {
        let all = [("STATE_DIRECTORY", "/var/lib/a:/var/lib/b"), ("XDG_STATE_HOME", "/x"), USER];
        assert_eq!(chosen(&all, &[("/var/lib/elect", true)]).unwrap(), Path::new("/var/lib/a"));
        assert_eq!(
            chosen(&all[1..], &[("/var/lib/elect", true)]).unwrap(),
            Path::new("/var/lib/elect")
        );
        assert_eq!(chosen(&all[1..], &[("/var/lib", true)]).unwrap(), Path::new("/var/lib/elect"));
        assert_eq!(
            chosen(&all[1..], &[("/var/lib/elect", false), ("/var/lib", true)]).unwrap(),
            Path::new("/x/elect")
        );
        assert_eq!(
            chosen(&[USER], &[("/var/lib", false)]).unwrap(),
            Path::new("/home/u/.local/state/elect")
        );
    }

    #[test]
    fn a_user_whose_store_is_apart_from_the_systems_is_told() {
        let told = |path: &str, variables: &[(&'static str, &'static str)], has_system: bool| {
            let writable = has_system.then_some(("/var/lib/elect", false));
            let fake = Fake {
                variables: variables.iter().copied().collect(),
                writable: writable.into_iter().collect(),
            };
            let root = Root { path: path.into(), allow_network: false };
            root.system_beside(&fake).map(|finding| finding.what)
        };
        let apart = told("/home/u/.local/state/elect", &[USER], true).expect("a note");
        assert!(apart.contains("/home/u/") && apart.contains("/var/lib/elect"), "{apart}");
        assert_eq!(told("/home/u/.local/state/elect", &[USER], false), None);
        assert_eq!(told("/var/lib/elect", &[USER], true), None);
        assert_eq!(told("/var/lib/x", &[("STATE_DIRECTORY", "/var/lib/x")], true), None);
    }

    #[test]
    fn a_relative_home_is_none() {
        assert_eq!(
            chosen(&[("XDG_STATE_HOME", "x"), USER], &[]).unwrap(),
            Path::new("/home/u/.local/state/elect")
        );
        let error = chosen(&[("HOME", "u")], &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfit);
        assert!(error.to_string().contains("file:///DIR"), "{error}");
        assert_eq!(chosen(&[("STATE_DIRECTORY", "a")], &[]).unwrap_err().kind(), ErrorKind::Unfit);
    }

    #[test]
    fn a_network_file_system_is_refused_with_the_ways_round() {
        let error = refuse_network(0x6969, Path::new("/net")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfit);
        for hint in ["/net", "NFS", "etcd", "?allow-network"] {
            assert!(error.to_string().contains(hint), "{error}");
        }
        assert!(refuse_network(0xEF53, Path::new("/local")).is_ok());
    }
}
