//! The enclosure of a command: how the command comes into it, how all processes in it are killed, and how it is known
//! to be empty.
//!
//! | containment | the command is started by | all are killed by | empty once |
//! |---|---|---|---|
//! | `group` | fork | KILL of its group | `wait` knows no child |
//! | `scan` | fork | the same, and KILL of each descendant, again and again | the same |
//! | `cgroup` | fork into the cgroup | the same as `scan`, and `cgroup.kill` | the same, and no process is left in the cgroup |
//! | `pidns` | fork into the namespace, by a door | the same as `scan`, and KILL of the init | the same; the init is a child |

mod cgroup;
mod clone;
mod init;
mod namespace;

use std::fmt::{self, Display};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

use self::cgroup::Cgroup;
use self::namespace::Namespace;
use super::children;
use super::descendants::Descendants;
use super::pass::{Deed, Found, Pass, Spared};
use super::signal_helper::{self, SignalHelper};
use super::spawn::SpawnRequest;
use super::{Terminal, signals};

/// How surely all descendants of the command can be killed, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Containment {
    /// The command's process group is killed while the command itself lives. After that its number may belong to
    /// another group. A descendant that left the group, or outlives the command, is not found. Leadership is released
    /// only after it has ended by itself.
    Group,
    /// Every descendant becomes a child of the guardian when its parent dies. So it is found and killed, whatever its
    /// session and group. Not held are set-uid programs when elect is not root, and a `setsid` escaper when wrapper
    /// *and* guardian are killed. Not held are also processes in a pid namespace that the tree did not make, as their
    /// orphans go to the init there.
    Scan,
    /// Like `Scan`, in a cgroup of the command's own, which the kernel kills as a whole. It also holds set-uid
    /// programs, and processes that were moved there.
    Cgroup,
    /// A pid namespace of the command's own. The kernel kills everything in it when its first process dies, and that
    /// dies with the guardian. No process escapes, whether wrapper or guardian is killed or stopped.
    Pidns,
}

impl Containment {
    /// All containments, the best first.
    pub const ALL: [Self; 4] = [Self::Pidns, Self::Cgroup, Self::Scan, Self::Group];

    /// Returns the name for flags, logs and status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pidns => "pidns",
            Self::Cgroup => "cgroup",
            Self::Scan => "scan",
            Self::Group => "group",
        }
    }
}

impl Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The enclosure of one command.
pub struct Enclosure {
    containment: Containment,
    walls: Walls,
    /// The search for descendants, if the containment uses it.
    descendants: Option<Descendants>,
    /// The open list `/proc/.../children`: of the guardian in the guardian, of the wrapper in the wrapper.
    list: Option<OwnedFd>,
    /// The signal helpers of guardian and wrapper, if elect itself may not signal processes of other users.
    signal_helpers: Option<[SignalHelper; 2]>,
}

enum Walls {
    None,
    Cgroup(Cgroup),
    Namespace(Namespace),
}

impl Enclosure {
    /// Makes the enclosure with the wished containment. Without a wish, it takes the best one that changes nothing that
    /// the command can see. If that is less than `required`, it takes the one of the rest that changes the least.
    /// Everything that a containment needs is tried here, so an enclosure that is returned works.
    ///
    /// # Errors
    /// Returns why no such enclosure is possible.
    pub fn choose(
        wish: Option<Containment>,
        required: Option<Containment>,
    ) -> Result<Self, Unavailable> {
        use Containment::{Cgroup, Group, Pidns, Scan};
        let required = required.unwrap_or(Group);
        if let Some(wish) = wish.filter(|&wish| wish < required) {
            return Err(Unavailable { wish: Some(wish), required, refusals: Vec::new() });
        }
        let by_visibility = [Scan, Group, Cgroup, Pidns];
        let mut refusals = Vec::new();
        for containment in by_visibility {
            if wish.map_or(containment >= required, |wish| wish == containment) {
                match Self::make(containment) {
                    Ok(enclosure) => return Ok(enclosure),
                    Err(refusal) => {
                        let ends = refusal.is_want();
                        refusals.push((containment, refusal));
                        // The lack of a descriptor must not lead to a weaker containment.
                        if ends {
                            break;
                        }
                    }
                }
            }
        }
        Err(Unavailable { wish, required, refusals })
    }

    /// Returns the best containment that changes nothing that the command can see.
    pub fn best_unseen() -> Containment {
        if children::are_listed() { Containment::Scan } else { Containment::Group }
    }

    /// Makes an enclosure with that containment, even if it does not hold processes that become another user's.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn unseen() -> io::Result<Self> {
        Self::with(Self::best_unseen(), Walls::None)
    }

    /// Returns all containments, the best first, each with the reason if it is not possible here. Everything that a
    /// containment needs is tried, and nothing of it is left.
    pub fn at_hand() -> Vec<(Containment, Result<(), String>)> {
        let try_out =
            |containment| Self::make(containment).map(drop).map_err(|refusal| refusal.to_string());
        Containment::ALL.map(|containment| (containment, try_out(containment))).into()
    }

    fn make(containment: Containment) -> Result<Self, Refusal> {
        let walls = match containment {
            Containment::Scan if !children::are_listed() => return Err(Refusal::Unlisted),
            Containment::Group | Containment::Scan => {
                if signal_helper::is_needed() {
                    signal_helper::try_out().map_err(Refusal::Unkillable)?;
                }
                Walls::None
            }
            Containment::Cgroup => Walls::Cgroup(Cgroup::new().map_err(Refusal::Cgroup)?),
            Containment::Pidns => Walls::Namespace(Namespace::new().map_err(Refusal::Namespace)?),
        };
        Self::with(containment, walls).map_err(Refusal::Unprepared)
    }

    fn with(containment: Containment, walls: Walls) -> io::Result<Self> {
        let scans = containment != Containment::Group && children::are_listed();
        let descendants = scans.then(Descendants::new).transpose()?;
        let list = scans.then(children::list).transpose()?;
        if let (Some(descendants), Some(list)) = (&descendants, &list) {
            descendants.try_out(list.as_raw_fd())?;
        }
        let signal_helpers = || Ok::<_, io::Error>([SignalHelper::new()?, SignalHelper::new()?]);
        Ok(Self {
            containment,
            walls,
            descendants,
            list,
            signal_helpers: signal_helper::is_needed().then(signal_helpers).transpose()?,
        })
    }

    /// Returns the containment in force.
    pub const fn containment(&self) -> Containment {
        self.containment
    }

    /// Returns whether programs in the enclosure can look only at the descriptors of its init.
    pub(super) const fn has_init(&self) -> bool {
        matches!(self.walls, Walls::Namespace(_))
    }
}

/// The guardian's methods. Only the first one allocates.
impl Enclosure {
    /// Turns to the children of the guardian, which was just forked. The wrapper's list is closed first, so that its
    /// descriptor is free for the new one.
    ///
    /// # Errors
    /// The children are not listed any more, or no descriptor is left.
    pub(super) fn turn_to_children(&mut self) -> io::Result<()> {
        if self.list.take().is_some() {
            self.list = Some(children::list()?);
        }
        Ok(())
    }

    /// Forks the command into the enclosure. Returns its process id, which is also the id of its group. The group
    /// exists when this returns.
    ///
    /// # Errors
    /// Returns the `errno` of the failure. No code of the command has run in that case.
    pub(super) fn spawn(&mut self, mut request: SpawnRequest<'_>) -> Result<i32, i32> {
        request.launch.in_front = request.launch.terminal.as_ref().is_some_and(Terminal::is_due);
        let pid = self.start(&mut request)?;
        // Guardian and child both make the group. Whichever comes first, the group exists before it is needed.
        // SAFETY: setpgid has no preconditions.
        unsafe { libc::setpgid(pid, pid) };
        // The guardian's copy of the pipe would hide the exec.
        request.launch.failure_write = None;
        Ok(pid)
    }

    fn start(&mut self, request: &mut SpawnRequest<'_>) -> Result<i32, i32> {
        let pid = match &mut self.walls {
            Walls::Namespace(namespace) => return namespace.start(request),
            Walls::Cgroup(cgroup) => cgroup.fork()?,
            // SAFETY: fork has no preconditions. The guardian has one thread, so the child may call anything; it keeps
            // to system calls all the same.
            Walls::None => match unsafe { libc::fork() } {
                -1 => return Err(Errno::last_raw()),
                pid => pid,
            },
        };
        if pid != 0 {
            return Ok(pid);
        }
        match &self.walls {
            Walls::Cgroup(cgroup) => request.become_command(cgroup.enter()),
            Walls::None | Walls::Namespace(_) => request.become_command(Ok(())),
        }
    }

    /// Signals the group of the command. The command is not reaped, so the number is still its own. Returns whether the
    /// signal was permitted.
    pub(super) fn signal(&self, command: i32, signal: i32) -> bool {
        let signal_helper = self.signal_helpers.as_ref().map(|[signal_helper, _]| signal_helper);
        signals::signal_command(command, signal, signal_helper)
    }

    /// Does this to all processes that the command left when it ended. Returns the processes that were found.
    pub(super) fn treat_left(&mut self, deed: Deed) -> Found {
        let signal_helper = self.signal_helpers.as_ref().map(|[signal_helper, _]| signal_helper);
        let init = match &self.walls {
            Walls::Namespace(namespace) => namespace.init(),
            Walls::None | Walls::Cgroup(_) => None,
        };
        match (&mut self.descendants, &self.list, &self.walls, deed) {
            (Some(descendants), Some(list), ..) => {
                let pass = Pass { deed, init, ..Pass::killing(&[], signal_helper) };
                descendants.treat_own(list.as_raw_fd(), false, &pass)
            }
            (_, _, Walls::Namespace(namespace), Deed::Signal { signal, resume, .. }) => {
                namespace.signal(signal);
                if resume {
                    namespace.signal(libc::SIGCONT);
                }
                Found::NONE
            }
            _ => Found::NONE,
        }
    }

    /// Kills all processes in the enclosure that can be found, once. Returns those that were found besides the
    /// command's group.
    pub(super) fn kill_all(&mut self, command: Option<i32>) -> Found {
        let signal_helper = self.signal_helpers.as_ref().map(|[signal_helper, _]| signal_helper);
        if let Some(command) = command {
            signals::signal_command(command, libc::SIGKILL, signal_helper);
        }
        self.kill_walled();
        match (&mut self.descendants, &self.list) {
            (Some(descendants), Some(list)) => {
                descendants.treat_own(list.as_raw_fd(), false, &Pass::killing(&[], signal_helper))
            }
            _ => Found::NONE,
        }
    }

    /// Returns whether no process in the enclosure lives, so that none can appear. Returns `false` if that is not
    /// known.
    pub(super) fn is_dead(&self) -> bool {
        let list = self.list.as_ref().map(AsRawFd::as_raw_fd);
        list.is_some_and(|list| children::are_dead(list) == Ok(true)) && self.is_empty()
    }

    /// Returns whether a living process in the enclosure may wait until the dead are reaped, as the init of a pid
    /// namespace does, or whether nothing tells that all are dead.
    pub(super) fn awaits_reaping(&self) -> bool {
        self.list.is_none() || matches!(self.walls, Walls::Namespace(_))
    }

    /// Takes note that the command has ended.
    pub(super) fn command_ended(&self) {
        if let Walls::Namespace(namespace) = &self.walls {
            namespace.command_ended();
        }
    }

    /// Takes note that this child of the guardian is reaped.
    pub(super) fn reaped(&mut self, pid: i32) {
        if let Walls::Namespace(namespace) = &mut self.walls {
            namespace.reaped(pid);
        }
    }

    /// Returns a descriptor with news of processes other than the guardian's children. `poll` reports POLLPRI on it
    /// when the enclosure has become empty or populated.
    pub(super) const fn news(&self) -> Option<&OwnedFd> {
        match &self.walls {
            Walls::Cgroup(cgroup) => Some(cgroup.events()),
            Walls::None | Walls::Namespace(_) => None,
        }
    }

    /// Removes the enclosure, which is not used again.
    pub(super) fn remove(&self) {
        if let Walls::Cgroup(cgroup) = &self.walls {
            cgroup.remove();
        }
    }

    /// Calls `keep` with each descriptor of the enclosure.
    pub(super) fn each_descriptor(&self, mut keep: impl FnMut(RawFd)) {
        self.list.iter().map(AsRawFd::as_raw_fd).for_each(&mut keep);
        self.descendants.iter().for_each(|it| it.each_descriptor(&mut keep));
        let signal_helper = self.signal_helpers.iter().map(|[signal_helper, _]| signal_helper);
        signal_helper.flat_map(SignalHelper::descriptors).for_each(&mut keep);
        match &self.walls {
            Walls::None => {}
            Walls::Cgroup(cgroup) => cgroup.descriptors().into_iter().for_each(keep),
            Walls::Namespace(namespace) => namespace.descriptors().for_each(keep),
        }
    }
}

/// Methods for guardian and wrapper.
impl Enclosure {
    fn kill_walled(&self) {
        match &self.walls {
            Walls::None => {}
            Walls::Cgroup(cgroup) => cgroup.kill(),
            Walls::Namespace(namespace) => namespace.kill(),
        }
    }

    /// Returns whether the enclosure holds no process that `wait` does not know.
    pub(super) fn is_empty(&self) -> bool {
        match &self.walls {
            Walls::Cgroup(cgroup) => cgroup.is_empty(),
            Walls::None | Walls::Namespace(_) => true,
        }
    }
}

/// The wrapper's methods.
impl Enclosure {
    /// Releases the parts that only the guardian uses.
    #[must_use]
    pub(super) fn for_wrapper(self) -> Self {
        let walls = match self.walls {
            Walls::Namespace(_) => Walls::None,
            walls => walls,
        };
        Self { walls, ..self }
    }

    /// Kills all descendants of this process once, except those in `spare`. This is for the time after the guardian's
    /// death. Returns the processes that were found, or `None` if they cannot be searched for.
    pub(super) fn sweep(&mut self, spare: &[Spared]) -> Option<Found> {
        self.kill_walled();
        let signal_helper = self.signal_helpers.as_ref().map(|[_, signal_helper]| signal_helper);
        let (descendants, list) = (self.descendants.as_mut()?, self.list.as_ref()?);
        Some(descendants.treat_own(list.as_raw_fd(), true, &Pass::killing(spare, signal_helper)))
    }

    /// Kills all descendants of a guardian that does not do it, once. Returns the processes that were found, or `None`
    /// if they cannot be searched for.
    pub(super) fn kill_below(&mut self, guardian: i32, spare: &[Spared]) -> Option<Found> {
        self.kill_walled();
        let signal_helper = self.signal_helpers.as_ref().map(|[_, signal_helper]| signal_helper);
        let descendants = self.descendants.as_mut()?;
        Some(descendants.treat_below(guardian, &Pass::killing(spare, signal_helper)))
    }
}

/// The reason why no containment that suffices is possible.
#[derive(Debug, thiserror::Error)]
pub struct Unavailable {
    wish: Option<Containment>,
    required: Containment,
    refusals: Vec<(Containment, Refusal)>,
}

#[derive(Debug)]
enum Refusal {
    Unlisted,
    Unkillable(io::Error),
    Unprepared(io::Error),
    Cgroup(cgroup::Unavailable),
    Namespace(namespace::Unavailable),
}

impl Refusal {
    /// Returns whether a resource has run out that every containment needs.
    fn is_want(&self) -> bool {
        let Self::Unprepared(error) = self else { return false };
        let errno = error.raw_os_error();
        matches!(errno, Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
    }
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wish, required, refusals } = self;
        match wish {
            Some(wish) if wish < required => {
                return write!(f, "containment {wish} is less than {required}, which is required");
            }
            Some(wish) => write!(f, "containment {wish} is not available here")?,
            None if refusals.last().is_some_and(|(_, refusal)| refusal.is_want()) => {
                f.write_str("cannot look for descendants of a command")?;
            }
            None if *required == Containment::Group => {
                f.write_str("no containment can be had here")?;
            }
            None => write!(f, "containment {required}, which is required, is not available here")?,
        }
        for (index, (containment, refusal)) in refusals.iter().enumerate() {
            f.write_str(if index == 0 { ": " } else { "; " })?;
            if refusals.len() > 1 {
                write!(f, "{containment}: ")?;
            }
            refusal.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlisted => f.write_str(
                "/proc does not list our children: mount it for the pid namespace that elect is in",
            ),
            Self::Unkillable(error) => write!(
                f,
                "root cannot kill other users' processes here ({error}): give elect the capability CAP_KILL"
            ),
            Self::Unprepared(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                write!(
                    f,
                    "it cannot be prepared: {error}: raise the limit of open files (ulimit -n)"
                )
            }
            Self::Unprepared(error) => write!(f, "it cannot be prepared: {error}"),
            Self::Cgroup(trouble) => trouble.fmt(f),
            Self::Namespace(trouble) => trouble.fmt(f),
        }
    }
}
