//! A pid namespace for the command.
//!
//! ```text
//! guardian           stays outside, so that its own KILL is obeyed and its children are as without a namespace
//!   ├─ elect-door    enters the namespaces, forks the next two as its siblings, and ends
//!   ├─ elect-init    the first process of the namespace; PDEATHSIG
//!   └─ command       the second one, so that TERM reaches it as anywhere else
//! ```
//!
//! Init and command are the guardian's children, under numbers that are valid outside. The guardian
//! signals the command, and gets news of its stops and its end, as it does without a namespace. Once the
//! guardian has reaped the init, nothing in the namespace is left, as the kernel ends the init last.
//!
//! An ordinary user needs a user namespace for that. Only this user and its group exist in it.

use std::ffi::CStr;
use std::fmt::{self, Display};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use super::clone;
use super::init::{self, InitFds, LEAVE};
use crate::guard::children::wait_for;
use crate::guard::descriptors::out_of_the_way;
use crate::guard::spawn::SpawnRequest;
use crate::guard::{descriptors, proc};

/// The guardian's side of a namespace.
pub(super) struct Namespace {
    user: Option<User>,
    /// The pipes to the door and the init, until a command is started.
    entrance: Option<Entrance>,
    orders: OwnedFd,
    init: Option<i32>,
}

struct Entrance {
    told: OwnedFd,
    tell: OwnedFd,
    orders: OwnedFd,
}

impl Entrance {
    /// Makes the pipes, and returns the guardian's end of `orders` with them.
    ///
    /// # Errors
    /// No descriptor is left.
    fn new() -> io::Result<(Self, OwnedFd)> {
        let pipe = || {
            let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
            Ok::<_, io::Error>((out_of_the_way(read)?, out_of_the_way(write)?))
        };
        let ((told, tell), (orders, ours)) = (pipe()?, pipe()?);
        Ok((Self { told, tell, orders }, ours))
    }
}

/// An ordinary user, in the form of the maps of a user namespace.
struct User {
    user: String,
    group: String,
}

impl User {
    /// Returns the maps for this user. Returns `None` for root, who needs no user namespace and would
    /// lose its rights in one.
    fn current() -> Option<Self> {
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let map = |id: String| format!("{id} {id} 1");
        (!user.is_root())
            .then(|| Self { user: map(user.to_string()), group: map(group.to_string()) })
    }
}

/// The report of the door.
#[derive(Clone, Copy, Default)]
struct DoorReport {
    errno: i32,
    init: i32,
    command: i32,
}

impl DoorReport {
    const SIZE: usize = 3 * size_of::<i32>();

    fn bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let numbers = [self.errno, self.init, self.command];
        for (place, number) in bytes.chunks_exact_mut(size_of::<i32>()).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    fn from(bytes: [u8; Self::SIZE]) -> Self {
        let number = |index: usize| {
            let mut number = [0; size_of::<i32>()];
            number.copy_from_slice(&bytes[index * size_of::<i32>()..][..size_of::<i32>()]);
            i32::from_ne_bytes(number)
        };
        Self { errno: number(0), init: number(1), command: number(2) }
    }
}

impl Namespace {
    /// Prepares a namespace, and puts nothing in it yet.
    ///
    /// # Errors
    /// A trial process found that no namespace is possible, or no descriptor is left.
    pub(super) fn new() -> Result<Self, Unavailable> {
        let user = User::current();
        try_out(user.as_ref())?;
        let (entrance, orders) = Entrance::new().map_err(|error| Unavailable {
            step: Step::Begin,
            errno: error.raw_os_error().unwrap_or(libc::EMFILE),
            is_root: user.is_none(),
        })?;
        Ok(Self { user, entrance: Some(entrance), orders, init: None })
    }

    /// Forks the command into a new namespace. It may be called again, once nothing of the last namespace
    /// is left.
    ///
    /// # Errors
    /// Returns the `errno` of the failure. No code of the command has run in that case.
    pub(super) fn start(&mut self, request: &mut SpawnRequest<'_>) -> Result<i32, i32> {
        let entrance = if let Some(entrance) = self.entrance.take() {
            entrance
        } else {
            // The pipes of the last namespace were used up with its command.
            let (entrance, orders) =
                Entrance::new().map_err(|error| error.raw_os_error().unwrap_or(libc::EMFILE))?;
            self.orders = orders;
            entrance
        };
        // SAFETY: fork has no preconditions; the guardian has one thread.
        match unsafe { libc::fork() } {
            -1 => return Err(Errno::last_raw()),
            0 => go_ahead(self.user.as_ref(), &entrance, request),
            door => wait_for(door),
        }
        let mut bytes = [0; DoorReport::SIZE];
        let told = match descriptors::read_now(&entrance.told, &mut bytes) {
            Ok(Some(DoorReport::SIZE)) => DoorReport::from(bytes),
            // The door was killed, and its forks are unknown. The guardian ends, so the kernel ends those
            // forks, too, and the wrapper does the rest.
            // SAFETY: _exit has no preconditions.
            _ => unsafe { libc::_exit(1) },
        };
        self.init = Some(told.init).filter(|&init| init > 0);
        if told.errno != 0 {
            self.kill();
            return Err(told.errno);
        }
        Ok(told.command)
    }

    /// Kills everything in the namespace.
    pub(super) fn kill(&self) {
        if let Some(init) = self.init {
            // SAFETY: kill has no memory preconditions; the number is that of an unreaped child.
            unsafe { libc::kill(init, libc::SIGKILL) };
        }
    }

    /// Signals all processes that the command has left in the namespace. The command has ended.
    pub(super) fn signal(&self, signal: i32) {
        self.order(signal.to_le_bytes()[0]);
    }

    /// Returns the first process of the namespace, until it is reaped.
    pub(super) const fn init(&self) -> Option<i32> {
        self.init
    }

    /// Takes note that the command has ended: the namespace then ends with its last process.
    pub(super) fn command_ended(&self) {
        self.order(LEAVE);
    }

    /// Takes note that this child of the guardian is reaped.
    pub(super) fn reaped(&mut self, pid: i32) {
        self.init = self.init.filter(|&init| init != pid);
    }

    fn order(&self, order: u8) {
        let _ = nix::unistd::write(&self.orders, &[order]);
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let entrance = self.entrance.iter().flat_map(|it| [&it.told, &it.tell, &it.orders]);
        entrance.chain([&self.orders]).map(AsRawFd::as_raw_fd)
    }
}

/// The body of the door's process.
fn go_ahead(user: Option<&User>, entrance: &Entrance, request: &mut SpawnRequest<'_>) -> ! {
    // SAFETY: prctl takes a NUL-terminated name here.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"elect-door".as_ptr()) };
    // The processes that are forked next see by the death-pipes whether the guardian lives.
    request.let_go_of_the_death_pipes();
    let mut told = DoorReport::default();
    let tell = |told: DoorReport| -> ! {
        let _ = nix::unistd::write(&entrance.tell, &told.bytes());
        // SAFETY: _exit has no preconditions.
        unsafe { libc::_exit(0) }
    };
    told.errno = enter(user).err().map_or(0, |(_, errno)| errno);
    if told.errno != 0 {
        tell(told);
    }
    let (it_let_go, until_it_does) = match pipe2(OFlag::O_CLOEXEC) {
        Ok(ends) => ends,
        Err(errno) => tell(DoorReport { errno: errno as i32, ..told }),
    };
    match clone::sibling() {
        Ok(0) => {
            // The exec is seen once no other process has this open.
            request.launch.failure_write = None;
            drop(until_it_does);
            init::main(&InitFds {
                orders: &entrance.orders,
                lease: request.lease,
                death_readers: &request.launch.death_readers,
                null: request.null,
            })
        }
        Ok(init) => told.init = init,
        Err(errno) => tell(DoorReport { errno, ..told }),
    }
    drop(until_it_does);
    // The door waits until the init has closed its copy. Otherwise a stop of the command soon after its
    // exec would be taken for one before the exec.
    let _ = nix::unistd::read(&it_let_go, &mut [0]);
    drop(it_let_go);
    request.launch.image.set_lease(proc::number_of(told.init), request.lease.as_raw_fd());
    // The number of the command's parent cannot be seen from inside the namespace.
    request.guardian = 0;
    match clone::sibling() {
        Ok(0) => request.become_command(Ok(())),
        Ok(command) => tell(DoorReport { command, ..told }),
        Err(errno) => tell(DoorReport { errno, ..told }),
    }
}

/// A step on the way into the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    User,
    Map,
    Pid,
    Init,
}

impl Step {
    const ALL: [Self; 5] = [Self::Begin, Self::User, Self::Map, Self::Pid, Self::Init];
}

/// Prepares this process, which has one thread, to fork into a new pid namespace. Its next fork is the
/// first process there, and later forks join that. Allocates nothing.
fn enter(user: Option<&User>) -> Result<(), (Step, i32)> {
    let unshare = |flags, step| {
        // SAFETY: unshare has no memory preconditions.
        if unsafe { libc::unshare(flags) } == 0 { Ok(()) } else { Err((step, Errno::last_raw())) }
    };
    if let Some(user) = user {
        unshare(libc::CLONE_NEWUSER, Step::User)?;
        // The kernel demands this of a process that has no right to give up groups.
        write_to(c"/proc/self/setgroups", "deny").map_err(|errno| (Step::Map, errno))?;
        write_to(c"/proc/self/uid_map", &user.user).map_err(|errno| (Step::Map, errno))?;
        write_to(c"/proc/self/gid_map", &user.group).map_err(|errno| (Step::Map, errno))?;
    }
    unshare(libc::CLONE_NEWPID, Step::Pid)?;
    if user.is_some() {
        give_up_capabilities().map_err(|errno| (Step::Map, errno))?;
    }
    Ok(())
}

fn write_to(path: &CStr, text: &str) -> Result<(), i32> {
    use nix::sys::stat::Mode;
    let file = nix::fcntl::open(path, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())
        .map_err(|errno| errno as i32)?;
    nix::unistd::write(&file, text.as_bytes()).map(|_| ()).map_err(|errno| errno as i32)
}

/// Gives up the capabilities that a new user namespace grants, so that the command has none. Programs
/// without any may look at the init's descriptors only if the init has none either.
fn give_up_capabilities() -> Result<(), i32> {
    const VERSION_3: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION_3, 0];
    let none = [0_u32; 6];
    // SAFETY: the kernel reads the header, which has version and process, and twice three words.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(Errno::last_raw()) }
}

/// Tries to make a namespace in a process of its own, which ends then.
fn try_out(user: Option<&User>) -> Result<(), Unavailable> {
    let begin = |errno| Unavailable { step: Step::Begin, errno, is_root: user.is_none() };
    let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).map_err(|e| begin(e as i32))?;
    // SAFETY: fork has no preconditions; the child keeps to system calls.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let result = enter(user).and_then(|()| match clone::child() {
            // SAFETY: _exit has no preconditions.
            Ok(0) => unsafe { libc::_exit(0) },
            Ok(init) => {
                wait_for(init);
                Ok(())
            }
            Err(errno) => Err((Step::Init, errno)),
        });
        let (step, errno) = result.err().unwrap_or((Step::Begin, 0));
        let told = DoorReport { errno, init: step as i32, command: 0 };
        let _ = nix::unistd::write(&write, &told.bytes());
        // SAFETY: _exit has no preconditions.
        unsafe { libc::_exit(0) }
    }
    if pid < 0 {
        return Err(begin(Errno::last_raw()));
    }
    wait_for(pid);
    let mut bytes = [0; DoorReport::SIZE];
    match descriptors::read_now(&read, &mut bytes) {
        Ok(Some(DoorReport::SIZE)) => {
            let DoorReport { errno, init, .. } = DoorReport::from(bytes);
            let step =
                Step::ALL.into_iter().find(|&step| step as i32 == init).unwrap_or(Step::Begin);
            if errno == 0 {
                Ok(())
            } else {
                Err(Unavailable { step, errno, is_root: user.is_none() })
            }
        }
        _ => Err(begin(libc::EAGAIN)),
    }
}

/// The reason why no pid namespace is possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unavailable {
    step: Step,
    errno: i32,
    is_root: bool,
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.step {
            Step::Begin => "it cannot be tried",
            Step::User => {
                "the kernel refuses a user namespace, which an ordinary user needs for it"
            }
            Step::Map => "the kernel refuses to map our user into a new user namespace",
            Step::Pid => "the kernel refuses a pid namespace",
            Step::Init => "the kernel refuses a process in a new pid namespace",
        };
        let errno = Errno::from_raw(self.errno);
        write!(f, "{what}: {}; {}", crate::guard::reason(self.errno), self.way_out(errno))
    }
}

impl Unavailable {
    fn way_out(self, errno: Errno) -> &'static str {
        match (self.step, errno) {
            (_, Errno::ENOSPC) => {
                "see sysctl user.max_user_namespaces and user.max_pid_namespaces, the limits on them"
            }
            (_, Errno::EINVAL | Errno::ENOSYS) => {
                "it takes Linux 5.3, built with them, and no seccomp filter that hides clone3 (a container's)"
            }
            (Step::Begin | Step::Init, _) => {
                "see whether there are enough processes and descriptors"
            }
            (_, Errno::ENOENT) => "mount /proc",
            _ if self.is_root => {
                "root needs the capability CAP_SYS_ADMIN for it, and no seccomp filter against it (that of a \
                 container, RestrictNamespaces= of systemd)"
            }
            _ => {
                "run elect as root, or have ordinary users permitted to make user namespaces (sysctl \
                 kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; the \
                 seccomp filter of a container, RestrictNamespaces= of systemd)"
            }
        }
    }
}
