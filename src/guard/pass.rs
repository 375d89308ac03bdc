//! One pass over a tree: what it does to each process in it, and what it finds.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use elect_api::Boottime;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::is_off;
use super::left::{MOST_NAMED, NAME_SIZE, Named};
use super::proc::{Stat, folder_of, has_ended, pidfd_of};
use super::signal_helper::SignalHelper;
use super::signals::signal_child;

/// The task of a search, and its conditions.
pub(super) struct Pass<'a> {
    pub(super) deed: Deed,
    /// The longest time for a pass that does not kill. It is far less than the time between the last two deadlines of a
    /// lease.
    pub(super) limit: Duration,
    /// The first process of a pid namespace. It is killed with the others, but is no part of the tree.
    pub(super) init: Option<i32>,
    /// Children of this process that belong to no tree. They are left alone, with all processes below them.
    pub(super) spare: &'a [Spared],
    /// The way to signal processes of other users that elect itself may not signal.
    pub(super) signal_helper: Option<&'a SignalHelper>,
}

impl<'a> Pass<'a> {
    /// The time between the last two deadlines is at least 125 ms: a quarter of the smallest margin.
    pub(super) const LIMIT: Duration = Duration::from_millis(50);

    /// Makes a pass that kills everything but `spare`.
    pub(super) const fn killing(
        spare: &'a [Spared],
        signal_helper: Option<&'a SignalHelper>,
    ) -> Self {
        Self { deed: Deed::Kill, limit: Self::LIMIT, init: None, spare, signal_helper }
    }

    /// Returns whether the pass leaves this process alone. The number alone does not tell that, as its former process
    /// may be gone.
    pub(super) fn spares(&self, proc: &OwnedFd, pid: i32) -> Result<bool, Errno> {
        let mut spared = self.spare.iter().filter(|spared| spared.pid == pid).peekable();
        if spared.peek().is_none() {
            return Ok(false);
        }
        let born = birth_of(proc, pid)?;
        // If `/proc` hides one of the births, the number decides. A spared child keeps its number until this process
        // reaps it, and is removed from the list then.
        Ok(spared.any(|spared| spared.born == born || spared.born.is_none() || born.is_none()))
    }

    /// Signals the process with this folder in `/proc`. Returns whether the kernel permitted it.
    pub(super) fn by_folder(&self, folder: &OwnedFd, pid: i32, signal: i32) -> bool {
        match signal_by(folder, signal) {
            Ok(()) | Err(Errno::ESRCH) => true,
            // The call fails on Linux before 5.1, by a filter of system calls, or for lack of permission. Then the
            // number is used. It was the process's own a moment ago, and the kernel gives out all other numbers before
            // it comes again.
            Err(_) => signal_child(pid, signal, self.signal_helper),
        }
    }
}

/// What a pass does to each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Kill it, before its children are listed.
    Kill,
    /// Signal it, unless it has noticed the signal before.
    Signal {
        signal: i32,
        /// Whether CONT follows.
        resume: bool,
        heard: Option<Heard>,
    },
    /// Only count it.
    Count,
}

/// The processes that noticed an earlier signal: those of this group, or of any group, that were old enough at this
/// instant. Processes below them are theirs to stop, and are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) group: Option<i32>,
    pub(super) at: Boottime,
}

impl Heard {
    /// The least age at which a process notices a signal. A child of a shell still has the shell's traps between fork
    /// and exec, and loses a signal then.
    const OLD_ENOUGH: Duration = Duration::from_millis(100);

    pub(super) fn has(self, stat: &Stat) -> bool {
        self.is_of(stat.group) && stat.born + Self::OLD_ENOUGH <= self.at
    }

    pub(super) fn is_of(self, group: i32) -> bool {
        self.group.is_none_or(|known| known == group)
    }
}

/// The unit of births in the kernel: hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A child of this process that belongs to no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spared {
    pid: i32,
    /// The time of birth. `None` if `/proc` hides it.
    born: Option<Boottime>,
}

impl Spared {
    /// Returns the process that has this number now, or `None` if there is none.
    ///
    /// # Errors
    /// `/proc` does not tell.
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

/// Returns `spare` together with the programs that stores run for themselves. Allocates, so it is for the wrapper only.
///
/// A program that is just being started is not in the list yet, and may be killed. Its store starts it again.
pub(super) fn with_helpers(spare: &[Spared]) -> Vec<Spared> {
    let helper = |pid: u32| Spared::of(pid.cast_signed()).ok().flatten();
    spare
        .iter()
        .copied()
        .chain(elect_system::helpers::living().into_iter().filter_map(helper))
        .collect()
}

/// Returns the time at which a process was born, or `None` if the process is there but `/proc` hides it.
fn birth_of(proc: &OwnedFd, pid: i32) -> Result<Option<Boottime>, Errno> {
    match folder_of(proc, pid).and_then(|folder| Stat::of(&folder)) {
        Ok(stat) => Ok(Some(stat.born)),
        Err(Errno::ENOENT | Errno::EPERM | Errno::EACCES) if !is_gone(pid) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns whether no process with this number lives. The kernel decides that, as a process that `/proc` does not show
/// may live.
pub(super) fn is_gone(pid: i32) -> bool {
    // SAFETY: kill has no memory preconditions, and no signal is sent.
    let has_none = || unsafe { libc::kill(pid, 0) } != 0 && Errno::last_raw() == libc::ESRCH;
    // A process that is dead and not reaped may be hidden as well.
    is_off!(Hidden) || has_none() || pidfd_of(pid).is_some_and(|process| has_ended(&process))
}

/// The findings of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The number of processes that were not dead, though all of them may have been sent KILL.
    pub(super) living: u32,
    /// The sum of their numbers, which tells two passes apart if they found different processes.
    sum: u64,
    /// The time at which the youngest of them was born.
    youngest: Option<Boottime>,
    /// The number of this process's own children that are dead and not reaped.
    pub(super) dead: u32,
    /// Whether some processes, or their children, could not be looked at.
    pub(super) is_partial: bool,
    /// A process that elect may not signal.
    pub(super) refused: Option<i32>,
    /// The first of the living processes.
    pub(super) first: [Named; MOST_NAMED],
}

impl Found {
    /// No process at all.
    pub(super) const NONE: Self = Self {
        living: 0,
        sum: 0,
        youngest: None,
        dead: 0,
        is_partial: false,
        refused: None,
        first: [Named { pid: 0, name: [0; NAME_SIZE] }; MOST_NAMED],
    };

    /// Returns whether no process lives. Returns `false` if something could not be looked at.
    pub(super) const fn is_none(&self) -> bool {
        self.living == 0 && !self.is_partial
    }

    /// Returns whether other processes lived than at the pass `before`.
    pub(super) const fn differs_from(&self, before: &Self) -> bool {
        self.living != before.living || self.sum != before.sum
    }

    /// Returns whether a process was born at `since` or later.
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

/// Signals the process with this folder in `/proc`.
pub(super) fn signal_by(folder: &OwnedFd, signal: i32) -> Result<(), Errno> {
    let info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: without a siginfo, the kernel reads no memory of this process.
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
