use std::fs::File;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use elect_api::{Cell, ElectionName, Error, ErrorKind};
use elect_system::path::is_regular;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};

use crate::error::{failed, wrong};
use crate::root::Root;
use crate::trust::{FileId, Policy};
use crate::walk::{make_directory, sync_directory};

/// The file whose lock decides who leads.
pub(crate) const LOCK: &str = "lock";
/// The file that the leader's command tree marks, and that names its leader. No candidate leads while any process of
/// another tree holds a mark.
pub(crate) const TREE: &str = "tree";
/// The file whose lock lets one newcomer in at a time.
pub(crate) const ENTER: &str = "enter";
/// The file that keeps the newest fencing token.
pub(crate) const TOKEN: &str = "token";
/// The file of the control cell.
pub(crate) const ORDERS: &str = "orders";
/// The file whose lock lets one writer of the control cell in at a time.
pub(crate) const ORDER: &str = "order";
/// The file whose lock lets one writer of fences in at a time.
pub(crate) const FENCE: &str = "fence";
/// The file whose lock lets one writer of values in at a time. No candidate begins to lead while it is held.
pub(crate) const VALUE: &str = "value";
/// The directory with the candidates' files.
pub(crate) const QUEUE: &str = "queue";

/// The directory of one election, held open.
pub(crate) struct ElectionDir {
    path: PathBuf,
    pub(crate) directory: OwnedFd,
    pub(crate) queue: Dir,
    policy: Policy,
}

impl ElectionDir {
    /// Opens the election's directory, and creates the parts that are missing.
    pub(crate) fn create(root: &Root, election: &ElectionName) -> Result<Self, Error> {
        Self::open(root, election, true)?.ok_or_else(|| {
            wrong(ErrorKind::Unreachable, &root.path, "vanished while it was being opened")
        })
    }

    /// Opens the election's directory for reading. `None` if it does not exist.
    pub(crate) fn visit(root: &Root, election: &ElectionName) -> Result<Option<Self>, Error> {
        Self::open(root, election, false)
    }

    fn open(root: &Root, election: &ElectionName, create: bool) -> Result<Option<Self>, Error> {
        let Some((top, policy)) = root.open(create)? else { return Ok(None) };
        let path = root.path.join(election.as_str());
        if create && is_missing(&top, election.as_str()) {
            make(&top, election.as_str(), &path, policy)?;
        }
        let Some(directory) = subdirectory(&top, election.as_str(), &path, policy, create)? else {
            return Ok(None);
        };
        let queue_path = path.join(QUEUE);
        let Some(queue) = subdirectory(&directory, QUEUE, &queue_path, policy, create)? else {
            return Ok(None);
        };
        let queue = Dir::from_fd(queue).map_err(|errno| failed("read", &queue_path, errno))?;
        Ok(Some(Self { path, directory, queue, policy }))
    }

    /// Opens one of the election's own files for reading and writing, and creates it if it is missing.
    pub(crate) fn file(&self, name: &str) -> Result<(File, FileId), Error> {
        let path = self.path.join(name);
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | SAFELY;
        if self.policy.is_shared() && is_missing(&self.directory, name) {
            self.make_file(name);
        }
        let file = openat(&self.directory, name, flags, self.file_mode())
            .map_err(|errno| opening(self.policy, "open", &path, errno))?;
        let id = self.admit(&file, &path)?;
        Ok((file.into(), id))
    }

    /// Makes a file that has its final mode before it gets its name. So a process that is killed in between leaves no
    /// file that is closed to others. Not all file systems can do this, and another process may be faster. Then the
    /// caller opens the file in the usual way.
    fn make_file(&self, name: &str) {
        let flags = OFlag::O_RDWR | OFlag::O_TMPFILE | OFlag::O_CLOEXEC;
        let Ok(file) = openat(&self.directory, ".", flags, self.file_mode()) else { return };
        if fchmod(&file, self.file_mode()).is_ok() {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            let follow = AtFlags::AT_SYMLINK_FOLLOW;
            let _ = linkat(AT_FDCWD, path.as_str(), &self.directory, name, follow);
        }
    }

    /// Sets the mode of an own file if the umask took bits from it. Refuses a file that is not to be trusted.
    pub(crate) fn admit(&self, file: &OwnedFd, path: &Path) -> Result<FileId, Error> {
        let stat = fstat(file).map_err(|errno| failed("examine", path, errno))?;
        let mode = self.policy.file_mode();
        let lacks_rights = self.policy.lacks(&stat, mode);
        // The file is judged as it would become. If it is another file to which someone gave this name, its mode stays
        // as it is.
        let mut intended = stat;
        intended.st_mode |= if lacks_rights { mode } else { 0 };
        self.policy.check_file(&intended, path)?;
        if lacks_rights {
            fchmod(file, Mode::from_bits_truncate(mode))
                .map_err(|errno| failed("set the mode of", path, errno))?;
        }
        Ok(FileId::of(&stat))
    }

    /// Renames one of the election's own files, and replaces any file of the new name. It is durable after
    /// [`Self::sync`].
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let path = self.path.join(to);
        renameat(&self.directory, from, &self.directory, to)
            .map_err(|errno| failed("replace", &path, errno))
    }

    /// Makes the name of a file survive a power cut.
    pub(crate) fn sync(&self, name: &str) -> Result<(), Error> {
        sync_directory(&self.directory, &self.path.join(name))
    }

    /// Opens one of the election's own files for reading; `None` if there is no such regular file.
    pub(crate) fn open_existing(&self, name: &str) -> Result<Option<(File, FileId)>, Error> {
        open_regular(&self.directory, name, &self.path_of(name), self.policy)
    }

    /// Whether the entry of this name is a regular file; `None` if there is none.
    pub(crate) fn is_regular(&self, name: &str) -> Result<Option<bool>, Error> {
        Ok(self.stat(name)?.map(|stat| is_regular(&stat)))
    }

    /// The identity of the file of this name, of any kind.
    pub(crate) fn id_of(&self, name: &str) -> Result<Option<FileId>, Error> {
        Ok(self.stat(name)?.map(|stat| FileId::of(&stat)))
    }

    fn stat(&self, name: &str) -> Result<Option<FileStat>, Error> {
        match fstatat(&self.directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(failed("examine", &self.path_of(name), errno)),
        }
    }

    /// The names of all entries of the directory, unsorted. Names that are not UTF-8 are left out, because elect makes
    /// none.
    pub(crate) fn names(&self) -> Result<Vec<String>, Error> {
        let failed = |errno| failed("read", &self.path, errno);
        let again = openat(&self.directory, ".", FOLDER, Mode::empty()).map_err(failed)?;
        let mut listing = Dir::from_fd(again).map_err(failed)?;
        let mut names = Vec::new();
        for found in listing.iter() {
            names.extend(found.map_err(failed)?.file_name().to_str().map(ToOwned::to_owned));
        }
        Ok(names)
    }

    /// Opens an entry of the queue for reading; `None` if there is no such regular file.
    pub(crate) fn open_in_queue(&self, name: &str) -> Result<Option<(File, FileId)>, Error> {
        open_regular(&self.queue, name, &self.path_in_queue(name), self.policy)
    }

    /// Whether a path still leads from the root to this very file. The directory may have been removed, moved away or
    /// made anew while it was held open.
    pub(crate) fn leads_to(&self, path: &Path, id: FileId) -> Result<bool, Error> {
        match fstatat(&self.directory, path, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(FileId::of(&stat) == id),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(false),
            Err(errno) => Err(failed("examine", path, errno)),
        }
    }

    /// The error if a file cannot be made in the queue. It leaves out the file's name, which differs each time.
    pub(crate) fn making_in_queue(&self, errno: Errno) -> Error {
        let queue = self.path.join(QUEUE);
        match errno {
            Errno::EACCES => opening(self.policy, "create", &queue, errno),
            _ => failed("create our entry in", &queue, errno),
        }
    }

    /// The mode of the files in this directory.
    pub(crate) const fn file_mode(&self) -> Mode {
        Mode::from_bits_truncate(self.policy.file_mode())
    }

    /// The path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn path_in_queue(&self, name: &str) -> PathBuf {
        self.path.join(QUEUE).join(name)
    }
}

/// Flags that never follow a link, never block on a pipe or a terminal, and keep the descriptor from children.
pub(crate) const SAFELY: OFlag =
    OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

fn open_regular(
    directory: impl AsFd,
    name: &str,
    path: &Path,
    policy: Policy,
) -> Result<Option<(File, FileId)>, Error> {
    let file = match openat(directory, name, OFlag::O_RDONLY | SAFELY, Mode::empty()) {
        Ok(file) => file,
        // The file is gone by now, or no candidate made it.
        Err(Errno::ENOENT | Errno::ELOOP | Errno::ENXIO) => return Ok(None),
        Err(errno) => return Err(opening(policy, "open", path, errno)),
    };
    let stat = fstat(&file).map_err(|errno| failed("examine", path, errno))?;
    Ok(is_regular(&stat).then(|| (file.into(), FileId::of(&stat))))
}

fn is_missing(parent: &OwnedFd, name: &str) -> bool {
    fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW) == Err(Errno::ENOENT)
}

/// Makes the directory of an election with all parts that others need to enter, and gives it its name only then. So a
/// process that is killed in between leaves nothing that is closed to others. Of several processes one is first,
/// because a rename replaces no directory that is not empty.
fn make(top: &OwnedFd, name: &str, path: &Path, policy: Policy) -> Result<(), Error> {
    let unfinished = format!(".new-{:016x}", fastrand::u64(..));
    let queue = format!("{unfinished}/{QUEUE}");
    let mode = Mode::from_bits_truncate(policy.directory_mode());
    let outcome = make_directory(top, unfinished.as_str(), mode)
        .and_then(|()| make_directory(top, queue.as_str(), mode))
        .and_then(|()| openat(top, unfinished.as_str(), FOLDER, Mode::empty()))
        .map_err(|errno| making(policy, "create the directory", path, errno))
        .and_then(|directory| sync_directory(directory, path))
        .and_then(|()| match renameat(top, unfinished.as_str(), top, name) {
            Err(Errno::EEXIST | Errno::ENOTEMPTY) => Ok(false),
            renamed => renamed
                .map(|()| true)
                .map_err(|errno| making(policy, "create the directory", path, errno)),
        });
    if !matches!(outcome, Ok(true)) {
        for left in [queue, unfinished] {
            let _ = unlinkat(top, left.as_str(), UnlinkatFlags::RemoveDir);
        }
    }
    if outcome? { sync_directory(top, path) } else { Ok(()) }
}

const FOLDER: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

fn subdirectory(
    parent: &OwnedFd,
    name: &str,
    path: &Path,
    policy: Policy,
    create: bool,
) -> Result<Option<OwnedFd>, Error> {
    let mode = policy.directory_mode();
    let opened = match openat(parent, name, FOLDER, Mode::empty()) {
        Err(Errno::ENOENT) if create => {
            make_directory(parent, name, Mode::from_bits_truncate(mode))
                .map_err(|errno| making(policy, "create the directory", path, errno))?;
            sync_directory(parent, path)?;
            openat(parent, name, FOLDER, Mode::empty())
        }
        Err(Errno::ENOENT) => return Ok(None),
        other => other,
    };
    let directory = opened.map_err(|errno| opening(policy, "open the directory", path, errno))?;
    let stat = fstat(&directory).map_err(|errno| failed("examine", path, errno))?;
    let lacks_rights = create && policy.lacks(&stat, mode);
    let mut intended = stat;
    intended.st_mode |= if lacks_rights { mode } else { 0 };
    policy.check(&intended, path)?;
    if lacks_rights {
        fchmod(&directory, Mode::from_bits_truncate(mode))
            .map_err(|errno| failed("set the mode of", path, errno))?;
    }
    Ok(Some(directory))
}

/// The error if a file cannot be opened. In a shared directory, another user may have created the file and not yet
/// opened it to the group.
fn opening(policy: Policy, deed: &str, path: &Path, errno: Errno) -> Error {
    if policy.is_shared() && errno == Errno::EACCES {
        let what = "is not open to its group, though its directory is shared: its owner has just made it, or has to \
                    chmod g+rwX it; trying again may help";
        return wrong(ErrorKind::Unreachable, path, what).because(errno);
    }
    failed(deed, path, errno)
}

/// The error if a directory cannot be made. Without access to its parent, the error names the parent.
fn making(policy: Policy, deed: &str, path: &Path, errno: Errno) -> Error {
    match path.parent() {
        Some(parent) if errno == Errno::EACCES => opening(policy, deed, parent, errno),
        _ => failed(deed, path, errno),
    }
}

/// The name of a cell's file.
pub(crate) fn file_of(cell: Cell<'_>) -> String {
    match cell {
        Cell::Once => "note-once".to_owned(),
        Cell::Runs => "note-runs".to_owned(),
        Cell::History => "note-history".to_owned(),
        Cell::Control => ORDERS.to_owned(),
        Cell::Fence(resource) => format!("fence-{resource}"),
        Cell::Value(key) => format!("value-{key}"),
    }
}

/// Whether an election has any cell. An unreadable election counts as one without.
pub(crate) fn has_any(root: &Root, election: &ElectionName) -> bool {
    let dir = ElectionDir::visit(root, election).ok().flatten();
    dir.and_then(|dir| dir.names().ok()).is_some_and(|names| names.iter().any(|name| is_cell(name)))
}

fn is_cell(file: &str) -> bool {
    let is_kept_under_a_key = ["fence-", "value-"].iter().any(|before| file.starts_with(before));
    is_kept_under_a_key
        || file == ORDERS
        || Cell::OF_LEADERS.iter().any(|&cell| file_of(cell) == file)
}
