//! One of the eight: it takes part, ends in whatever way, and takes part again.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use elect::guard::{Until, lease};
use elect_api::Boottime;
use elect_testkit::fault::{Cgroup, TcpProxy};
use elect_testkit::oracle::{Oracle, Stamper};
use elect_testkit::program::{Running, children};
use fastrand::Rng;

use crate::arena::Arena;
use crate::fault::Active;
use crate::found::{Found, descendants};

const SHORTEST_TTL: u64 = 5;
const LONGEST_TTL: u64 = 20;
/// K is a fifteenth of W, and half a second at the least.
const LEAST_MARGIN: Duration = Duration::from_millis(500);

pub(crate) struct Candidate {
    number: usize,
    pub(crate) ttl: Duration,
    grace: Duration,
    url: String,
    /// A proxy before each member of the store, if it has members.
    pub(crate) ways: Vec<TcpProxy>,
    pub(crate) cgroup: Cgroup,
    log: PathBuf,
    running: Option<Life>,
    starts_at: Boottime,
    pub(crate) fault: Option<Active>,
}

/// From a start to its end.
struct Life {
    elect: Running,
    /// Its tree has processes that no other process finds once wrapper and guardian are gone.
    escapes: bool,
    /// The lease of the command, by the process id of that.
    lease: Option<(i32, File)>,
}

/// The token and the time that a leader may rely on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) token: u64,
    /// When its lease could end, if nothing renews it any more.
    pub(crate) end: Boottime,
}

impl Candidate {
    pub(crate) fn new(arena: &Arena, rng: &mut Rng, number: usize, now: Boottime) -> Self {
        let ways = arena.ways(number);
        let ttl = Duration::from_secs(rng.u64(SHORTEST_TTL..=LONGEST_TTL));
        Self {
            number,
            ttl,
            grace: ttl / rng.u32(4..=10),
            url: if ways.is_empty() { arena.near_url() } else { arena.url(&ways) },
            ways,
            cgroup: Cgroup::v2(),
            log: arena.folder().join(format!("c{number}.log")),
            running: None,
            starts_at: now,
            fault: None,
        }
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    pub(crate) fn tag(&self) -> String {
        format!("c{}", self.number)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn escapes(&self) -> bool {
        self.running.as_ref().is_some_and(|life| life.escapes)
    }

    /// Takes part again if it is time for that.
    pub(crate) fn start_if_due(
        &mut self,
        arena: &Arena,
        oracle: &Oracle,
        rng: &mut Rng,
        now: Boottime,
    ) {
        if self.running.is_some() || now < self.starts_at || self.fault.is_some() {
            return;
        }
        let escapes = rng.u8(0..4) == 0;
        let tree = tree(oracle.stamper(&self.tag()), escapes, rng);
        let flags = self.flags(arena.backend.is_timed(), rng);
        let elect = arena.elect(self.number, &self.cgroup.enter());
        let mut command = elect.args(flags).arg("--").args(tree.command()).command();
        let log = File::options().create(true).append(true).open(&self.log).expect("a log");
        let stdout = log.try_clone().expect("a copy of the log");
        command.stdin(Stdio::null()).stdout(stdout).stderr(log);
        let elect = Running::new(command.spawn().expect("elect"));
        self.running = Some(Life { elect, escapes, lease: None });
    }

    fn flags(&self, is_timed: bool, rng: &mut Rng) -> Vec<String> {
        let words = ["run", "-b", &self.url, "-e", "job", "--id", &self.tag()];
        let mut flags: Vec<String> = words.map(str::to_owned).into();
        flags.extend(["--stop-timeout", "1s", "-v", "--log-format", "json"].map(str::to_owned));
        if is_timed {
            flags.push(format!("--ttl={}s", self.ttl.as_secs()));
            flags.push(format!("--kill-grace={}ms", self.grace.as_millis()));
            if rng.bool() {
                flags.push("--after-loss=campaign".to_owned());
            }
        }
        flags
    }

    /// Its exit code, if it has ended; it takes part again after so long.
    pub(crate) fn end(&mut self, pause: Duration, now: Boottime) -> Option<i32> {
        if self.running.as_mut()?.elect.is_running() {
            return None;
        }
        self.starts_at = now + pause;
        Some(self.running.take()?.elect.wait().code())
    }

    pub(crate) fn wrapper(&mut self) -> Option<Found> {
        Found::of(self.running.as_mut()?.elect.pid())
    }

    pub(crate) fn guardian(&mut self) -> Option<Found> {
        Found::of(self.running.as_mut()?.elect.guardian_if_any()?)
    }

    /// The processes of its command, as far as they are its guardian's descendants.
    pub(crate) fn tree(&mut self) -> Vec<Found> {
        self.guardian().map(|guardian| descendants(guardian.pid)).unwrap_or_default()
    }

    /// Returns the token of its present or last leadership, and the end of that lease, from the file that its command
    /// gets. Returns `None` if the file cannot be read.
    pub(crate) fn term(&mut self) -> Option<Term> {
        let margin = LEAST_MARGIN.max(self.ttl / 15);
        let life = self.running.as_mut()?;
        // Reads the last state of an old command's lease, before the file of the next command replaces it.
        let term = life.lease.as_ref().and_then(|(_, file)| read(file));
        let main = life.elect.guardian_if_any().and_then(|guardian| children(guardian).pop());
        if let Some(main) = main.filter(|&main| !life.has_lease_of(main)) {
            life.lease = lease_of(main).map(|file| (main, file));
        }
        term.map(|(token, hard)| Term { token, end: hard + margin })
    }

    /// Returns true if its guardian has a child, which is the command.
    pub(crate) fn leads(&mut self) -> bool {
        self.guardian().is_some_and(|guardian| !children(guardian.pid).is_empty())
    }
}

impl Life {
    fn has_lease_of(&self, main: i32) -> bool {
        self.lease.as_ref().is_some_and(|(pid, _)| *pid == main)
    }
}

/// The token, and when the command is killed.
fn read(lease: &File) -> Option<(u64, Boottime)> {
    let path = format!("/proc/self/fd/{}", lease.as_raw_fd());
    let view = lease::read(Path::new(&path), None).ok()??;
    let Until::Instant(hard) = view.until else { return None };
    Some((view.token.get(), hard))
}

/// The page that a command finds at `ELECT_LEASE`.
fn lease_of(main: i32) -> Option<File> {
    let environment = std::fs::read(format!("/proc/{main}/environ")).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    let path = variables.find_map(|variable| variable.strip_prefix(b"ELECT_LEASE="))?;
    File::open(std::str::from_utf8(path).ok()?).ok()
}

/// A command of up to eight processes. Some end soon, some later, some never; with 0 or not.
fn tree(stamper: Stamper, escapes: bool, rng: &mut Rng) -> Stamper {
    let mut tree = stamper.children(rng.u32(0..3)).depth(rng.u32(1..3));
    if escapes {
        tree = tree.daemons(rng.u32(0..2)).groups(rng.u32(0..3)).sessions(rng.u32(0..3));
        tree = if rng.bool() { tree.closing_descriptors() } else { tree };
    }
    tree = if rng.bool() { tree.deaf() } else { tree };
    tree = tree.code(if rng.bool() { 0 } else { 7 });
    let millis = match rng.u8(0..10) {
        0..5 => rng.u64(100..3_000),
        5..8 => rng.u64(3_000..20_000),
        _ => return tree,
    };
    let tree = tree.lasting(Duration::from_millis(millis));
    if rng.bool() { tree.leaving() } else { tree }
}
