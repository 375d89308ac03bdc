//! The queue: one file per candidate, named by a number that rises as long as the queue is not empty.
//!
//! A file is locked before it gets its number, and stays locked while its candidate or the candidate's guardian
//! lives. So an unlocked numbered file is dead for good, and every candidate may remove it. A number is not used
//! again while a greater one is in the queue. A candidate that looks at lower numbers has such a greater number.

use std::ffi::CString;
use std::fs::File;
use std::path::PathBuf;

use elect_api::{Candidate, Error, ErrorKind, Token};
use nix::dir::Type;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::election_dir::{ElectionDir, SAFELY};
use crate::entry;
use crate::error::{errno_of, failed, wrong};
use crate::lock::{self, Held};
use crate::spare;
use crate::trust::FileId;

/// The prefix of files that are being made, under the lock of `enter`.
const UNFINISHED: &str = ".new-";

/// The greatest number of a file. Files with greater numbers are foreign.
const MAX: u64 = i64::MAX as u64;

/// A candidate's own file in the queue.
pub(crate) struct OwnFile {
    pub(crate) dir: ElectionDir,
    number: u64,
    pub(crate) file: File,
    id: FileId,
    /// The offset of the line of the win.
    win_at: u64,
}

/// The nearest living candidate before this one, or the remains of one.
pub(crate) struct Predecessor {
    pub(crate) file: File,
    pub(crate) id: FileId,
    /// The way in which its life shows: by a lock or by a mark.
    pub(crate) held: Held,
    /// The number of candidates before this one, up to and including it.
    pub(crate) ahead: usize,
}

impl OwnFile {
    /// Takes the last place in the queue, and returns the numbers that were in it before. Only the holder of the
    /// lock of `enter` may call this. A candidate that comes again passes its first number as `arrived`.
    pub(crate) fn take(
        mut dir: ElectionDir,
        candidate: &Candidate,
        arrived: Option<u64>,
    ) -> Result<(Self, Vec<u64>), Error> {
        let Listing { entries: below, greatest, unfinished } = list(&mut dir)?;
        // Their makers were killed while they held `enter`, which this process holds now.
        for name in unfinished {
            let _ = unlinkat(&dir.queue, name.as_c_str(), UnlinkatFlags::NoRemoveDir);
        }
        let number = greatest + 1;
        if number > MAX {
            let path = dir.path_in_queue(&name_of(MAX));
            return Err(wrong(
                ErrorKind::Unfit,
                &path,
                "leaves no number for later candidates: remove it",
            ));
        }
        let unfinished = format!("{UNFINISHED}{:016x}", fastrand::u64(..));
        let place = match Self::make(&dir, &unfinished, OFlag::O_EXCL, number, candidate, arrived) {
            Err((errno, error)) if [Errno::ENOSPC, Errno::EDQUOT].contains(&errno) => {
                if !spare::take(&dir, &unfinished) {
                    return Err(error);
                }
                Self::make(&dir, &unfinished, OFlag::empty(), number, candidate, arrived)
            }
            made => made,
        };
        let (file, id, win_at) = place.map_err(|(_, error)| error)?;
        Ok((Self { dir, number, file, id, win_at }, below))
    }

    /// Makes the entry from a new file. Without `O_EXCL` the file may exist already. Removes it on an error.
    fn make(
        dir: &ElectionDir,
        unfinished: &str,
        is_new: OFlag,
        number: u64,
        candidate: &Candidate,
        arrived: Option<u64>,
    ) -> Result<(File, FileId, u64), (Errno, Error)> {
        // The error leaves out the name, which differs each time, so that people need not read it twice.
        let path = dir.path_in_queue("");
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | is_new | SAFELY;
        let mode = dir.file_mode();
        let file = openat(&dir.queue, unfinished, flags, mode)
            .map_err(|errno| (errno, dir.making_in_queue(errno)))?;
        let filled = (|| {
            let id = dir.admit(&file, &path).map_err(|error| (Errno::UnknownErrno, error))?;
            let file = File::from(file);
            let failed = |deed, errno| (errno, failed(deed, &path, errno));
            if !lock::try_write(&file).map_err(|errno| failed("lock", errno))? {
                let what = "was locked by another process while elect made it";
                return Err((Errno::EAGAIN, wrong(ErrorKind::Unreachable, &path, what)));
            }
            let win_at = entry::write_joined(&file, candidate, arrived)
                .map_err(|error| failed("write our entry to", errno_of(&error)))?;
            let name = name_of(number);
            renameat(&dir.queue, unfinished, &dir.queue, name.as_str())
                .map_err(|errno| failed("take our place in the queue with", errno))?;
            Ok((file, id, win_at))
        })();
        if filled.is_err() {
            let _ = unlinkat(&dir.queue, unfinished, UnlinkatFlags::NoRemoveDir);
        }
        filled
    }

    /// The number of this file.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The path at which this file must be.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path_in_queue(&name_of(self.number))
    }

    /// Whether this file is still at its path.
    pub(crate) fn is_kept(&self) -> Result<bool, Error> {
        self.dir.leads_to(&self.path(), self.id)
    }

    /// The numbers in the queue before this one, in ascending order.
    pub(crate) fn below(&mut self) -> Result<Vec<u64>, Error> {
        let mut numbers = list(&mut self.dir)?.entries;
        numbers.retain(|&number| number < self.number);
        Ok(numbers)
    }

    /// Finds the nearest living candidate among the numbers `below`, and removes the dead ones in between. Skips
    /// stopped candidates, because they would not take their turn. `None` if this candidate is the first.
    pub(crate) fn predecessor(&mut self, below: &[u64]) -> Result<Option<Predecessor>, Error> {
        for (before, &number) in below.iter().enumerate().rev() {
            let name = name_of(number);
            let Some((file, id)) = self.dir.open_in_queue(&name)? else { continue };
            let path = self.dir.path_in_queue(&name);
            if lock::is_held(&file).map_err(|errno| failed("examine the lock of", &path, errno))? {
                if entry::stands_still(&file, number) {
                    continue;
                }
                let ahead = before + 1;
                return Ok(Some(Predecessor { file, id, held: Held::Locked, ahead }));
            }
            // If someone has changed the directory, another file may have this name by now.
            if self.dir.leads_to(&path, id)? {
                let _ = unlinkat(&self.dir.queue, name.as_str(), UnlinkatFlags::NoRemoveDir);
            }
        }
        Ok(None)
    }

    /// Writes into the entry that this candidate leads.
    pub(crate) fn write_won(&self, token: Token) -> Result<(), Error> {
        entry::write_won(&self.file, self.win_at, token)
            .map_err(|error| failed("write to our entry", &self.path(), errno_of(&error)))
    }

    /// Gives up a leader's entry. Its file is kept in reserve if there is none yet.
    pub(crate) fn give_up_lead(&mut self) {
        let is_kept = matches!(self.is_kept(), Ok(true));
        if !is_kept || !spare::keep(&self.dir, &self.file, &name_of(self.number)) {
            self.give_up();
        }
    }

    /// Removes the entry from the queue. If that fails, the entry is dead once its file is closed, and another
    /// candidate removes it.
    pub(crate) fn give_up(&mut self) {
        if matches!(self.is_kept(), Ok(true)) {
            let name = name_of(self.number);
            let _ = unlinkat(&self.dir.queue, name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// The content of a queue's directory.
#[derive(Default)]
pub(crate) struct Listing {
    /// The numbers of the entries, in ascending order.
    pub(crate) entries: Vec<u64>,
    /// The greatest number in any name, even if it is not an entry.
    greatest: u64,
    /// Files that are being made, or were when their maker died.
    unfinished: Vec<CString>,
}

pub(crate) fn list(dir: &mut ElectionDir) -> Result<Listing, Error> {
    let path = dir.path_in_queue("");
    let mut listing = Listing::default();
    for found in dir.queue.iter() {
        let found = match found {
            Ok(found) => found,
            // The directory itself was removed.
            Err(Errno::ENOENT) => break,
            Err(errno) => return Err(failed("read", &path, errno)),
        };
        let name = found.file_name();
        if let Some(number) = number_of(name.to_bytes()) {
            listing.greatest = listing.greatest.max(number);
            // Some file systems do not report types in a listing.
            if found.file_type().is_none_or(|kind| kind == Type::File) {
                listing.entries.push(number);
            }
        } else if name.to_bytes().starts_with(UNFINISHED.as_bytes()) {
            listing.unfinished.push(name.to_owned());
        }
    }
    listing.entries.sort_unstable();
    Ok(listing)
}

pub(crate) fn name_of(number: u64) -> String {
    format!("{number:020}")
}

/// Whether this name in a queue's directory belongs to an entry.
pub(crate) fn is_entry(name: &[u8]) -> bool {
    number_of(name).is_some()
}

/// Reads a number as [`name_of`] writes it.
pub(crate) fn number_of(name: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(name)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    if digits.len() != 20 {
        return None;
    }
    digits.parse().ok().filter(|&number| number <= MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_queue_numbers_are_read_as_numbers() {
        for number in [0, 1, 12_345, MAX] {
            assert_eq!(number_of(name_of(number).as_bytes()), Some(number));
        }
        for foreign in [
            "",
            ".",
            "1",
            ".new-00000000000000000001",
            "0000000000000000000a",
            "+0000000000000000001",
            &name_of(u64::MAX),
        ] {
            assert_eq!(number_of(foreign.as_bytes()), None, "{foreign}");
        }
    }
}
