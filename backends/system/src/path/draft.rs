use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::SAFELY;

/// A new file with a random name, until it is put in its place. It never opens a file that was there
/// before.
#[derive(Debug)]
pub struct Draft<'a> {
    folder: &'a OwnedFd,
    name: String,
    /// The file, open for reading and writing.
    pub file: File,
    is_in_place: bool,
}

impl<'a> Draft<'a> {
    /// Makes the file in this folder. The umask takes bits from the mode.
    ///
    /// # Errors
    /// If no file can be made there.
    pub fn new(folder: &'a OwnedFd, mode: Mode) -> io::Result<Self> {
        loop {
            let name = format!(".elect-{:016x}", fastrand::u64(..));
            let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | SAFELY;
            match openat(folder.as_fd(), name.as_str(), flags, mode) {
                Err(Errno::EEXIST) => {}
                file => return Ok(Self { folder, name, file: file?.into(), is_in_place: false }),
            }
        }
    }

    /// Gives the file this name, and replaces any other file of that name.
    ///
    /// # Errors
    /// If the name cannot be taken: it belongs to a folder, for example, or to a file that is a mount
    /// point.
    pub fn put(mut self, name: &OsStr) -> io::Result<File> {
        renameat(self.folder, self.name.as_str(), self.folder, name)?;
        self.is_in_place = true;
        self.file.try_clone()
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = unlinkat(self.folder, self.name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}
