//! Finds all descendants of a process, at any depth, and kills them, asks them to stop, or only counts them.
//!
//! A KILL is not yet an end. A killed process keeps its children while it tears down its memory, is halted by a tracer,
//! or sleeps uninterruptibly. No subreaper has these children then.
//!
//! So the search goes down the tree. Each process is killed before its children are listed, as a process with KILL
//! pending forks no more. Its children are listed whether it is about to exit or not.
//!
//! The number of a process may pass to a stranger once the process is reaped, and its parent may reap it at any time.
//! So each process below this process's own children is opened as a folder of `/proc`. The search checks that it is a
//! child of the expected parent, and signals it by that folder, which the kernel takes for a pidfd.
//!
//! `/proc` may hide a living process (`hidepid`) if it is not dumpable. Only the kernel's answer to a signal says that
//! a process is gone. A hidden process counts as alive, and is killed by a pidfd that was opened before the process was
//! listed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use elect_api::Boottime;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::children::{each_number, is_dead};
use super::clock;
use super::descriptors::{another, out_of_the_way};
use super::is_off;
use super::left::NAME_SIZE;
use super::pass::{Deed, Found, Pass, is_gone, signal_by};
use super::proc::{Stat, each_entry, folder_of, open_at, path_of, pidfd_of};
use super::signals::signal_child;

/// How many processes may wait until their children are listed. A process beyond that is killed all the same, and a
/// later pass finds its children.
const ROOM: usize = 2048;
/// The largest number of descriptors that a search takes: the folder of a process, the folder of its threads, a list of
/// children, and the folder and the state of one of those.
const RESERVE: usize = 5;

/// The resources of a search. It opens files, but never more than it has reserved descriptors for, and it allocates
/// nothing.
pub(super) struct Descendants {
    proc: OwnedFd,
    /// Reserved descriptors. They are closed while a search needs their numbers.
    reserve: [Option<OwnedFd>; RESERVE],
    /// Processes whose children are still to be listed, each with its parent.
    queue: Vec<(i32, i32)>,
}

/// The name given to a process whose own name `/proc` hides.
const HIDDEN: [u8; NAME_SIZE] = *b"(hidden)\0\0\0\0\0\0\0\0";

impl Descendants {
    /// Opens the resources of a search. Allocates.
    ///
    /// # Errors
    /// `/proc` cannot be opened, or no descriptor is left.
    pub(super) fn new() -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut descendants = Self {
            proc: out_of_the_way(open(c"/proc", flags, Mode::empty())?)?,
            reserve: [const { None }; RESERVE],
            queue: Vec::with_capacity(ROOM),
        };
        for place in &mut descendants.reserve {
            *place = Some(another(&descendants.proc)?);
        }
        Ok(descendants)
    }

    /// Calls `keep` with each of its descriptors.
    pub(super) fn each_descriptor(&self, keep: impl FnMut(RawFd)) {
        let reserve = self.reserve.iter().flatten();
        reserve.chain([&self.proc]).map(AsRawFd::as_raw_fd).for_each(keep);
    }

    /// Treats all descendants of this process. `list` is the open list of the children of the thread that gets the
    /// orphans, so that no descriptor need be opened for it. With `has_threads`, the children of the other threads are
    /// treated, too.
    pub(super) fn treat_own(&mut self, list: RawFd, has_threads: bool, how: &Pass<'_>) -> Found {
        self.search(
            |search| {
                let us = search.us;
                let mut offset = 0;
                loop {
                    let before = offset;
                    if let Err(errno) = each_number(list, &mut offset, |pid| search.offer(pid, us))
                    {
                        search.missed(errno);
                    }
                    search.go_down();
                    // Processes whose parents have just died stand at the end of the list, so the list is read again.
                    // Only a pass that kills does this: it kills them faster than new ones arrive.
                    if offset == before || search.how.deed != Deed::Kill {
                        break;
                    }
                }
                if has_threads {
                    search.begin_at(us);
                    search.go_down();
                }
            },
            how,
        )
    }

    /// Treats all descendants of another process.
    pub(super) fn treat_below(&mut self, root: i32, how: &Pass<'_>) -> Found {
        self.search(
            |search| {
                search.begin_at(root);
                search.go_down();
            },
            how,
        )
    }

    /// Tries the system calls of a search, on this process.
    ///
    /// # Errors
    /// A filter of system calls refuses one of them, or `/proc` hides this process.
    pub(super) fn try_out(&self, list: RawFd) -> io::Result<()> {
        // SAFETY: getpid has no preconditions.
        let own = unsafe { libc::getpid() };
        each_number(list, &mut 0, |_| ())?;
        let folder = folder_of(&self.proc, own)?;
        Stat::of(&folder)?;
        let tasks = open_at(&folder, c"task", OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
        each_entry(&tasks, |_| ())?;
        // A failure here is no error, as there is another way. But a filter that kills the caller must do so now.
        let _ = signal_by(&folder, 0);
        Ok(())
    }

    fn search(&mut self, pass: impl FnOnce(&mut Search<'_>), how: &Pass<'_>) -> Found {
        self.queue.clear();
        self.reserve = [const { None }; RESERVE];
        // SAFETY: getpid has no preconditions.
        let us = unsafe { libc::getpid() };
        let (proc, queue) = (&self.proc, &mut self.queue);
        let end = (how.deed != Deed::Kill).then(|| clock::now() + how.limit);
        let mut search = Search { proc, queue, us, how, end, found: Found::NONE };
        pass(&mut search);
        let found = search.found;
        for place in &mut self.reserve {
            // After a failure, the next pass must do with the descriptors that are free then.
            *place = another(&self.proc).ok();
        }
        found
    }
}

/// The state of one pass.
struct Search<'a> {
    proc: &'a OwnedFd,
    queue: &'a mut Vec<(i32, i32)>,
    us: i32,
    how: &'a Pass<'a>,
    /// The end of a pass that does not kill.
    end: Option<Boottime>,
    found: Found,
}

impl Search<'_> {
    fn begin_at(&mut self, root: i32) {
        let begin = || {
            let folder = folder_of(self.proc, root)?;
            let stat = Stat::of(&folder)?;
            Ok::<_, Errno>((folder, stat))
        };
        match begin() {
            Ok((_, stat)) if stat.is_dead => {}
            Ok::<_, Errno>((folder, stat)) => self.list(&folder, root, stat.threads),
            Err(_) => self.found.is_partial |= !is_gone(root),
        }
    }

    fn go_down(&mut self) {
        while let Some((pid, parent)) = self.queue.pop() {
            if self.is_late() {
                return;
            }
            if let Err(errno) = self.visit(pid, parent) {
                self.missed(errno);
            }
        }
    }

    /// Returns whether a pass that does not kill has used up its time. The caller handles nothing else during a pass.
    fn is_late(&mut self) -> bool {
        let is_late = self.end.is_some_and(|end| clock::now() >= end);
        self.found.is_partial |= is_late;
        is_late
    }

    /// Takes note that a process could not be looked at. A process that is gone does not count.
    fn missed(&mut self, errno: Errno) {
        self.found.is_partial |= !matches!(errno, Errno::ENOENT | Errno::ESRCH);
    }

    /// Adds a process from the list of `parent`'s children to the queue.
    fn offer(&mut self, pid: i32, parent: i32) {
        match self.how.spares(self.proc, pid) {
            Ok(false) => {}
            Ok(true) => return,
            Err(errno) => return self.missed(errno),
        }
        if parent == self.us && is_dead(pid) {
            self.found.dead += 1;
        } else if self.queue.len() < ROOM {
            self.queue.push((pid, parent));
        } else {
            self.found.is_partial = true;
            if self.is_late() {
                return;
            }
            if let Err(errno) = self.treat(pid, parent) {
                self.missed(errno);
            }
        }
    }

    /// Signals a child of this process. The child is not reaped, and no other process could reap it, so its number is
    /// its own.
    fn signal_own(&mut self, pid: i32, signal: i32) {
        if !signal_child(pid, signal, self.how.signal_helper) {
            self.found.refused = Some(pid);
        }
    }

    /// Treats a process, and adds its children to the queue.
    fn visit(&mut self, pid: i32, parent: i32) -> Result<(), Errno> {
        if let Some((folder, stat)) = self.treat(pid, parent)?
            && !is_off!(Depth)
        {
            self.list(&folder, pid, stat.threads);
        }
        Ok(())
    }

    /// Treats a process from the list of `parent`'s children. Returns `None` if it is dead or no longer such a child.
    fn treat(&mut self, pid: i32, parent: i32) -> Result<Option<(OwnedFd, Stat)>, Errno> {
        let is_ours = parent == self.us;
        if is_ours && self.how.deed == Deed::Kill {
            self.signal_own(pid, libc::SIGKILL);
        }
        let found = folder_of(self.proc, pid).and_then(|folder| Ok((Stat::of(&folder)?, folder)));
        let (stat, folder) = match found {
            Ok(seen) => seen,
            Err(errno) => {
                if is_ours || !is_gone(pid) {
                    self.found.name(pid, HIDDEN);
                    self.found.add(pid);
                    self.treat_hidden(pid, parent);
                }
                return Err(errno);
            }
        };
        // A process that has become this process's child meanwhile also stands at the end of its own list.
        if stat.is_dead || (stat.parent != parent && stat.parent != self.us) {
            return Ok(None);
        }
        if self.how.deed != Deed::Kill && self.how.init == Some(pid) {
            return Ok(Some((folder, stat)));
        }
        self.found.name(pid, stat.name);
        self.found.add(pid);
        self.found.born(stat.born);
        match self.how.deed {
            Deed::Kill if is_ours => {}
            Deed::Kill => self.signal_other(&folder, pid, libc::SIGKILL),
            Deed::Signal { signal, resume, heard } => {
                if !heard.is_some_and(|it| it.has(&stat)) {
                    self.signal_found(&folder, pid, is_ours, signal);
                    if resume {
                        self.signal_found(&folder, pid, is_ours, libc::SIGCONT);
                    }
                }
                // The process that heard the signal stops its children itself. A child that cleans up for it must not
                // be ended.
                if heard.is_some_and(|it| it.is_of(stat.group)) {
                    return Ok(None);
                }
            }
            Deed::Count => {}
        }
        Ok(Some((folder, stat)))
    }

    fn signal_found(&mut self, folder: &OwnedFd, pid: i32, is_ours: bool, signal: i32) {
        if is_ours {
            self.signal_own(pid, signal);
        } else {
            self.signal_other(folder, pid, signal);
        }
    }

    fn signal_other(&mut self, folder: &OwnedFd, pid: i32, signal: i32) {
        if !self.how.by_folder(folder, pid, signal) {
            self.found.refused = Some(pid);
        }
    }

    /// Treats a process that cannot be looked at, if it is a child of `parent`. A child of this process that must be
    /// killed has been killed before.
    ///
    /// The pidfd is opened first, and the number is looked up in the parent's list after that. A number that is listed
    /// then belongs to the opened process, unless that was reaped before.
    fn treat_hidden(&mut self, pid: i32, parent: i32) {
        let is_ours = parent == self.us;
        let signals = match self.how.deed {
            Deed::Kill => [Some(libc::SIGKILL).filter(|_| !is_ours), None],
            Deed::Count => [None, None],
            Deed::Signal { heard: Some(heard), .. } if heard.is_of(group_of(pid)) => [None, None],
            Deed::Signal { signal, resume, .. } => [Some(signal), resume.then_some(libc::SIGCONT)],
        };
        for signal in signals.into_iter().flatten() {
            if is_ours {
                self.signal_own(pid, signal);
                continue;
            }
            // Before Linux 5.3 there are no pidfds to open. The process is found again when its parent is dead.
            let process = pidfd_of(pid).filter(|_| self.is_child(pid, parent));
            if process.is_some_and(|it| signal_by(&it, signal) == Err(Errno::EPERM)) {
                self.found.refused = Some(pid);
            }
        }
    }

    fn is_child(&self, pid: i32, parent: i32) -> bool {
        let mut is_listed = false;
        let listed = folder_of(self.proc, parent).and_then(|folder| {
            let tasks = open_at(&folder, c"task", OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
            each_entry(&tasks, |thread| {
                let visit = |child| is_listed |= child == pid;
                let _ = each_child(self.proc, &folder, parent, thread, visit);
            })
        });
        listed.is_ok() && is_listed
    }

    /// Adds the children of all threads of a process to the queue.
    fn list(&mut self, folder: &OwnedFd, pid: i32, threads: u64) {
        if threads == 1 {
            return self.list_of(folder, pid, pid);
        }
        let tasks = open_at(folder, c"task", OFlag::O_RDONLY | OFlag::O_DIRECTORY);
        let listed =
            tasks.and_then(|tasks| each_entry(&tasks, |thread| self.list_of(folder, pid, thread)));
        if let Err(errno) = listed {
            self.missed(errno);
        }
    }

    /// Adds the children of one thread to the queue.
    fn list_of(&mut self, folder: &OwnedFd, pid: i32, thread: i32) {
        if self.is_late() {
            return;
        }
        let proc = self.proc;
        if let Err(errno) = each_child(proc, folder, pid, thread, |child| self.offer(child, pid)) {
            self.missed(errno);
        }
    }
}

/// Calls `visit` with each child of a thread of the process `pid`, whose folder in `proc` is `folder`.
///
/// All threads but the first are reached by `/proc/THREAD`. So no entry of theirs is below the folder of the process in
/// the kernel's cache, where the reaper of the process would have to wait for them
/// (see [`Before::lowered`](super::priority::Before::lowered)).
fn each_child(
    proc: &OwnedFd,
    folder: &OwnedFd,
    pid: i32,
    thread: i32,
    visit: impl FnMut(i32),
) -> Result<(), Errno> {
    let mut path = [0; 48];
    let list = if thread == pid {
        let path = path_of(&mut path, format_args!("task/{pid}/children"))?;
        open_at(folder, path, OFlag::O_RDONLY)?
    } else {
        // `task/PID` is there only if the thread is one of a process with this number.
        let way = format_args!("{thread}/task/{pid}/../{thread}/children");
        let list = open_at(proc, path_of(&mut path, way)?, OFlag::O_RDONLY)?;
        // The number was the process's own if that is not reaped yet.
        open_at(folder, c"task", OFlag::O_PATH)?;
        list
    };
    each_number(list.as_raw_fd(), &mut 0, visit)
}

/// Returns the process group of a process, even of a hidden one.
fn group_of(pid: i32) -> i32 {
    // SAFETY: getpgid has no memory preconditions.
    unsafe { libc::getpgid(pid) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::guard::pass::with_helpers;

    #[test]
    fn a_stores_own_helpers_are_left_alone() {
        use std::os::unix::process::ExitStatusExt as _;
        use std::process::Command;

        let list = crate::guard::children::list().unwrap();
        let helper = std::thread::spawn(|| {
            let mut command = Command::new("/bin/sleep");
            elect_system::helpers::run(command.arg("600"), Duration::from_secs(3600)).unwrap()
        });
        let pid = loop {
            if let [pid] = elect_system::helpers::living()[..] {
                break i32::try_from(pid).unwrap();
            }
            std::thread::yield_now();
        };
        let mut other = Command::new("/bin/sleep").arg("600").spawn().unwrap();
        let spare = with_helpers(&[]);
        assert_eq!(spare.len(), 1);
        let pass = Pass::killing(&spare, None);
        Descendants::new().unwrap().treat_own(list.as_raw_fd(), true, &pass);
        assert_eq!(other.wait().unwrap().signal(), Some(libc::SIGKILL));
        // TERM ends the helper, so no other signal has killed it before.
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGTERM).unwrap();
        assert_eq!(helper.join().unwrap().status.unwrap().signal(), Some(libc::SIGTERM));
        assert_eq!(with_helpers(&[]), []);
    }

    #[test]
    fn a_pass_that_does_not_kill_is_over_in_time() {
        let list = crate::guard::children::list().unwrap();
        let mut child = std::process::Command::new("/bin/sleep").arg("600").spawn().unwrap();
        let pass_within = |limit| {
            let pass = Pass { deed: Deed::Count, limit, ..Pass::killing(&[], None) };
            Descendants::new().unwrap().treat_own(list.as_raw_fd(), true, &pass)
        };
        let whole = pass_within(Duration::from_secs(3600));
        assert!(whole.living > 0 && !whole.is_partial, "{whole:?}");
        let partial = pass_within(Duration::ZERO);
        assert!(partial.living == 0 && partial.is_partial, "{partial:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
