use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// What the names of all that we make begin with.
const PREFIX: &str = "elect-selftest-";
/// How often another one is made in place of one that was taken for left behind.
const TRIES: u32 = 3;

/// A folder of this machine that is removed with all that is in it. As long as it lives it is locked: one that
/// nobody has locked is left from a selftest that was killed.
pub(super) struct Folder {
    path: PathBuf,
    name: String,
    _lock: File,
}

impl Folder {
    /// Makes one for us alone, in memory where there is a place for that: stamps on a disk would wait for it
    /// now and then.
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut tries = 1..TRIES;
        loop {
            let name = format!("{PREFIX}{:08x}", fastrand::u32(..));
            let path = make(&name)?;
            let lock = lock(&path).with_context(|| format!("cannot lock {}", path.display()))?;
            if let Some(lock) = lock {
                return Ok(Self { path, name, _lock: lock });
            }
            let _ = fs::remove_dir(&path);
            if tries.next().is_none() {
                anyhow::bail!("others take {} away from us", path.display());
            }
        }
    }

    /// Those that are left from selftests of this user that were killed. They are ours now.
    pub(super) fn left() -> impl Iterator<Item = Self> {
        let found = places().into_iter().filter_map(|place| fs::read_dir(place).ok()).flatten();
        found.flatten().filter_map(|entry| {
            let (path, name) = (entry.path(), entry.file_name().into_string().ok()?);
            if !name.starts_with(PREFIX) {
                return None;
            }
            let lock = lock(&path).ok().flatten()?;
            // Anybody may make folders there.
            let is_ours =
                lock.metadata().is_ok_and(|it| it.uid() == nix::unistd::geteuid().as_raw());
            is_ours.then_some(Self { path, name, _lock: lock })
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Removes it with all that is in it.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

fn places() -> [PathBuf; 2] {
    ["/dev/shm".into(), std::env::temp_dir()]
}

fn make(name: &str) -> anyhow::Result<PathBuf> {
    let [memory, disk] = places();
    let make = |place: &Path| {
        let folder = place.join(name);
        DirBuilder::new().mode(0o700).create(&folder).map(|()| folder)
    };
    if let Ok(folder) = make(&memory) {
        return Ok(folder);
    }
    make(&disk).with_context(|| format!("cannot make a folder in {}", disk.display()))
}

/// Locks it, unless somebody else has, or it is none.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        folder => folder?,
    };
    match folder.try_lock() {
        Ok(()) => Ok(path.exists().then_some(folder)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}
