//! A file in reserve, so that a full disk does not keep the job away that would free it: the next entry takes its place.
//! All else that a leader writes is there since the first one, but for what `--once` records.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use nix::fcntl::renameat;

use crate::election_dir::ElectionDir;

/// The name of the file in the directory of the election.
const NAME: &str = "spare";

/// A block: more than an entry has, so that none needs another one.
const LENGTH: usize = 4096;

/// Makes an entry that is over the file in reserve, unless there is one. Says whether it has left the queue so.
pub(crate) fn keep(dir: &ElectionDir, entry: &File, name: &str) -> bool {
    // Empty before it is to be had: whoever takes it writes at once.
    matches!(dir.is_regular(NAME), Ok(None))
        && entry.write_all_at(&[0; LENGTH], 0).is_ok()
        && renameat(&dir.queue, name, &dir.directory, NAME).is_ok()
}

/// Puts it into the queue under this name. Says whether there was one.
pub(crate) fn take(dir: &ElectionDir, name: &str) -> bool {
    renameat(&dir.directory, NAME, &dir.queue, name).is_ok()
}
