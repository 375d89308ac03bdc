//! A file in reserve. A full disk must not keep a job from running that would free space, so the next entry is made
//! from this file. All other files of a leader exist since the first leadership, except for the records of `--once`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use nix::fcntl::renameat;

use crate::election_dir::ElectionDir;

/// The name of the file in the directory of the election.
const NAME: &str = "spare";

/// The length of a block, in bytes. It is more than an entry has, so no entry needs a second block.
const LENGTH: usize = 4096;

/// Turns a finished entry into the file in reserve, unless there is one already. Returns whether the entry has left the
/// queue that way.
pub(crate) fn keep(dir: &ElectionDir, entry: &File, name: &str) -> bool {
    // It is emptied before the rename, because its next user writes at once.
    matches!(dir.is_regular(NAME), Ok(None))
        && entry.write_all_at(&[0; LENGTH], 0).is_ok()
        && renameat(&dir.queue, name, &dir.directory, NAME).is_ok()
}

/// Moves the file in reserve into the queue under this name. Returns whether there was one.
pub(crate) fn take(dir: &ElectionDir, name: &str) -> bool {
    renameat(&dir.directory, NAME, &dir.queue, name).is_ok()
}
