use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::libc::uid_t;
use nix::sys::stat::{FileStat, Mode, fstat, fstatat, mkdirat};

use super::{
    Appointed, Draft, Last, SAFELY, Stop, Walk, appointed, is_regular, links, ourselves, refused,
    strict,
};

/// The mode of files that everyone may read.
const FOR_ALL_TO_READ: Mode = Mode::from_bits_truncate(0o644);

/// The place of a file that elect writes. If the last part of its path is a link, that link is not followed.
///
/// Each file that is made there is new: it is created exclusively, or gets its name by a rename. So it does not matter
/// who else can write to the folder, for example a folder that the containers of a pod share. No link of a stranger
/// leads there, and for root no folder that a stranger made is on the way. An existing file is opened only after a
/// check of who put it there.
#[derive(Debug)]
pub struct Site {
    path: PathBuf,
    folder: OwnedFd,
    name: OsString,
    is_trusted: bool,
    known: Appointed,
}

impl Site {
    /// Finds the place that this path names.
    ///
    /// # Errors
    /// If the way does not exist. If a stranger made a part of it, the error contains a [`super::Doubt`].
    pub fn find(path: &Path) -> io::Result<Self> {
        Self::reach(path, false)
    }

    fn reach(path: &Path, make_folders: bool) -> io::Result<Self> {
        let users = ourselves();
        let mut walk = Walk::along(path, Last::AsItIs)?;
        loop {
            let stop = walk.go();
            links(walk.steps(), &users).map_err(refused)?;
            let known = known(&walk, users)?;
            match stop {
                Stop::Missing(name) if make_folders && !walk.is_at_the_end() => {
                    match mkdirat(walk.folder(), name.as_os_str(), Mode::from_bits_truncate(0o777))
                    {
                        Ok(()) | Err(Errno::EEXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                }
                Stop::Missing(_) if !walk.is_at_the_end() => return Err(Errno::ENOENT.into()),
                Stop::Missing(name) | Stop::There(name) | Stop::Open(name) => {
                    let is_trusted = strict(walk.steps(), &users, None).is_ok();
                    let (path, folder) = (path.to_owned(), walk.into_folder());
                    return Ok(Self { path, folder, name, is_trusted, known });
                }
                Stop::Closed(errno) => return Err(errno.into()),
            }
        }
    }

    /// Whether no stranger can have put the existing file there, or can replace it.
    pub const fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// The last part of the path.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The metadata of the existing file, or of the link itself; `None` if there is nothing.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn found(&self) -> io::Result<Option<FileStat>> {
        self.beside(&self.name)
    }

    /// The metadata of the entry with this name in the same folder, as for [`Site::found`].
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn beside(&self, name: &OsStr) -> io::Result<Option<FileStat>> {
        match fstatat(&self.folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    /// Opens the file that was found under this name; `None` if another file has taken its place since. A file with a
    /// second name is refused. A user that can write to the folder may have given it this name, and removed the name
    /// again before the next check.
    ///
    /// # Errors
    /// If the file cannot be opened, or has a second name.
    pub fn open_found(
        &self,
        name: &OsStr,
        found: &FileStat,
        flags: OFlag,
    ) -> io::Result<Option<File>> {
        let single = |stat: &FileStat| {
            if is_regular(stat) && stat.st_nlink > 1 {
                return Err(io::Error::other("the file has another name too (a hard link)"));
            }
            Ok(())
        };
        single(found)?;
        let file = self.open(name, flags, Mode::empty())?;
        let opened = fstat(&file)?;
        single(&opened)?;
        let is_same = (opened.st_dev, opened.st_ino) == (found.st_dev, found.st_ino);
        Ok(is_same.then_some(file))
    }

    /// Checks that a trusted user put the file with this `stat` there.
    ///
    /// # Errors
    /// An error that contains a [`super::Doubt`].
    pub fn vouch_for(&self, stat: &FileStat) -> io::Result<()> {
        self.known.vouch_for(stat, &self.path).map_err(refused)
    }

    /// Makes the file, which everyone may read.
    ///
    /// # Errors
    /// If there is a file already, or none can be made.
    pub fn create(&self) -> io::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | SAFELY;
        Ok(openat(self.folder.as_fd(), self.name.as_os_str(), flags, FOR_ALL_TO_READ)?.into())
    }

    /// Opens the entry with this name in the same folder. It may be the file's own name.
    ///
    /// # Errors
    /// If it cannot be opened, or is a link.
    pub fn open(&self, name: &OsStr, flags: OFlag, mode: Mode) -> io::Result<File> {
        Ok(openat(self.folder.as_fd(), name, flags | SAFELY, mode)?.into())
    }

    /// Whether the entry with this name in the same folder is this very file.
    ///
    /// # Errors
    /// If the kernel reports an error.
    pub fn names(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        let ours = fstat(file)?;
        match fstatat(&self.folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => Ok(false),
            found => {
                let found = found?;
                Ok((found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino))
            }
        }
    }

    /// The folder of the place.
    pub const fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// A new file, for [`Draft::put`] to put in this place. Everyone may read it.
    ///
    /// # Errors
    /// If none can be made.
    pub fn draft(&self) -> io::Result<Draft<'_>> {
        Draft::new(&self.folder, FOR_ALL_TO_READ)
    }
}

/// The users that can have put the existing file there. A way that a stranger made is followed for ordinary users only.
/// They risk no more than the file that they write.
fn known(walk: &Walk, users: [uid_t; 2]) -> io::Result<Appointed> {
    match appointed(walk.steps(), &users) {
        Err(_) if users[1] != 0 => Ok(Appointed::only(&users)),
        known => known.map_err(refused),
    }
}

/// Writes a file that everyone may read, and replaces any existing one. Makes folders that are missing.
///
/// # Errors
/// As [`Site::find`], or if the file cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let site = Site::reach(path, true)?;
    let mut draft = site.draft()?;
    draft.file.write_all(bytes)?;
    draft.put(site.name()).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_file_that_was_found_is_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["one", "victim"] {
            fs::write(path(name), name).expect("a file");
        }
        let site = Site::find(&path("one")).expect("a way");
        let open = |found: &FileStat| site.open_found(site.name(), found, OFlag::O_RDWR);
        let found = site.found().expect("an answer").expect("a file");
        assert!(open(&found).expect("it is there").is_some());
        // Another process gives a different file this name, for as long as it takes to open it.
        fs::rename(path("one"), path("away")).expect("renamed");
        fs::hard_link(path("victim"), path("one")).expect("a link");
        open(&found).expect_err("it has a second name");
        let double = site.found().expect("an answer").expect("a file");
        fs::remove_file(path("victim")).expect("removed");
        open(&double).expect_err("it had one when it was found");
        assert!(open(&found).expect("it may be opened").is_none(), "it is another one");
    }
}
