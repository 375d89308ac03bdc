use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{FileStat, Mode, fchmod};
use nix::unistd::Uid;

use super::{Draft, Site, is_link, is_regular};

/// A file that people named for what elect has to say, or a device: open from the start, written at the end.
#[derive(Debug)]
pub struct Output {
    file: File,
    path: PathBuf,
}

impl Output {
    /// Creates the file, or empties it.
    ///
    /// A symbolic link as the last part of the path is not followed, and a file that has a second
    /// name is not touched: where others can write too, root would be led astray by either. Where a
    /// stranger can have put what is there, a new file takes its place.
    ///
    /// # Errors
    /// What keeps the file from being written; a stranger who made a part of the way.
    pub fn create(path: &Path) -> io::Result<Self> {
        let site = Site::find(path)?;
        let file = match site.found()? {
            None => new(&site)?,
            Some(found) if is_link(&found) => {
                let why =
                    "it is a symbolic link, and elect writes through none: name the file itself";
                return Err(io::Error::new(ErrorKind::InvalidInput, why));
            }
            Some(found) if is_regular(&found) && !site.is_settled() => renew(&site, &found)?,
            Some(_) => empty(&site)?,
        };
        Ok(Self { file, path: path.to_owned() })
    }

    /// Where it is, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes this, in place of all that was written before.
    ///
    /// # Errors
    /// What kept it from being written; the file may then hold a part of it.
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

/// Puts a new file in the place of what is there.
fn renew(site: &Site, old: &FileStat) -> io::Result<File> {
    // A file that is mounted by itself no stranger put there; and some may write to a file, but not to its folder.
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

/// Opens what is there, and empties it if it is a file.
fn empty(site: &Site) -> io::Result<File> {
    // A stranger's file is a danger to root only: groups share such files.
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
