//! What one pass over a tree does to each process in it, and what it has met with.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use elect_api::Boottime;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::courier::Courier;
use super::is_off;
use super::left::{MOST_NAMED, NAME_SIZE, Named};
use super::proc::{Stat, folder_of, has_ended, pidfd_of};
use super::signals::signal_child;

/// What a search does, and how.
pub(super) struct Pass<'a> {
    pub(super) deed: Deed,
    /// How long it may take, unless it kills: far less than the time between the last two deadlines of a lease.
    pub(super) limit: Duration,
    /// The first process of a pid namespace: it is killed with all others, but no part of the tree.
    pub(super) init: Option<i32>,
    /// Children that are not part of any tree of ours, and are left alone with all that is below them.
    pub(super) spare: &'a [Spared],
    /// For processes of users whom we may not signal by ourselves.
    pub(super) courier: Option<&'a Courier>,
}

impl<'a> Pass<'a> {
    /// A quarter of the least margin is 125 ms.
    pub(super) const LIMIT: Duration = Duration::from_millis(50);

    /// One that kills all but `spare`.
    pub(super) const fn killing(spare: &'a [Spared], courier: Option<&'a Courier>) -> Self {
        Self { deed: Deed::Kill, limit: Self::LIMIT, init: None, spare, courier }
    }

    /// Whether it leaves this process alone. A number alone does not say: the process that had it may be gone.
    pub(super) fn spares(&self, proc: &OwnedFd, pid: i32) -> Result<bool, Errno> {
        let mut spared = self.spare.iter().filter(|spared| spared.pid == pid).peekable();
        if spared.peek().is_none() {
            return Ok(false);
        }
        let born = birth_of(proc, pid)?;
        // A hidden one is a child of ours as long as it was not reaped, and then it is spared no more.
        Ok(spared.any(|spared| spared.born == born || spared.born.is_none() || born.is_none()))
    }

    /// Signals the process whose folder of `/proc` that is; says whether that was allowed.
    pub(super) fn by_folder(&self, folder: &OwnedFd, pid: i32, signal: i32) -> bool {
        match signal_by(folder, signal) {
            Ok(()) | Err(Errno::ESRCH) => true,
            // Linux before 5.1, a filter of system calls, or no right to it: by the number, which was its own a moment
            // ago, and is not given out again before all others were.
            Err(_) => signal_child(pid, signal, self.courier),
        }
    }
}

/// What is done to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Kill it, before its children are listed.
    Kill,
    /// Signal it, unless it has heard of that.
    Signal {
        signal: i32,
        /// Follow it with CONT.
        resume: bool,
        heard: Option<Heard>,
    },
    /// Nothing: it is only counted.
    Look,
}

/// Which processes have been signalled before: those of this group, or of any, that were old enough at this instant. What
/// is below them is theirs to stop, and is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) group: Option<i32>,
    pub(super) at: Boottime,
}

impl Heard {
    /// A signal that comes between fork and exec is lost on a child of a shell: it still has the shell's traps then.
    const OLD_ENOUGH: Duration = Duration::from_millis(100);

    pub(super) fn has(self, stat: &Stat) -> bool {
        self.is_of(stat.group) && stat.born + Self::OLD_ENOUGH <= self.at
    }

    pub(super) fn is_of(self, group: i32) -> bool {
        self.group.is_none_or(|known| known == group)
    }
}

/// The kernel tells births by hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A child that is not part of any tree of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spared {
    pid: i32,
    /// `None` where `/proc` hides it.
    born: Option<Boottime>,
}

impl Spared {
    /// The one that has this number now; `None` if there is none.
    ///
    /// # Errors
    /// When `/proc` does not tell.
    pub(super) fn of(pid: i32) -> io::Result<Option<Self>> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let proc = open(c"/proc", flags, Mode::empty())?;
        match birth_of(&proc, pid) {
            Ok(born) => Ok(Some(Self { pid, born })),
            Err(Errno::ENOENT | Errno::ESRCH) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) const fn pid(&self) -> i32 {
        self.pid
    }
}

/// Those in `spare`, and the programs that stores run for themselves. Allocates: for the wrapper only.
///
/// One that is just being born is not among them yet, and may be killed: its store starts it again.
pub(super) fn with_helpers(spare: &[Spared]) -> Vec<Spared> {
    let helper = |pid: u32| Spared::of(pid.cast_signed()).ok().flatten();
    spare
        .iter()
        .copied()
        .chain(elect_api::helpers::living().into_iter().filter_map(helper))
        .collect()
}

/// When a process was born; `None` if it is there, and `/proc` does not show it.
fn birth_of(proc: &OwnedFd, pid: i32) -> Result<Option<Boottime>, Errno> {
    match folder_of(proc, pid).and_then(|folder| Stat::of(&folder)) {
        Ok(stat) => Ok(Some(stat.born)),
        Err(Errno::ENOENT | Errno::EPERM | Errno::EACCES) if !is_gone(pid) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether no process with this number lives, by the kernel's word: what `/proc` does not show may live.
pub(super) fn is_gone(pid: i32) -> bool {
    // SAFETY: kill has no memory preconditions, and no signal is sent.
    let has_none = || unsafe { libc::kill(pid, 0) } != 0 && Errno::last_raw() == libc::ESRCH;
    // One that is dead and not reaped may be hidden as well.
    is_off!(Hidden) || has_none() || pidfd_of(pid).is_some_and(|process| has_ended(&process))
}

/// What one pass has met with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// How many were not dead, though all of them may have been sent KILL.
    pub(super) living: u32,
    /// Tells two passes apart that met with others.
    sum: u64,
    /// When the youngest of them was born.
    youngest: Option<Boottime>,
    /// How many of our own children are dead and not reaped.
    pub(super) dead: u32,
    /// Whether some could not be looked at, or their children.
    pub(super) is_partial: bool,
    /// One that we may not signal.
    pub(super) refused: Option<i32>,
    /// The first of those that live.
    pub(super) first: [Named; MOST_NAMED],
}

impl Found {
    /// Nobody.
    pub(super) const NONE: Self = Self {
        living: 0,
        sum: 0,
        youngest: None,
        dead: 0,
        is_partial: false,
        refused: None,
        first: [Named { pid: 0, name: [0; NAME_SIZE] }; MOST_NAMED],
    };

    /// Whether nobody lives, as far as everything could be looked at.
    pub(super) const fn is_none(&self) -> bool {
        self.living == 0 && !self.is_partial
    }

    /// Whether others lived than at the pass `before`.
    pub(super) const fn differs_from(&self, before: &Self) -> bool {
        self.living != before.living || self.sum != before.sum
    }

    /// Whether somebody was born at `since` or later.
    pub(super) fn has_newborns(&self, since: Boottime) -> bool {
        self.youngest.is_some_and(|born| born + TICK >= since)
    }

    pub(super) fn add(&mut self, pid: i32) {
        self.living += 1;
        self.sum += u64::from(pid.unsigned_abs());
    }

    pub(super) fn name(&mut self, pid: i32, name: [u8; NAME_SIZE]) {
        let place = usize::try_from(self.living).ok().and_then(|index| self.first.get_mut(index));
        if let Some(place) = place {
            *place = Named { pid, name };
        }
    }

    pub(super) fn born(&mut self, at: Boottime) {
        self.youngest = Some(self.youngest.map_or(at, |youngest| youngest.max(at)));
    }
}

/// Signals the process whose folder of `/proc` that is.
pub(super) fn signal_by(folder: &OwnedFd, signal: i32) -> Result<(), Errno> {
    let info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the kernel reads no memory of ours without a siginfo.
    let sent =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, folder.as_raw_fd(), signal, info, 0) };
    if sent == 0 { Ok(()) } else { Err(Errno::last()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_young_are_signalled_again() {
        let at = |tenths: u64| Boottime::from_boot(Duration::from_millis(100 * tenths));
        let of = |group, born| {
            let (is_dead, name, parent, threads) = (false, [0; NAME_SIZE], 1, 1);
            Stat { is_dead, name, parent, group, threads, born: at(born) }
        };
        let heard = Heard { group: Some(7), at: at(10) };
        assert!(heard.has(&of(7, 9)));
        assert!(Heard { group: None, ..heard }.has(&of(8, 9)));
        assert!(!heard.has(&of(7, 10)) && !heard.has(&of(7, 11)) && !heard.has(&of(8, 1)));
    }

    #[test]
    fn newborns_are_those_of_the_last_pass() {
        let at = |millis| Boottime::from_boot(Duration::from_millis(millis));
        let mut found = Found::NONE;
        assert!(!found.has_newborns(at(0)));
        found.born(at(500));
        found.born(at(300));
        assert!(found.has_newborns(at(505)) && !found.has_newborns(at(511)));
    }
}
