use std::fmt;
use std::path::{Path, PathBuf};

use nix::libc::{gid_t, uid_t};
use nix::sys::stat::FileStat;

use super::{Step, is_regular};

/// Why a path may lead where a stranger wants it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What on the way is the reason.
    pub path: PathBuf,
    /// What is wrong with it.
    pub cause: Cause,
}

/// What is wrong with something on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It belongs to this user.
    Owner(uid_t),
    /// Others can write to it, and put something else in place of what is in it.
    Open,
    /// It has a second name, and others can write to its folder: one of them may have given it this one.
    Linked,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.cause {
            Cause::Owner(owner) => write!(
                f,
                "{path} belongs to user {owner}, who is a stranger there: chown it, or name another path"
            ),
            Cause::Open => {
                write!(f, "{path} can be written by others: chmod go-w it, or name another path")
            }
            Cause::Linked => {
                write!(
                    f,
                    "{path} has a second name (a hard link): remove one, or name another path"
                )
            }
        }
    }
}

impl std::error::Error for Doubt {}

/// Everything on the way belongs to these users, and nobody else can replace what is on it. This group may.
///
/// In a sticky folder nobody replaces what belongs to another, and what comes next is judged in turn.
pub fn strict(steps: &[Step], users: &[uid_t], group: Option<gid_t>) -> Result<(), Doubt> {
    for step in steps {
        owned(step, users)?;
        let group_may = group == Some(step.stat.st_gid) && step.stat.st_mode & 0o002 == 0;
        if step.is_open && !step.is_sticky() && !group_may {
            return Err(Doubt { path: step.path.clone(), cause: Cause::Open });
        }
    }
    Ok(())
}

/// All links on the way belong to these users, or to the owner of the top.
///
/// Without that, users of another user namespace could not follow any link of root's: there all of them belong to nobody.
pub fn links(steps: &[Step], users: &[uid_t]) -> Result<(), Doubt> {
    let top = steps.first().filter(|step| step.path.is_absolute()).map(|step| step.stat.st_uid);
    let users: Vec<uid_t> = users.iter().copied().chain(top).collect();
    steps.iter().filter(|step| step.is_link()).try_for_each(|step| owned(step, &users))
}

/// Whoever owns what lies at the end of a way: see [`appointed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appointed {
    users: Vec<uid_t>,
    is_open: bool,
}

/// Whom those whom we trust (`users`) have appointed along this way. Where only they can put anything, whoever owns
/// it was put there by them: `/run/web`, say, is its service's as root made it. Where others can, as in `/tmp`, only
/// what belongs to one of those counts.
///
/// # Errors
/// A stranger put something on the way.
pub fn appointed(steps: &[Step], users: &[uid_t]) -> Result<Appointed, Doubt> {
    let mut known = Appointed { users: users.to_vec(), is_open: false };
    for step in steps {
        if !known.is_open && !step.is_link() && !step.is_of_a_process {
            known.users.push(step.stat.st_uid);
        }
        if known.is_open || step.is_of_a_process {
            owned(step, &known.users)?;
        }
        if !step.is_link() {
            known.is_open = step.is_open || step.is_of_a_process;
        }
    }
    Ok(known)
}

impl Appointed {
    /// These users, in a folder where anybody else may have put what is there.
    pub fn only(users: &[uid_t]) -> Self {
        Self { users: users.to_vec(), is_open: true }
    }

    /// One of them put the file with this `stat` at the end of the way, at `path`.
    ///
    /// # Errors
    /// A stranger may have done so.
    pub fn vouch_for(&self, stat: &FileStat, path: &Path) -> Result<(), Doubt> {
        let doubt = |cause| Err(Doubt { path: path.to_owned(), cause });
        if self.is_open && !self.users.contains(&stat.st_uid) {
            doubt(Cause::Owner(stat.st_uid))
        } else if self.is_open && stat.st_nlink > 1 && is_regular(stat) {
            doubt(Cause::Linked)
        } else {
            Ok(())
        }
    }
}

/// This step belongs to one of these.
fn owned(step: &Step, users: &[uid_t]) -> Result<(), Doubt> {
    let owner = step.stat.st_uid;
    if users.contains(&owner) {
        return Ok(());
    }
    Err(Doubt { path: step.path.clone(), cause: Cause::Owner(owner) })
}
