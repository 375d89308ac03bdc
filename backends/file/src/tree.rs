//! The mark of the leader's command tree.
//!
//! The lock decides who leads, and only the wrapper and its guardian have it: a process that has a descriptor can
//! unlock it. If both die, a part of the tree may live on for a moment, or for long if it has left what holds
//! the tree. So the tree inherits a mark on another file, open for reading only, and whoever has the lock leads only
//! if there is no mark of others. A command that hides its mark gives up that cover, and nothing else.

use std::fs::File;

use elect_api::{Error, ErrorKind, Leader};

use crate::election_dir::{ElectionDir, TREE};
use crate::entry::{self, Reading};
use crate::error::{failed, wrong};
use crate::lock::{self, Held};
use crate::queue::Predecessor;
use crate::standstill;

/// The marked file, for whoever has the lock.
pub(crate) struct Tree {
    file: File,
    mark: File,
}

impl Tree {
    /// Marks the file, if nothing is left of another leader; `Err` inside is that.
    pub(crate) fn mark(dir: &ElectionDir) -> Result<Result<Self, Predecessor>, Error> {
        let path = dir.path_of(TREE);
        let (file, id) = dir.file(TREE)?;
        let Some((mark, _)) = dir.look(TREE)?.filter(|(_, found)| *found == id) else {
            let what = "was replaced as we opened it: trying again helps";
            return Err(wrong(ErrorKind::Unreachable, &path, what));
        };
        let failed = |errno| failed("mark", &path, errno);
        // Who waits for the end of a mark has a write lock for a moment.
        let is_free =
            !lock::is_marked(&file).map_err(failed)? && lock::try_mark(&mark).map_err(failed)?;
        let survivor = Predecessor { file, id, held: Held::Marked, ahead: 1 };
        Ok(if is_free { Ok(Self { file: survivor.file, mark }) } else { Err(survivor) })
    }

    /// Says whose tree it is, as the winner's entry has it. Only people read that: on a full disk it leads untold.
    pub(crate) fn tell(self, entry: &File) -> File {
        if entry::copy(entry, &self.file).is_err() {
            let _ = self.file.set_len(0);
        }
        self.mark
    }
}

/// What is left of a leader that is dead.
pub(crate) enum Remains {
    Nothing,
    /// Its tree.
    Tree(Box<Leader>),
    /// Others have led meanwhile: it cannot be told.
    Unclear,
}

/// Looks what is left of a leader that is dead, when nobody has the lock.
///
/// Who has the lock marks the tree as well, and says then that it is theirs. So a mark is of somebody else only if the lock
/// was free before it was seen and after, and the tree said to be of the same one all the time.
pub(crate) fn remains(
    dir: &ElectionDir,
    is_led: impl Fn() -> Result<bool, Error>,
) -> Result<Remains, Error> {
    let Some((file, id)) = dir.look(TREE)? else { return Ok(Remains::Nothing) };
    let last = || match entry::read(&file, 0) {
        Some(Reading::Won(leader)) => Some(leader),
        _ => None,
    };
    let Some(mut leader) = last() else { return Ok(Remains::Nothing) };
    if is_led()? {
        return Ok(Remains::Unclear);
    }
    if !lock::is_marked(&file).map_err(|errno| failed("examine", &dir.path_of(TREE), errno))? {
        return Ok(Remains::Nothing);
    }
    let holders = standstill::holders(id);
    if is_led()? || last().is_none_or(|now| now.token != leader.token) {
        return Ok(Remains::Unclear);
    }
    leader.entry.is_stopped = standstill::are_stopped(&holders);
    leader.entry.outlived_by = Some(holders);
    Ok(Remains::Tree(Box::new(leader)))
}
