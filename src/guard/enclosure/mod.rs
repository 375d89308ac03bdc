//! What holds the command's descendants: how the command comes into it, how all in it are killed, and
//! how it is known to be empty.
//!
//! | containment | the command is started by | all are killed by | empty once |
//! |---|---|---|---|
//! | `group` | fork | KILL of its group | `wait` knows no child |
//! | `scan` | fork | that, and KILL of each descendant, again and again | the same |
//! | `cgroup` | fork into the cgroup | that, and `cgroup.kill` | the same, and nothing populates the cgroup |
//! | `pidns` | fork into the namespace, by a door | that, and KILL of the init | the same; the init is a child |

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
use super::birth::Birth;
use super::children;
use super::courier::{self, Courier};
use super::descendants::Descendants;
use super::pass::{Deed, Found, Pass, Spared};
use super::{Terminal, signals};

/// How surely all descendants of the command can be killed, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Containment {
    /// The command's process group is killed, while the command itself lives: after that its number
    /// may be another's. A descendant that left it, or outlives the command, is not found; leadership is
    /// not released before it has ended by itself.
    Group,
    /// Every descendant comes back to the guardian when its parent dies, and is found and killed,
    /// whatever its session and group. Not held: set-uid programs when elect is not root, what enters
    /// a pid namespace that the tree did not make (its orphans go to the init there), and a `setsid`
    /// escaper when wrapper *and* guardian are killed.
    Scan,
    /// As `Scan`, in a cgroup of the command's own, which the kernel kills as a whole: set-uid programs,
    /// too, and whatever was moved there.
    Cgroup,
    /// A pid namespace of the command's own. The kernel kills all that is in it when its first process
    /// dies, and that dies with the guardian: nothing escapes, whoever is killed or stopped.
    Pidns,
}

impl Containment {
    /// All there are, the best first.
    pub const ALL: [Self; 4] = [Self::Pidns, Self::Cgroup, Self::Scan, Self::Group];

    /// The name for flags, logs and status.
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

/// What holds the descendants of one command.
pub struct Enclosure {
    containment: Containment,
    walls: Walls,
    /// Where descendants are looked for.
    descendants: Option<Descendants>,
    /// `/proc/.../children` of the guardian, for the guardian; of the wrapper, for the wrapper.
    list: Option<OwnedFd>,
    /// Where we may not signal other users' processes by ourselves: the guardian's and the wrapper's.
    couriers: Option<[Courier; 2]>,
}

enum Walls {
    None,
    Cgroup(Cgroup),
    Namespace(Namespace),
}

impl Enclosure {
    /// Makes what was asked for; by default the best that changes nothing that the command could see, and if
    /// that is less than `required`, what changes the least of the rest. What a containment needs is tried, so
    /// that one that is made can be had.
    ///
    /// # Errors
    /// When it is not to be had, and why.
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
                        // A weaker one would be had for want of a descriptor.
                        if ends {
                            break;
                        }
                    }
                }
            }
        }
        Err(Unavailable { wish, required, refusals })
    }

    /// The best that changes nothing that the command could see.
    pub fn best_unseen() -> Containment {
        if children::are_listed() { Containment::Scan } else { Containment::Group }
    }

    /// Makes that, also where it does not hold what becomes another user's.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn unseen() -> io::Result<Self> {
        Self::with(Self::best_unseen(), Walls::None)
    }

    /// Which containments are to be had here, the best first, and why the others are not. What each needs is
    /// tried, and nothing of it is left.
    pub fn at_hand() -> Vec<(Containment, Result<(), String>)> {
        let try_out =
            |containment| Self::make(containment).map(drop).map_err(|refusal| refusal.to_string());
        Containment::ALL.map(|containment| (containment, try_out(containment))).into()
    }

    fn make(containment: Containment) -> Result<Self, Refusal> {
        let walls = match containment {
            Containment::Scan if !children::are_listed() => return Err(Refusal::Unlisted),
            Containment::Group | Containment::Scan => {
                if courier::is_needed() {
                    courier::try_out().map_err(Refusal::Unkillable)?;
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
        let couriers = || Ok::<_, io::Error>([Courier::new()?, Courier::new()?]);
        Ok(Self {
            containment,
            walls,
            descendants,
            list,
            couriers: courier::is_needed().then(couriers).transpose()?,
        })
    }

    /// The containment in force.
    pub const fn containment(&self) -> Containment {
        self.containment
    }

    /// Whether programs that it holds may look at no descriptors but those of its init.
    pub(super) const fn has_init(&self) -> bool {
        matches!(self.walls, Walls::Namespace(_))
    }
}

/// For the guardian: none of these allocates, but the first.
impl Enclosure {
    /// The guardian has come to be: it is its children that will be looked for. The wrapper's list gives it its place.
    ///
    /// # Errors
    /// When they are not listed any more, or no descriptor is left.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        if self.list.take().is_some() {
            self.list = Some(children::list()?);
        }
        Ok(())
    }

    /// Forks the command into it. Its process id is also the id of its group, which exists when this returns.
    ///
    /// # Errors
    /// The `errno` of what failed; then nothing of the command's own has run.
    pub(super) fn spawn(&mut self, mut birth: Birth<'_>) -> Result<i32, i32> {
        birth.launch.in_front = birth.launch.terminal.as_ref().is_some_and(Terminal::is_due);
        let pid = self.start(&mut birth)?;
        // Here and in the child: whoever comes first, the group exists before it is needed.
        // SAFETY: setpgid has no preconditions.
        unsafe { libc::setpgid(pid, pid) };
        // Ours must not keep the exec from being seen.
        birth.launch.failure_write = None;
        Ok(pid)
    }

    fn start(&mut self, birth: &mut Birth<'_>) -> Result<i32, i32> {
        let pid = match &mut self.walls {
            Walls::Namespace(namespace) => return namespace.start(birth),
            Walls::Cgroup(cgroup) => cgroup.fork()?,
            // SAFETY: fork has no preconditions; the guardian has one thread, so the child may call
            // anything, and it keeps to system calls all the same.
            Walls::None => match unsafe { libc::fork() } {
                -1 => return Err(Errno::last_raw()),
                pid => pid,
            },
        };
        if pid != 0 {
            return Ok(pid);
        }
        match &self.walls {
            Walls::Cgroup(cgroup) => birth.become_command(cgroup.enter()),
            Walls::None | Walls::Namespace(_) => birth.become_command(Ok(())),
        }
    }

    /// Signals the group of the command, which is not reaped, so that the number is still its own; says whether that is
    /// allowed.
    pub(super) fn signal(&self, command: i32, signal: i32) -> bool {
        let courier = self.couriers.as_ref().map(|[courier, _]| courier);
        signals::signal_command(command, signal, courier)
    }

    /// Does this to all that the command, which has ended, has left; says which processes have been found.
    pub(super) fn treat_left(&mut self, deed: Deed) -> Found {
        let courier = self.couriers.as_ref().map(|[courier, _]| courier);
        let init = match &self.walls {
            Walls::Namespace(namespace) => namespace.init(),
            Walls::None | Walls::Cgroup(_) => None,
        };
        match (&mut self.descendants, &self.list, &self.walls, deed) {
            (Some(descendants), Some(list), ..) => {
                let pass = Pass { deed, init, ..Pass::killing(&[], courier) };
                descendants.treat_ours(list.as_raw_fd(), false, &pass)
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

    /// Kills all in it that can be found, once; says who has been found besides the command's group.
    pub(super) fn kill_all(&mut self, command: Option<i32>) -> Found {
        let courier = self.couriers.as_ref().map(|[courier, _]| courier);
        if let Some(command) = command {
            signals::signal_command(command, libc::SIGKILL, courier);
        }
        self.kill_walled();
        match (&mut self.descendants, &self.list) {
            (Some(descendants), Some(list)) => {
                descendants.treat_ours(list.as_raw_fd(), false, &Pass::killing(&[], courier))
            }
            _ => Found::NONE,
        }
    }

    /// The command has ended.
    pub(super) fn command_ended(&self) {
        if let Walls::Namespace(namespace) = &self.walls {
            namespace.command_ended();
        }
    }

    /// This child of the guardian's is reaped.
    pub(super) fn reaped(&mut self, pid: i32) {
        if let Walls::Namespace(namespace) = &mut self.walls {
            namespace.reaped(pid);
        }
    }

    /// Readable, as urgent data is, when others than our children have come or gone.
    pub(super) const fn news(&self) -> Option<&OwnedFd> {
        match &self.walls {
            Walls::Cgroup(cgroup) => Some(cgroup.events()),
            Walls::None | Walls::Namespace(_) => None,
        }
    }

    /// Nobody will need it again.
    pub(super) fn remove(&self) {
        if let Walls::Cgroup(cgroup) = &self.walls {
            cgroup.remove();
        }
    }

    /// Calls `keep` with each descriptor of it.
    pub(super) fn each_descriptor(&self, mut keep: impl FnMut(RawFd)) {
        self.list.iter().map(AsRawFd::as_raw_fd).for_each(&mut keep);
        self.descendants.iter().for_each(|it| it.each_descriptor(&mut keep));
        let courier = self.couriers.iter().map(|[courier, _]| courier);
        courier.flat_map(Courier::descriptors).for_each(&mut keep);
        match &self.walls {
            Walls::None => {}
            Walls::Cgroup(cgroup) => cgroup.descriptors().into_iter().for_each(keep),
            Walls::Namespace(namespace) => namespace.descriptors().for_each(keep),
        }
    }
}

/// For both.
impl Enclosure {
    fn kill_walled(&self) {
        match &self.walls {
            Walls::None => {}
            Walls::Cgroup(cgroup) => cgroup.kill(),
            Walls::Namespace(namespace) => namespace.kill(),
        }
    }

    /// Whether nothing is in it of which `wait` does not know.
    pub(super) fn is_empty(&self) -> bool {
        match &self.walls {
            Walls::Cgroup(cgroup) => cgroup.is_empty(),
            Walls::None | Walls::Namespace(_) => true,
        }
    }
}

/// For the wrapper.
impl Enclosure {
    /// Lets go of what is the guardian's alone.
    #[must_use]
    pub(super) fn for_wrapper(self) -> Self {
        let walls = match self.walls {
            Walls::Namespace(_) => Walls::None,
            walls => walls,
        };
        Self { walls, ..self }
    }

    /// After the guardian's death: kills all that have become our descendants, but those in `spare`, once; says
    /// who has been found. `None` where they cannot be looked for.
    pub(super) fn sweep(&mut self, spare: &[Spared]) -> Option<Found> {
        self.kill_walled();
        let courier = self.couriers.as_ref().map(|[_, courier]| courier);
        let (descendants, list) = (self.descendants.as_mut()?, self.list.as_ref()?);
        Some(descendants.treat_ours(list.as_raw_fd(), true, &Pass::killing(spare, courier)))
    }

    /// Kills all descendants of a guardian that does not do it, once; says who has been found. `None` where they
    /// cannot be looked for.
    pub(super) fn kill_below(&mut self, guardian: i32, spare: &[Spared]) -> Option<Found> {
        self.kill_walled();
        let courier = self.couriers.as_ref().map(|[_, courier]| courier);
        let descendants = self.descendants.as_mut()?;
        Some(descendants.treat_below(guardian, &Pass::killing(spare, courier)))
    }
}

/// Why no containment that would do is to be had.
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
    /// Whether something has run out that every containment takes.
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
            Some(wish) => write!(f, "containment {wish} cannot be had here")?,
            None if refusals.last().is_some_and(|(_, refusal)| refusal.is_want()) => {
                f.write_str("cannot look for descendants of a command")?;
            }
            None if *required == Containment::Group => {
                f.write_str("no containment can be had here")?;
            }
            None => write!(f, "containment {required}, which is required, cannot be had here")?,
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
