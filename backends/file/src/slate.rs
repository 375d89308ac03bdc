//! Slates: small files beside the queue that need not outlast a power cut, which may leave the old text, the new one
//! or none. For readers they are replaced as a whole, as [sheets](crate::sheet) are.
//!
//! To make a file and to remove one is dear, and leaders write as they leave, when somebody waits for them. So there
//! are two: what was written last, and a spare one, which is written anew and takes the place of the other. Whoever
//! reads has a read lock meanwhile, so that what is read slowly is not written anew.

use std::fs::File;
use std::os::unix::fs::FileExt;

use elect_api::{Error, ErrorKind};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::fault::{errno_of, failed, wrong};
use crate::hall::Hall;
use crate::{lock, sheet};

/// How often a slate is opened that is being written anew each time.
const TRIES: usize = 10;

/// Puts a text in the place of what the slate of this name says. One at a time may do so.
pub(crate) fn replace(hall: &Hall, name: &str, text: &[u8]) -> Result<(), Error> {
    let spare = sheet::unfinished(name);
    drop(write_spare(hall, &spare, text)?);
    hall.swap(&spare, name)
}

/// The same for good. There is no spare one then: whatever a power cut leaves of what is written next, it is nothing
/// that is older than this.
pub(crate) fn replace_for_good(hall: &Hall, name: &str, text: &[u8]) -> Result<(), Error> {
    let spare = sheet::unfinished(name);
    let file = write_spare(hall, &spare, text)?;
    file.sync_all().map_err(|error| failed("write", &hall.path_of(&spare), errno_of(&error)))?;
    // Its lock goes, before anybody wants to read it.
    drop(file);
    hall.rename(&spare, name)?;
    hall.sync(name)
}

fn write_spare(hall: &Hall, spare: &str, text: &[u8]) -> Result<File, Error> {
    let path = hall.path_of(spare);
    let file = if let Some(file) = lock_spare(hall, spare)? {
        file
    } else {
        // Somebody still reads it.
        unlinkat(&hall.directory, spare, UnlinkatFlags::NoRemoveDir)
            .map_err(|errno| failed("remove", &path, errno))?;
        let what = "was locked by somebody else as it was made";
        lock_spare(hall, spare)?.ok_or_else(|| wrong(ErrorKind::Unreachable, &path, what))?
    };
    // Only then cut to its length: a file that was cut to nothing is written to the disk as it is closed.
    let written = file.write_all_at(text, 0).and_then(|()| file.set_len(text.len() as u64));
    written.map_err(|error| failed("write", &path, errno_of(&error)))?;
    Ok(file)
}

/// Reads all of it, at most `longest` bytes; `None` if there is none.
pub(crate) fn read(hall: &Hall, name: &str, longest: usize) -> Result<Option<Vec<u8>>, Error> {
    let path = hall.path_of(name);
    for _ in 0..TRIES {
        let Some((file, _)) = sheet::open(hall, name)? else { return Ok(None) };
        // Where it has the lock of a writer it is a spare one by now.
        if lock::try_read(&file).map_err(|errno| failed("lock", &path, errno))? {
            return sheet::read(&file, longest, &path).map(Some);
        }
    }
    Err(wrong(ErrorKind::Unreachable, &path, "is locked for writing: trying again helps"))
}

fn lock_spare(hall: &Hall, spare: &str) -> Result<Option<File>, Error> {
    let (file, _) = hall.file(spare)?;
    match lock::try_write(&file) {
        Ok(is_ours) => Ok(is_ours.then_some(file)),
        Err(errno) => Err(failed("lock", &hall.path_of(spare), errno)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use elect_api::ElectionName;
    use tempfile::TempDir;

    use super::*;
    use crate::root::{Process, Root};
    use crate::url::Address;

    const NAME: &str = "note-slate";

    fn hall() -> (TempDir, Hall) {
        let folder = tempfile::tempdir().expect("a folder");
        let address = Address { directory: Some(folder.path().join("state")), allow_network: true };
        let root = Root::choose(address, &Process).expect("a root");
        let election: ElectionName = "job".parse().expect("a name");
        let hall = Hall::create(&root, &election).expect("a hall");
        (folder, hall)
    }

    fn says(hall: &Hall) -> String {
        let text = read(hall, NAME, 1000).expect("it is read").expect("it is there");
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn what_was_written_last_is_read_and_nothing_of_what_was_longer() {
        let (_folder, hall) = hall();
        assert_eq!(read(&hall, NAME, 1000).expect("it is read"), None);
        for text in ["the first", "a second one, which is longer", "3", "", "the fifth"] {
            replace(&hall, NAME, text.as_bytes()).expect("it is written");
            assert_eq!(says(&hall), text);
        }
    }

    #[test]
    fn two_files_take_turns() {
        let (_folder, hall) = hall();
        let numbers = [0, 1, 2, 3].map(|turn: u8| {
            replace(&hall, NAME, &[turn]).expect("it is written");
            hall.path_of(NAME).metadata().expect("a file").ino()
        });
        assert_eq!((numbers[0], numbers[1]), (numbers[2], numbers[3]));
        assert_ne!(numbers[0], numbers[1]);
    }

    #[test]
    fn what_is_written_for_good_leaves_no_older_one() {
        let (_folder, hall) = hall();
        for text in ["older", "old"] {
            replace(&hall, NAME, text.as_bytes()).expect("it is written");
        }
        replace_for_good(&hall, NAME, b"for good").expect("it is written");
        assert_eq!(says(&hall), "for good");
        assert!(!hall.has(&sheet::unfinished(NAME)).expect("a look"));
        replace(&hall, NAME, b"next").expect("it is written");
        assert_eq!(says(&hall), "next");
    }

    #[test]
    fn what_is_read_slowly_is_not_written_anew() {
        let (_folder, hall) = hall();
        replace(&hall, NAME, b"read slowly").expect("it is written");
        let (slow, _) = sheet::open(&hall, NAME).expect("a file").expect("it is there");
        assert!(lock::try_read(&slow).expect("a lock"));
        for turn in 0..3_u8 {
            replace(&hall, NAME, &[b'0' + turn; 50]).expect("it is written");
        }
        assert_eq!(sheet::read(&slow, 1000, &hall.path_of(NAME)).expect("text"), b"read slowly");
        assert_eq!(says(&hall), "2".repeat(50));
    }
}
