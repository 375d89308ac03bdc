use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::SAFELY;

/// A new file of a random name, until it is put in its place. Nothing that was there before is opened.
#[derive(Debug)]
pub struct Draft<'a> {
    folder: &'a OwnedFd,
    name: String,
    /// To read and write.
    pub file: File,
    is_in_place: bool,
}

impl<'a> Draft<'a> {
    /// Makes it in this folder. The umask takes bits from the mode.
    ///
    /// # Errors
    /// Nothing can be made there.
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

    /// Gives it this name, in place of whatever has it.
    ///
    /// # Errors
    /// It cannot be: a folder has it, say, or a file that is mounted by itself.
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
