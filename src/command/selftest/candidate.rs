//! The candidates of a selftest, and what `/proc` shows of them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::Context;
use elect_api::ElectionName;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::scratch::Scratch;
use super::trace::Stamps;
use super::{OURSELVES, SUBCOMMAND};
use crate::command::candidacy;
use crate::config::{self, BackendUrl};

/// The variables of elect that its candidates are to find.
const HANDED_ON: [&str; 3] = ["ELECT_USER", "ELECT_PASSWORD", "ELECT_PASSWORD_FILE"];
/// What tests of this program set.
const OF_TESTS: &str = "ELECT_TEST_";

/// An `elect run` of a tree that stamps. Dropping it kills it, and its guardian the tree.
pub(super) struct Candidate {
    child: Child,
    /// What it says on stderr: memory, of which nothing is left when both of us are dead.
    log: File,
    /// Its guardian, once it is known.
    guardian: Option<i32>,
}

/// What a candidate runs, and how.
#[derive(Clone, Copy)]
pub(super) struct Role<'a> {
    /// What it is called in the stamps.
    pub(super) tag: &'a str,
    /// What kind of tree it runs, as `elect stamp` has it.
    pub(super) tree: &'a str,
    /// How many times as long as usual its leases are.
    pub(super) leases: u32,
    /// Flags of `elect run`, besides those that all have.
    pub(super) flags: &'a [&'a str],
    /// The way to the store.
    pub(super) backend: &'a BackendUrl,
}

impl Candidate {
    pub(super) fn start(
        scratch: &Scratch<'_>,
        election: &ElectionName,
        stamps: &Stamps,
        role: Role<'_>,
    ) -> anyhow::Result<Self> {
        let Role { tag, tree, leases, flags, backend } = role;
        let log = memfd_create(c"elect-log", MFdFlags::MFD_CLOEXEC).map(File::from);
        let log = log.context("cannot make memory for a log")?;
        let said = log.try_clone().context("cannot hand on the memory for a log")?;
        let mut command = Command::new(OURSELVES);
        command.arg0("elect").args(["run", "-e", election.as_str(), "--id", tag]).args(flags);
        if let Some(ttl) = scratch.ttl {
            let ttl = humantime::format_duration(ttl * leases).to_string();
            command.args(["--ttl", &ttl.replace(' ', "")]);
        }
        if let Some(containment) = scratch.containment {
            command.args(["--containment", containment.name()]);
        }
        let stamps = stamps.number().to_string();
        command.args(["--", OURSELVES, SUBCOMMAND, &stamps, tag, tree]);
        command.env_clear().envs(environment(backend));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let child = scratch
            .inherited
            .spawn_bound(&mut command)
            .context("cannot start elect run (/proc/self/exe)")?;
        Ok(Self { child, log, guardian: None })
    }

    /// The process id of elect itself.
    pub(super) fn wrapper(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// The process id of its guardian.
    ///
    /// # Errors
    /// When `/proc` shows none.
    pub(super) fn guardian(&mut self) -> anyhow::Result<i32> {
        let wrapper = self.wrapper();
        self.guardian = self.guardian.or_else(|| guardian_of(wrapper));
        self.guardian.context("/proc does not show the guardian of an elect run")
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The last that it said on stderr.
    pub(super) fn said(&self) -> String {
        // Whoever writes shares the place in it with us.
        let length = self.log.metadata().map_or(0, |found| found.len());
        let mut text = vec![0; usize::try_from(length).unwrap_or(0)];
        let _ = self.log.read_exact_at(&mut text, 0);
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().next_back().unwrap_or("nothing was said");
        last.strip_prefix("elect: ").unwrap_or(last).to_owned()
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        // In this order: the guardian outlives its wrapper, and nobody waits for its number before us.
        if let Some(guardian) = self.guardian.filter(|_| self.ended().is_none()) {
            signal(guardian, Signal::SIGCONT);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Our environment as a candidate gets it that goes this way to the store.
fn environment(backend: &BackendUrl) -> Vec<(OsString, OsString)> {
    let is_theirs = |name: &OsString| {
        let name = name.to_string_lossy();
        !name.starts_with("ELECT_") || HANDED_ON.contains(&&*name) || name.starts_with(OF_TESTS)
    };
    let ours = candidacy::environment::for_helper().into_iter().filter(|(name, _)| is_theirs(name));
    ours.chain([
        ("ELECT_BACKEND".into(), backend.with_secrets().into()),
        // In the place of the user's: no key of it counts for the candidates.
        ("ELECT_CONFIG".into(), config::NO_FILE.into()),
    ])
    .collect()
}

/// The name that a guardian has.
const GUARDIAN: &str = "elect-guardian";

/// The guardian of this wrapper, if `/proc` shows one.
pub(super) fn guardian_of(wrapper: i32) -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|&pid| {
        Stat::of(pid).is_some_and(|stat| stat.parent == wrapper && stat.name == GUARDIAN)
    })
}

/// Whether a process is stopped, as far as `/proc` tells.
pub(super) fn is_stopped(pid: i32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.state == 'T')
}

/// Signals a process that may be gone by now.
pub(super) fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

struct Stat {
    name: String,
    state: char,
    parent: i32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = text.split_once('(')?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.chars().next()?;
        Some(Self { name: name.to_owned(), state, parent: words.next()?.parse().ok()? })
    }
}
