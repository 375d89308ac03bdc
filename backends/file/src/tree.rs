//! The mark of the leader's command tree.
//!
//! The lock decides who leads. Only the wrapper and its guardian have it, because a process with a descriptor can
//! unlock it. If both die, a part of the tree may live on for a moment, or for long if it has escaped from its
//! containment. So the tree inherits a mark: a read lock on another file, by a descriptor that cannot write. The holder
//! of the lock leads only if no other tree has a mark. A command that hides its mark gives up that protection, and
//! nothing else.

use std::fs::File;

use elect_api::{Error, ErrorKind, Leader};

use crate::election_dir::{ElectionDir, TREE};
use crate::entry::{self, Reading};
use crate::error::{failed, wrong};
use crate::lock::{self, Held};
use crate::queue::Predecessor;
use crate::standstill;

/// The marked file, for the holder of the lock.
pub(crate) struct Tree {
    file: File,
    mark: File,
}

impl Tree {
    /// Marks the file, unless another leader's tree still has a mark. The inner `Err` is that tree.
    pub(crate) fn mark(dir: &ElectionDir) -> Result<Result<Self, Predecessor>, Error> {
        let path = dir.path_of(TREE);
        let (file, id) = dir.file(TREE)?;
        let Some((mark, _)) = dir.open_existing(TREE)?.filter(|(_, found)| *found == id) else {
            let what = "was replaced as we opened it: trying again helps";
            return Err(wrong(ErrorKind::Unreachable, &path, what));
        };
        let failed = |errno| failed("mark", &path, errno);
        // A process that waits for the end of a mark has a write lock for a moment.
        let is_free =
            !lock::is_marked(&file).map_err(failed)? && lock::try_mark(&mark).map_err(failed)?;
        let survivor = Predecessor { file, id, held: Held::Marked, ahead: 1 };
        Ok(if is_free { Ok(Self { file: survivor.file, mark }) } else { Err(survivor) })
    }

    /// Writes whose tree it is, as a copy of the winner's entry. Only people read it. On a full disk it stays empty,
    /// and the candidate leads all the same.
    pub(crate) fn tell(self, entry: &File) -> File {
        if entry::copy(entry, &self.file).is_err() {
            let _ = self.file.set_len(0);
        }
        self.mark
    }
}

/// The remains of a dead leader.
pub(crate) enum Remains {
    Nothing,
    /// The command tree of this leader.
    Tree(Box<Leader>),
    /// Unknown, because other candidates have led meanwhile.
    Unclear,
}

/// Looks for the remains of a dead leader, while no candidate has the lock.
///
/// A new holder of the lock marks the tree too, and only then writes whose tree it is. So a mark belongs to a dead
/// leader only under two conditions. The lock was free both before and after the read of the mark, and the file named
/// the same leader all the time.
pub(crate) fn remains(
    dir: &ElectionDir,
    is_led: impl Fn() -> Result<bool, Error>,
) -> Result<Remains, Error> {
    let Some((file, id)) = dir.open_existing(TREE)? else { return Ok(Remains::Nothing) };
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
