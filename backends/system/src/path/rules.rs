use std::fmt;
use std::path::{Path, PathBuf};

use nix::libc::{gid_t, uid_t};
use nix::sys::stat::FileStat;

use super::{Step, is_regular};

/// The reason why a path may lead where a stranger wants it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The part of the path that raises the doubt.
    pub path: PathBuf,
    /// The fault of that part.
    pub cause: Cause,
}

/// A fault of a part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It belongs to this user, who is not trusted.
    Owner(uid_t),
    /// Others can write to it, and so replace the files in it.
    Open,
    /// It has a second name, and others can write to its folder. One of them may have given it this name.
    Linked,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.cause {
            Cause::Owner(owner) => write!(
                f,
                "{path} belongs to user {owner}, whom elect does not trust there: chown it, or name another path"
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

/// Checks that each step belongs to one of these users, and that only they and this group can replace anything on the
/// way.
///
/// In a sticky folder only the owner of an entry can replace it. The next step is then judged by its own owner.
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

/// Checks that each symbolic link on the way belongs to one of these users, or to the owner of the top folder.
///
/// The owner of the top matters in a user namespace. There root's files show the overflow user as their owner, and no
/// link of root's could be followed.
pub fn links(steps: &[Step], users: &[uid_t]) -> Result<(), Doubt> {
    let top = steps.first().filter(|step| step.path.is_absolute()).map(|step| step.stat.st_uid);
    let users: Vec<uid_t> = users.iter().copied().chain(top).collect();
    steps.iter().filter(|step| step.is_link()).try_for_each(|step| owned(step, &users))
}

/// The users that may own the file at the end of a path: see [`appointed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appointed {
    users: Vec<uid_t>,
    is_open: bool,
}

/// Finds the users that may own the file at the end of this way. In a folder that only trusted users (`users`) can
/// write, they put each entry there, so its owner is trusted too. For example, root made `/run/web` for the service
/// that owns it. In a folder that others can write, such as `/tmp`, only entries of a trusted user count.
///
/// # Errors
/// If a stranger put something on the way.
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
    /// Only these users, for a folder in which anyone may have put the file.
    pub fn only(users: &[uid_t]) -> Self {
        Self { users: users.to_vec(), is_open: true }
    }

    /// Checks that a trusted user put the file with this `stat` at the end of the way, at `path`.
    ///
    /// # Errors
    /// If a stranger may have put it there.
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

/// Checks that this step belongs to one of these users.
fn owned(step: &Step, users: &[uid_t]) -> Result<(), Doubt> {
    let owner = step.stat.st_uid;
    if users.contains(&owner) {
        return Ok(());
    }
    Err(Doubt { path: step.path.clone(), cause: Cause::Owner(owner) })
}
