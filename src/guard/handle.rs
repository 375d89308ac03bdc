//! The wrapper's side of the guardian.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use elect_api::{Holds, Ticket, Token, helpers};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::birth::{self, Launch, Role};
use super::children::{self, Waited};
use super::enclosure::Enclosure;
use super::guardian::{self, GuardianParts, MOST_OPEN};
use super::hunt::Hunt;
use super::image::{Image, LEASE, LISTEN_PID, Late, PART, SLOT, TOKEN};
use super::is_off;
use super::ladder::{Ladder, Leftover, Order};
use super::outbox::Unsent;
use super::pass::{Spared, with_helpers};
use super::priority::Turn;
use super::redeemer::{Redeem, Redeemer};
use super::self_check::{self, cannot};
use super::signals::{self, Inherited};
use super::takeover::{Conclusion, Takeover};
use super::wire::{self, FromGuardian, MOST_HOLDS, Message, Received, ToGuardian};
use super::{Alarm, Terminal, clock, dead_man, descriptors, lease};

/// How many are reaped between two passes of killing: the members of a tree may die faster than they are reaped.
const MOST_REAPED: u32 = 1024;
/// How soon the wrapper looks again for descendants, should it have to kill them itself.
const SWEEP_AGAIN: Duration = Duration::from_millis(5);

/// What the guardian needs to know from the start.
pub struct Settings<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// What it is to elect.
    pub role: Role,
    /// Its environment; `ELECT_LEASE` and `ELECT_TOKEN` are added.
    pub environment: Vec<(OsString, OsString)>,
    /// The name of the election of which it leads a part: which one is said before the start, and it gets that as
    /// `ELECT_SLOT` and in `ELECT_LEADER_ELECTION`. `None` if the election is one.
    pub whole: Option<String>,
    /// Whether it gets sockets as systemd hands them over: then `LISTEN_PID` is its own process id.
    pub gets_sockets: bool,
    /// How often it may be started.
    pub starts: Starts,
    /// What happens to processes that it leaves running.
    pub leftover: Leftover,
    /// The signal that asks it to stop when leadership is lost.
    pub signal: i32,
    /// Whether the lease ends by time.
    pub is_timed: bool,
    /// What elect was started with.
    pub inherited: &'a Inherited,
    /// What holds its descendants.
    pub enclosure: Enclosure,
    /// How to have an entry given up, if its store has tickets.
    pub redeem: Option<Redeem>,
}

/// How often a command may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Once.
    Once,
    /// Again when it has ended. Its streams, and what else it inherits, stay open in the guardian.
    Again,
}

/// Tells whether a guardian is alive and well.
#[derive(Clone, Copy, Debug)]
pub struct Pulse(i32);

impl Pulse {
    /// Whether it runs: it is neither dead nor stopped. Ask before it is dismissed.
    pub fn beats(self) -> bool {
        // Where it cannot be told whether it is stopped, it is not said to be.
        !children::is_dead(self.0) && !children::stands_still(self.0).unwrap_or(false)
    }
}

/// A guardian that was forked and waits for its order.
///
/// Dropping it closes the socket: the guardian kills the tree, if there is one, and ends.
pub struct Forked {
    pid: i32,
    socket: OwnedFd,
    /// Held because its path in `/proc` is the command's `ELECT_LEASE`.
    lease: lease::Writer,
    enclosure: Enclosure,
    /// Children that elect had before; not part of the tree.
    spare: Vec<Spared>,
}

impl Forked {
    /// Forks the guardian. The thread that calls it has to live as long as the guardian does. Others may
    /// exist, as the C libraries of Linux (glibc, musl) let the child of a fork allocate.
    ///
    /// # Errors
    /// When a descriptor, memory or a process is refused, or a word of the command has a NUL in it.
    pub fn fork(settings: Settings<'_>) -> io::Result<Self> {
        let spare = children::all().and_then(|all| {
            all.into_iter().filter_map(|pid| Spared::of(pid).transpose()).collect()
        });
        let spare = spare.map_err(|error| cannot("list the children of elect", &error))?;
        self_check::pass(settings.is_timed)?;
        let (socket, parts) = prepare(settings)?;
        // SAFETY: the child has this thread only, may allocate (see above), and takes no lock that
        // another thread may have held: it keeps to system calls.
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
    /// When the runtime cannot watch another descriptor.
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
            hunt: Hunt::default(),
            takeover: Takeover::default(),
            turn: None,
            unsent: Unsent::default(),
        })
    }
}

fn prepare(settings: Settings<'_>) -> io::Result<(OwnedFd, GuardianParts)> {
    let (socket, theirs) = wire::pair()?;
    let (death_readers, death_writers) = dead_man::new()?;
    let (failure_read, failure_write) = birth::failure_pipe()?;
    let lease = lease::Writer::new()?;
    let mut environment = settings.environment;
    environment.retain(|(name, _)| name != "ELECT_LEASE");
    let has_init = settings.enclosure.has_init();
    let is_alone = settings.role == Role::Leads;
    if settings.role.leads() && !has_init {
        environment.push(("ELECT_LEASE".into(), lease.path().into()));
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
        // Without a `/proc` there is none: the entry ends by itself.
        redeemer: match settings.redeem.as_ref().map(Redeemer::new).transpose() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => found?,
        },
    };
    Ok((socket, parts))
}

/// A guardian that can be talked to.
///
/// Dropping it closes the socket: the guardian kills the tree, if there is one, and ends.
pub struct Guardian {
    pid: i32,
    socket: AsyncFd<OwnedFd>,
    alarm: Alarm,
    _lease: lease::Writer,
    enclosure: Enclosure,
    spare: Vec<Spared>,
    hunt: Hunt,
    takeover: Takeover,
    /// While we kill in its place.
    turn: Option<Turn>,
    /// Requests that the socket had no room for, as the guardian is stopped.
    unsent: Unsent,
}

impl Guardian {
    /// Has the command started; or started again, once the tree is empty that it had before. `holds` go to the
    /// guardian; of these the tree inherits the marks.
    ///
    /// # Errors
    /// When they cannot be sent; nothing was started then.
    pub fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        // A guardian that dies closes what has the lower number first: whoever gets the lock then finds no mark of it.
        let all = holds.marks.iter().chain(&holds.locks);
        let numbers: Vec<RawFd> = all.map(AsRawFd::as_raw_fd).collect();
        let marks = u8::try_from(holds.marks.len()).ok().filter(|_| numbers.len() <= MOST_HOLDS);
        let Some(marks) = marks else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "too many descriptors hold the lease",
            ));
        };
        if !self.unsent.is_empty() {
            // It must not overtake what has to be known before.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        wire::send(self.socket.get_ref(), &ToGuardian::Start { token, marks }.encode(), &numbers)?;
        self.takeover.begin();
        Ok(())
    }

    /// Has the next command that is started lead the part of the election that has this number.
    pub fn leads_part(&mut self, number: u16) {
        self.ask(ToGuardian::Part(number));
    }

    /// Keeps a ticket, in place of any before: if the wrapper dies, the guardian empties the tree and
    /// has the entry given up. With `None` the entry ends by itself then.
    pub fn keep(&mut self, ticket: Option<&Ticket>) {
        self.ask(ToGuardian::Ticket(ticket.map_or(&[], |ticket| ticket.as_str().as_bytes())));
    }

    /// Has it do what is asked, unless it is dead. A guardian that is stopped cannot kill: it is killed instead, and
    /// the kernel, the wrapper and [`Guardian::sweep`] do the rest.
    pub fn obey(&mut self, order: Order) {
        match order {
            Order::Renewed(deadlines) => self.takeover.renewed(deadlines.dead_man),
            Order::Stop { kill_at } | Order::Ask { kill_at: Some(kill_at), .. } => {
                self.takeover.kills_at(kill_at);
            }
            Order::Ask { kill_at: None, .. } | Order::Signal { .. } | Order::Kill => {}
        }
        self.ask(ToGuardian::Order(order));
        if order == Order::Kill {
            self.insist();
        }
    }

    /// Sees to it that a guardian that is to kill everything does.
    fn insist(&mut self) {
        let now = clock::now();
        // Where nothing is left to find out with whether it is stopped, it is taken for it.
        let unknown = |error: io::Error| error.kind() != io::ErrorKind::NotFound;
        if children::is_stopped(self.pid).unwrap_or_else(unknown) {
            self.kill_guardian();
            self.takeover.look_at(now);
        } else {
            self.takeover.kills_at(now);
        }
    }

    /// Kills what is below a guardian that has not done it in time; says whether nobody lives there, and it can start
    /// nothing any more: then it is as good as dead.
    fn take_over(&mut self) -> bool {
        let now = clock::now();
        // One that is stopped will not do it, and does not reap what dies below it.
        if children::is_stopped(self.pid).unwrap_or(false) {
            self.kill_guardian();
            self.takeover.is_killed();
        } else if self.takeover.waits(now) {
            return false;
        }
        self.turn.get_or_insert_with(Turn::begin);
        let found = self.enclosure.kill_below(self.pid, &self.spare);
        let is_empty = found.is_some_and(|found| found.is_none()) && self.enclosure.is_empty();
        match self.takeover.looked(now, is_empty) {
            Conclusion::Wait => false,
            Conclusion::Kill => {
                self.kill_guardian();
                false
            }
            Conclusion::Empty => {
                // Nothing of the tree, and never one of it again.
                self.spare.extend(Spared::of(self.pid).ok().flatten());
                true
            }
        }
    }

    /// A way to see whether it lives, for whoever does not have it.
    pub const fn pulse(&self) -> Pulse {
        Pulse(self.pid)
    }

    /// Kills the guardian, unless it is reaped already.
    fn kill_guardian(&self) -> bool {
        // SAFETY: the guardian is our child. If it is reaped already, the number may have passed on
        // only to a process that is not a child of ours, which is why waitid is asked first; stopped
        // or not, it obeys KILL.
        unsafe {
            let mut info = std::mem::zeroed::<libc::siginfo_t>();
            let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let is_ours =
                libc::waitid(libc::P_PID, self.pid.cast_unsigned(), &raw mut info, flags) == 0;
            is_ours && libc::kill(self.pid, libc::SIGKILL) == 0
        }
    }

    fn ask(&mut self, request: ToGuardian<'_>) {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
        // A guardian that is gone shows itself in `next_report`; whatever else fails, for want of room or
        // of memory, is tried again.
        let failed =
            |error: io::Error| !matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected);
        let message = request.encode();
        if !self.unsent.is_empty()
            || wire::send(self.socket.get_ref(), &message, &[]).is_err_and(failed)
        {
            self.unsent.add(message);
        }
    }

    /// The guardian's next report; `None` when it is dead, or as good as that: killed, with nobody below it.
    ///
    /// # Cancellation
    /// No report is lost.
    pub async fn next_report(&mut self) -> Option<FromGuardian> {
        loop {
            let interest = if self.unsent.is_empty() {
                Interest::READABLE
            } else {
                Interest::READABLE | Interest::WRITABLE
            };
            let mut ready = tokio::select! {
                biased;
                ready = self.socket.ready(interest) => ready.ok()?,
                () = self.alarm.until(self.takeover.due()) => {
                    if self.take_over() {
                        self.takeover.end();
                        return None;
                    }
                    continue;
                }
            };
            if ready.ready().is_writable() {
                self.unsent.send(self.socket.get_ref());
            }
            let mut message = Message::EMPTY;
            match wire::receive(
                self.socket.get_ref(),
                &mut message,
                &mut [const { None }; MOST_HOLDS],
            ) {
                Received::Message { .. } => {
                    if let Some(report) = FromGuardian::decode(&message) {
                        return Some(self.noted(report));
                    }
                }
                Received::Nothing => ready.clear_ready(),
                Received::End => return None,
            }
        }
    }

    fn noted(&mut self, report: FromGuardian) -> FromGuardian {
        if report == FromGuardian::Empty {
            self.takeover.end();
            self.turn = None;
        }
        report
    }

    /// Reaps what has ended: the guardian, orphans of the tree, and, as PID 1, everybody's.
    pub fn reap(&mut self) -> bool {
        self.reap_at_most(u32::MAX)
    }

    fn reap_at_most(&mut self, most: u32) -> bool {
        if self.hunt.keeps_the_dead(clock::now()) {
            return true;
        }
        let Some(_held) = helpers::hold() else { return true };
        for _ in 0..most {
            match children::wait() {
                Waited::Ended(pid, _) => {
                    self.spare.retain(|spared| spared.pid() != pid);
                    helpers::ended(pid.cast_unsigned());
                }
                Waited::Stopped(..) => {}
                Waited::Quiet => return true,
                Waited::None => return false,
            }
        }
        true
    }

    /// After the guardian's death: kills what is left of the tree until nothing is.
    ///
    /// # Cancellation
    /// May be called again.
    pub async fn sweep(&mut self) {
        self.hunt.begin(clock::now());
        self.turn.get_or_insert_with(Turn::begin);
        loop {
            let now = clock::now();
            let found = self.enclosure.sweep(&with_helpers(&self.spare));
            if let Some(found) = found {
                self.hunt.passed(now, found);
            }
            let has_children = self.reap_at_most(MOST_REAPED);
            // `wait` knows. Where it knows children that are none of the tree, a whole search has to.
            let is_childless =
                !has_children || found.is_some_and(|found| found.is_none() && found.dead == 0);
            if is_childless && self.enclosure.is_empty() {
                self.turn = None;
                return;
            }
            // What else goes on gets its turn, also where there is no time to lose.
            tokio::task::yield_now().await;
            let soon = clock::now() + SWEEP_AGAIN;
            let next = self.hunt.next().filter(|_| found.is_some());
            self.alarm.until(Some(next.map_or(soon, |next| next.min(soon)))).await;
        }
    }

    /// Has the guardian of an empty tree end, while its owner does something else before it dismisses it.
    pub fn send_off(&self) {
        self.kill_guardian();
    }

    /// Ends the guardian of an empty tree, and leaves no trace of it.
    ///
    /// One that stands before a tracer is left to it: it does nothing any more.
    pub fn dismiss(mut self) {
        if self.kill_guardian() && !self.takeover.is_stuck() {
            // SAFETY: info is a valid place for the kernel to write to; the child is not reaped yet.
            unsafe {
                let mut info = std::mem::zeroed::<libc::siginfo_t>();
                libc::waitid(libc::P_PID, self.pid.cast_unsigned(), &raw mut info, libc::WEXITED);
            }
        }
        self.reap();
    }
}
