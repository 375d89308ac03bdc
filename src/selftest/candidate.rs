//! The candidates of a self-test, their processes in `/proc`, their messages, and the elections that they leave
//! in the store.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use elect_api::{ElectionName, Error, ErrorKind, Lease, Order, Profile, Removal, Scope, Store};
use elect_system::path::read_kernel;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::sleep;

use super::args::SelftestArgs;
use super::duel::Setting;
use super::trace::Stamps;
use super::{OURSELVES, SUBCOMMAND};
use crate::command::candidacy;
use crate::config::{self, BackendUrl, ConfigError, SCRATCH_PREFIX, is_scratch};
use crate::guard::{self, Containment, Inherited};

/// The variables of elect that its candidates inherit.
const HANDED_ON: [&str; 3] = ["ELECT_USER", "ELECT_PASSWORD", "ELECT_PASSWORD_FILE"];
/// The prefix of variables that tests of this program set.
const OF_TESTS: &str = "ELECT_TEST_";

/// An `elect run` whose command stamps. Dropping it kills elect, whose guardian then kills the tree.
pub(super) struct Candidate {
    child: Child,
    /// The messages on stderr, in memory. The memory is freed when both processes are dead.
    log: File,
    /// The process id of its guardian, once it is known.
    guardian: Option<i32>,
}

impl Candidate {
    pub(super) fn start(
        scratch: &Scratch<'_>,
        election: &ElectionName,
        stamps: &Stamps,
        (tag, backend): (&str, &BackendUrl),
        setting: Setting,
    ) -> anyhow::Result<Self> {
        let Setting { tree, leases, flags, .. } = setting;
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

    /// Returns the process id of elect itself.
    pub(super) fn wrapper(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Returns the process id of its guardian.
    ///
    /// # Errors
    /// If `/proc` shows no guardian.
    pub(super) fn guardian(&mut self) -> anyhow::Result<i32> {
        let wrapper = self.wrapper();
        self.guardian = self.guardian.or_else(|| guardian_of(wrapper));
        self.guardian.context("/proc does not show the guardian of an elect run")
    }

    /// Returns the exit status, if it has ended.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns the last line that it wrote to stderr.
    pub(super) fn said(&self) -> String {
        // The writer shares the file position with this process, so the read names its offset.
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
        // The guardian outlives its wrapper, so it is continued first. Its process id stays valid, because this process
        // is the one that reaps it.
        if let Some(guardian) = self.guardian.filter(|_| self.ended().is_none()) {
            signal(guardian, Signal::SIGCONT);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the environment of a candidate that uses this URL of the store.
fn environment(backend: &BackendUrl) -> Vec<(OsString, OsString)> {
    let is_theirs = |name: &OsString| {
        let name = name.to_string_lossy();
        !name.starts_with("ELECT_") || HANDED_ON.contains(&&*name) || name.starts_with(OF_TESTS)
    };
    let ours = candidacy::environment::for_helper().into_iter().filter(|(name, _)| is_theirs(name));
    ours.chain([
        ("ELECT_BACKEND".into(), backend.with_secrets().into()),
        // The candidates read no configuration file, so none of the user's keys counts for them.
        ("ELECT_CONFIG".into(), config::NO_FILE.into()),
    ])
    .collect()
}

/// The name of a guardian's process.
const GUARDIAN: &str = "elect-guardian";

/// Returns the guardian of this wrapper, if `/proc` shows one.
pub(super) fn guardian_of(wrapper: i32) -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|&pid| {
        Stat::of(pid).is_some_and(|stat| stat.parent == wrapper && stat.name == GUARDIAN)
    })
}

/// Returns whether a process is stopped, as far as `/proc` tells.
pub(super) fn is_stopped(pid: i32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.state == 'T')
}

/// Signals a process, which may be gone by now.
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
        let text = read_kernel(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = text.split_once('(')?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.chars().next()?;
        Some(Self { name: name.to_owned(), state, parent: words.next()?.parse().ok()? })
    }
}

/// The time that processes of a check may run on after it. They are guardians that give up entries which are gone
/// already.
const AFTER_A_CHECK: Duration = Duration::from_millis(500);
/// The time that processes may run on at the end, when a guardian may have an entry to give up.
const IN_THE_END: Duration = Duration::from_secs(5);
/// The time between two checks.
const CHECK_PAUSE: Duration = Duration::from_millis(5);

/// The resources of a self-test: elections in the store, and memory on this machine.
pub(super) struct Scratch<'a> {
    pub(super) backend: &'a BackendUrl,
    pub(super) inherited: &'a Inherited,
    pub(super) store: Box<dyn Store>,
    pub(super) profile: Profile,
    /// The TTL to ask for. `None` if leases do not end by time.
    pub(super) ttl: Option<Duration>,
    /// The containment for the trees of the candidates. `None` for the default.
    pub(super) containment: Option<Containment>,
    /// The length of the leases that the store grants for `ttl`, once it is known.
    pub(super) granted: Cell<Option<Duration>>,
    name: String,
    elections: RefCell<Vec<ElectionName>>,
}

/// The default TTL. It lets several leases end within a minute, and servers with usual settings accept it.
const SHORT_LEASE: Duration = Duration::from_secs(5);

/// Returns the TTL to ask this store for. Returns `None` if leases do not end by time.
///
/// # Errors
/// Returns [`ConfigError::Timeless`] if a TTL is given for a store whose leases do not end by time.
fn lease(asked: Option<Duration>, store: &Profile) -> Result<Option<Duration>, ConfigError> {
    match (store.lease, asked) {
        (Lease::Unlimited, None) => Ok(None),
        (Lease::Unlimited, Some(_)) => {
            Err(ConfigError::Timeless { scheme: store.scheme, flag: "--ttl" })
        }
        (Lease::Timed(_), ttl) => Ok(Some(ttl.unwrap_or(SHORT_LEASE))),
    }
}

impl<'a> Scratch<'a> {
    /// Prepares a self-test, and writes nothing to the store yet.
    ///
    /// # Errors
    /// If the plan does not fit the store.
    pub(super) fn new(args: &'a SelftestArgs, inherited: &'a Inherited) -> anyhow::Result<Self> {
        let store = config::connect(&args.backend)?;
        let profile = store.profile();
        if profile.order == Order::Race {
            return Err(
                ConfigError::Orderless { scheme: profile.scheme, what: "elect selftest" }.into()
            );
        }
        let ttl = lease(args.ttl, &profile)?;
        let name = format!("{SCRATCH_PREFIX}{:08x}", fastrand::u32(..));
        Ok(Self {
            backend: &args.backend,
            inherited,
            store,
            profile,
            ttl,
            containment: args.containment.tier(),
            granted: Cell::new(None),
            name,
            elections: RefCell::default(),
        })
    }

    /// Returns words for all elections of this self-test.
    pub(super) fn whole(&self) -> String {
        format!("what there is of the elections {}-... at {}", self.name, self.profile.location)
    }

    /// Returns the name of an election that no candidate ever enters.
    pub(super) fn unused_election(&self) -> Result<ElectionName, Error> {
        self.name_of(0)
    }

    fn name_of(&self, number: usize) -> Result<ElectionName, Error> {
        let name = format!("{}-{number}", self.name).parse();
        name.map_err(|error| Error::new(ErrorKind::Unfit, "no name for an election").because(error))
    }

    /// Returns the name of another election. It is removed at the end.
    pub(super) fn election(&self) -> Result<ElectionName, Error> {
        let mut elections = self.elections.borrow_mut();
        let election = self.name_of(elections.len() + 1)?;
        elections.push(election.clone());
        Ok(election)
    }

    /// Returns the machines of the store as `HOST:PORT`. The list is empty if its URL names none.
    pub(super) fn machines(&self) -> Vec<String> {
        let location = &self.profile.location;
        let before = if self.profile.is_in_service { "endpoint=http://" } else { "://" };
        let rest = location.split_once(before).map_or("", |(_, rest)| rest);
        let hosts = rest.split(['/', '?', '&']).next().unwrap_or_default();
        hosts.split(',').filter(|host| !host.is_empty()).map(ToOwned::to_owned).collect()
    }

    /// Returns whether the URL names them, and not the environment.
    pub(super) fn names_machines(&self) -> bool {
        self.through(&[(Ipv4Addr::LOCALHOST, 1).into()]).is_some()
    }

    /// Returns the URL with these addresses in the place of the machines; `None` if it names none.
    pub(super) fn through(&self, ways: &[SocketAddr]) -> Option<BackendUrl> {
        if self.profile.is_in_service {
            return ways.first().map(|&way| self.backend.through_endpoint(way));
        }
        self.backend.through(ways)
    }

    /// Waits until all processes of the last check are dead. Its candidates have been reaped before.
    pub(super) async fn await_ends(&self) {
        end_children(AFTER_A_CHECK).await;
    }

    /// Removes all elections of this self-test. Returns words for those that could not be removed.
    pub(super) async fn clear_away(&self) -> Vec<String> {
        end_children(IN_THE_END).await;
        let began = guard::now();
        // The wait covers the lease of a candidate that could not give up its entry.
        let patience = self.ttl.unwrap_or_default() * 3 + Duration::from_secs(10);
        let mut left = Vec::new();
        for election in self.elections.take() {
            let error = loop {
                match self.store.remove(&election, Removal::Scratch).await {
                    Ok(()) => break None,
                    Err(error) if error.is_permanent() || guard::now().since(began) > patience => {
                        break Some(error);
                    }
                    Err(_) => sleep(CHECK_PAUSE * 20).await,
                }
            };
            let Some(error) = error else { continue };
            let is_out_of_reach = !error.is_permanent();
            let what = if is_out_of_reach {
                self.whole()
            } else {
                format!("election {election} at {}", self.profile.location)
            };
            left.push(format!("{what}: {:#}", anyhow::Error::from(error)));
            if is_out_of_reach {
                // The other elections are out of reach, too.
                return left;
            }
        }
        self.remove_leftover_elections().await;
        left
    }

    /// Removes the elections of earlier self-tests that were killed. This does not disturb a self-test that still runs.
    /// An election with a candidate in it stays, and any other is made again when it is needed.
    async fn remove_leftover_elections(&self) {
        let Ok(elections) = self.store.list(Scope::Entered).await else { return };
        for election in elections.iter().filter(|name| is_scratch(name)) {
            // The next self-test tries again after a failure.
            let _ = self.store.remove(election, Removal::Everything { fences: true }).await;
        }
    }
}

/// Waits until all children have ended. Kills those that have not ended after `patience`.
async fn end_children(patience: Duration) {
    let began = guard::now();
    while guard::has_children() {
        let waited = guard::now().since(began);
        if waited > patience {
            // A failed kill is repeated at the next check.
            let _ = guard::kill_descendants();
        }
        // Processes that cannot be killed or found are not awaited any longer.
        if waited > patience + IN_THE_END {
            return;
        }
        sleep(CHECK_PAUSE).await;
    }
}
