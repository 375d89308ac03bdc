use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{FileStat, Mode, fchmod};
use nix::unistd::Uid;

use super::{Draft, Site, is_link, is_regular};

/// A file or a device that a user named for elect's output. It is opened at the start and written at the end.
#[derive(Debug)]
pub struct Output {
    file: File,
    path: PathBuf,
}

impl Output {
    /// Creates the file, or empties it.
    ///
    /// A symbolic link as the last part of the path is not followed. A file with a second name (a hard link) is
    /// not touched. In a folder that others can write, either could make root overwrite a wrong file. If a
    /// stranger may have put the existing file there, a new file replaces it.
    ///
    /// # Errors
    /// If the file cannot be written, or a stranger made a part of the way.
    pub fn create(path: &Path) -> io::Result<Self> {
        let site = Site::find(path)?;
        let file = match site.found()? {
            None => new(&site)?,
            Some(found) if is_link(&found) => {
                let why =
                    "it is a symbolic link, and elect writes through none: name the file itself";
                return Err(io::Error::new(ErrorKind::InvalidInput, why));
            }
            Some(found) if is_regular(&found) && !site.is_trusted() => renew(&site, &found)?,
            Some(_) => empty(&site)?,
        };
        Ok(Self { file, path: path.to_owned() })
    }

    /// The path of the file, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes these bytes, in place of everything that was written before.
    ///
    /// # Errors
    /// If the bytes cannot be written. The file may then hold a part of them.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
            self.file.write_all_at(bytes, 0)
        } else {
            (&self.file).write_all(bytes)
        }
    }
}

fn new(site: &Site) -> io::Result<File> {
    match site.create() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => empty(site),
        made => made,
    }
}

/// Puts a new file in the place of the existing one.
fn renew(site: &Site, old: &FileStat) -> io::Result<File> {
    // Two kinds of file cannot be replaced, and are emptied instead. One is a mount point, which no stranger made.
    // The other is a file that this user may write in a folder that this user may not.
    let is_fixed = |error: &io::Error| {
        let codes = [Errno::EBUSY, Errno::EXDEV, Errno::EACCES, Errno::EPERM, Errno::EROFS];
        error.raw_os_error().is_some_and(|code| codes.contains(&Errno::from_raw(code)))
    };
    let put = |draft: Draft<'_>| {
        if old.st_uid == Uid::effective().as_raw() {
            fchmod(&draft.file, Mode::from_bits_truncate(old.st_mode & 0o777))?;
        }
        draft.put(site.name())
    };
    match site.draft().and_then(put) {
        Err(error) if is_fixed(&error) => empty(site),
        renewed => renewed,
    }
}

/// Opens the existing file or device, and empties it if it is a file.
fn empty(site: &Site) -> io::Result<File> {
    // A stranger's file is dangerous for root only. For other users such files are common: groups share them.
    let vouch = |found: &FileStat| {
        if Uid::effective().is_root() { site.vouch_for(found) } else { Ok(()) }
    };
    let exchanged = || io::Error::other("it was exchanged as it was opened: try again");
    let found = site.found()?.ok_or_else(exchanged)?;
    vouch(&found)?;
    let file = site.open_found(site.name(), &found, OFlag::O_WRONLY)?.ok_or_else(exchanged)?;
    if is_regular(&found) {
        file.set_len(0)?;
    }
    Ok(file)
}
