//! The guardian before its first order: everything that it needs is prepared, and it is forked.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

use super::{Guardian, Life};
use crate::guard::dead_man;
use crate::guard::enclosure::Enclosure;
use crate::guard::guardian::{self, GuardianParts, MOST_OPEN};
use crate::guard::image::{Image, LEASE, LISTEN_PID, Late, PART, SLOT, TOKEN};
use crate::guard::kill_loop::KillLoop;
use crate::guard::ladder::{Ladder, Leftover};
use crate::guard::outbox::Unsent;
use crate::guard::pass::Spared;
use crate::guard::redeemer::{Redeem, Redeemer};
use crate::guard::self_check::{self, cannot};
use crate::guard::signals::{self, Inherited};
use crate::guard::spawn::{self, Launch, Role};
use crate::guard::takeover::Takeover;
use crate::guard::{Alarm, Terminal, children, clock, descriptors, is_off, lease, wire};

/// The settings of a guardian.
pub struct Settings<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The role of the command for elect.
    pub role: Role,
    /// The environment of the command. `ELECT_LEASE` and `ELECT_TOKEN` are added.
    pub environment: Vec<(OsString, OsString)>,
    /// The name of the whole election, if the command leads a part of it. The number of the part follows before the
    /// start. The command gets it as `ELECT_SLOT` and in `ELECT_LEADER_ELECTION`. `None` if the election is not
    /// divided.
    pub whole: Option<String>,
    /// Whether the command gets sockets from systemd. If so, `LISTEN_PID` is the command's own process id.
    pub gets_sockets: bool,
    /// How often the command may be started.
    pub starts: Starts,
    /// What happens to processes that the command leaves running.
    pub leftover: Leftover,
    /// The signal that asks the command to stop when leadership is lost.
    pub signal: i32,
    /// Whether the lease ends by time.
    pub is_timed: bool,
    /// The state that elect was started with.
    pub inherited: &'a Inherited,
    /// The containment of the command's descendants.
    pub enclosure: Enclosure,
    /// How to have an entry given up, if its store has tickets.
    pub redeem: Option<Redeem>,
}

/// How often a command may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Once.
    Once,
    /// Again when it has ended. Its streams, and its other inherited descriptors, stay open in the guardian.
    Again,
}

/// A guardian that was forked and waits for its order.
///
/// Dropping this value closes the socket. The guardian then kills the tree, if there is one, and ends.
pub struct Forked {
    pid: i32,
    socket: OwnedFd,
    /// The memory of the lease. It is held open because its path in `/proc` is the command's `ELECT_LEASE`.
    lease: lease::Writer,
    enclosure: Enclosure,
    /// Children that elect had before. They are no part of the tree.
    spare: Vec<Spared>,
}

impl Forked {
    /// Forks the guardian. The calling thread must live as long as the guardian does. Other threads may exist, as the
    /// C libraries of Linux (glibc, musl) let the child of a fork allocate.
    ///
    /// # Errors
    /// The system refuses a descriptor, memory or a process, or a word of the command contains a NUL.
    pub fn fork(settings: Settings<'_>) -> io::Result<Self> {
        let spare = children::all().and_then(|all| {
            all.into_iter().filter_map(|pid| Spared::of(pid).transpose()).collect()
        });
        let spare = spare.map_err(|error| cannot("list the children of elect", &error))?;
        self_check::pass(settings.is_timed)?;
        let (socket, parts) = prepare(settings)?;
        // SAFETY: the child has this thread only, and may allocate (see above). It takes no lock that another thread
        // may have held, as it keeps to system calls.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(socket);
                guardian::main(parts)
            }
            pid => {
                let GuardianParts { lease, enclosure, .. } = parts;
                let enclosure = enclosure.for_wrapper();
                Ok(Self { pid, socket, lease, enclosure, spare })
            }
        }
    }

    /// Joins the present runtime.
    ///
    /// # Errors
    /// The runtime cannot watch another descriptor.
    pub fn attach(self) -> io::Result<Guardian> {
        // SAFETY: an OwnedFd owns its descriptor until it is dropped.
        let socket = unsafe { descriptors::watch(self.socket) }?;
        Ok(Guardian {
            pid: self.pid,
            socket,
            alarm: Alarm::new()?,
            _lease: self.lease,
            enclosure: self.enclosure,
            spare: self.spare,
            kill_loop: KillLoop::default(),
            takeover: Takeover::default(),
            turn: None,
            unsent: Unsent::default(),
            life: Life::Alive,
        })
    }
}

fn prepare(settings: Settings<'_>) -> io::Result<(OwnedFd, GuardianParts)> {
    let (socket, theirs) = wire::pair()?;
    let (death_readers, death_writers) = dead_man::new()?;
    let (failure_read, failure_write) = spawn::failure_pipe()?;
    let lease = lease::Writer::new()?;
    let mut environment = settings.environment;
    environment.retain(|(name, _)| name != LEASE.name);
    let has_init = settings.enclosure.has_init();
    let is_alone = settings.role == Role::Leads;
    if settings.role.leads() && !has_init {
        environment.push((LEASE.name.into(), lease.path().into()));
    }
    let late: Vec<Late> = [
        (settings.role.leads(), TOKEN),
        (settings.role.leads() && has_init, LEASE),
        (settings.role.leads() && settings.gets_sockets, LISTEN_PID),
        (settings.whole.is_some(), SLOT),
        (settings.whole.is_some(), PART),
    ]
    .into_iter()
    .filter_map(|(is_there, late)| is_there.then_some(late))
    .collect();
    let image = Image::new(settings.command, &environment, &late)?;
    let image = image.of_part_of(settings.whole.unwrap_or_default());
    let launch = Launch {
        pointers: image.pointers(),
        image,
        mask: settings.inherited.mask,
        dispositions: settings.inherited.dispositions,
        terminal: is_alone.then(Terminal::open).flatten(),
        in_front: false,
        death_readers,
        failure_write: Some(failure_write),
    };
    let inherited = if is_alone { settings.inherited.descriptors().to_vec() } else { Vec::new() };
    let lasting = (settings.starts == Starts::Again).then_some(inherited);
    let ladder = Ladder::new(settings.leftover, settings.is_timed);
    let parts = GuardianParts {
        socket: theirs,
        death_writers,
        failure_read,
        launch,
        enclosure: settings.enclosure,
        null: descriptors::null()?,
        lease,
        child_news: signals::descriptor(&guardian::child_news())?,
        timer: clock::timer()?,
        ladder: if lasting.is_some() { ladder.restarting() } else { ladder },
        role: settings.role,
        open: Vec::with_capacity(MOST_OPEN + lasting.as_ref().map_or(0, Vec::len)),
        lasting,
        ask: settings.signal,
        dead_man_is_on: !is_off!(DeadMan),
        // Without `/proc` there is no redeemer, and after a crash the entry ends with its lease.
        redeemer: match settings.redeem.as_ref().map(Redeemer::new).transpose() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => found?,
        },
    };
    Ok((socket, parts))
}
