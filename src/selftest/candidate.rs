//! The candidates of a selftest, what `/proc` shows of them, and where they leave what they say.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use elect_api::path::read_kernel;
use elect_api::{ElectionName, Error, ErrorKind, Lease, Profile, Removal, Scope, Store};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::sleep;

use super::args::SelftestArgs;
use super::trace::Stamps;
use super::{OURSELVES, SUBCOMMAND};
use crate::command::candidacy;
use crate::config::{self, BackendUrl, ConfigError, SCRATCH_PREFIX, is_scratch};
use crate::guard::{self, Containment, Inherited};

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
        let text = read_kernel(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = text.split_once('(')?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.chars().next()?;
        Some(Self { name: name.to_owned(), state, parent: words.next()?.parse().ok()? })
    }
}

/// How long what a check leaves may go on: guardians that give up entries which are gone already.
const AFTER_A_CHECK: Duration = Duration::from_millis(500);
/// The same in the end, where there may be an entry to give up.
const IN_THE_END: Duration = Duration::from_secs(5);
/// From one look to the next.
const LOOK: Duration = Duration::from_millis(5);

/// The place where all is tried: elections in the store, and memory of this machine.
pub(super) struct Scratch<'a> {
    pub(super) backend: &'a BackendUrl,
    pub(super) inherited: &'a Inherited,
    pub(super) store: Box<dyn Store>,
    pub(super) profile: Profile,
    /// The length of lease to ask for; `None` where leases do not end by time.
    pub(super) ttl: Option<Duration>,
    /// What is to hold the trees of the candidates; `None` is what holds them as a rule.
    pub(super) containment: Option<Containment>,
    /// How long the leases are that the store grants for `ttl`, once that is known.
    pub(super) granted: Cell<Option<Duration>>,
    name: String,
    elections: RefCell<Vec<ElectionName>>,
    number: Cell<u32>,
}

/// Short enough to see several of them end within a minute; no server that is set up as usual refuses it.
const SHORT_LEASE: Duration = Duration::from_secs(5);

/// The length of lease to ask this store for; `None` where leases do not end by time.
///
/// # Errors
/// [`ConfigError::Timeless`] if one is asked for there.
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
    /// Nothing is made in the store yet.
    ///
    /// # Errors
    /// When the plan does not fit the store.
    pub(super) fn new(args: &'a SelftestArgs, inherited: &'a Inherited) -> anyhow::Result<Self> {
        let store = config::connect(&args.backend)?;
        let profile = store.profile();
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
            number: Cell::new(0),
        })
    }

    /// Where the store is, as people may see it.
    pub(super) fn location(&self) -> String {
        self.profile.location.clone()
    }

    /// All elections of ours, in words.
    pub(super) fn whole(&self) -> String {
        format!("what there is of the elections {}-... at {}", self.name, self.profile.location)
    }

    /// An election that nobody ever enters.
    pub(super) fn nobodys(&self) -> Result<ElectionName, Error> {
        self.name_of(0)
    }

    fn name_of(&self, number: u32) -> Result<ElectionName, Error> {
        let name = format!("{}-{number}", self.name).parse();
        name.map_err(|error| Error::new(ErrorKind::Unfit, "no name for an election").because(error))
    }

    /// Another election, which is removed in the end.
    pub(super) fn election(&self) -> Result<ElectionName, Error> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let election = self.name_of(number)?;
        self.elections.borrow_mut().push(election.clone());
        Ok(election)
    }

    /// The machines of the store, `HOST:PORT`; empty where its URL names none.
    pub(super) fn machines(&self) -> Vec<String> {
        let location = &self.profile.location;
        let rest = location.split_once("://").map_or("", |(_, rest)| rest);
        let hosts = rest.split(['/', '?']).next().unwrap_or_default();
        hosts.split(',').filter(|host| !host.is_empty()).map(ToOwned::to_owned).collect()
    }

    /// Whether the store is talked to in secret.
    pub(super) fn is_secret(&self) -> bool {
        self.backend.scheme().is_some_and(|scheme| scheme.ends_with("+tls"))
    }

    /// Waits until nothing of the last check lives. Its candidates are reaped before.
    pub(super) async fn settle(&self) {
        end_children(AFTER_A_CHECK).await;
    }

    /// Removes all that was made, and says in words what could not be.
    pub(super) async fn clear_away(&self) -> Vec<String> {
        end_children(IN_THE_END).await;
        let began = guard::now();
        // The lease of a candidate that could give nothing up has to end.
        let patience = self.ttl.unwrap_or_default() * 3 + Duration::from_secs(10);
        let mut left = Vec::new();
        for election in self.elections.take() {
            let error = loop {
                match self.store.remove(&election, Removal::Everything { fences: true }).await {
                    Ok(()) => break None,
                    Err(error) if error.is_permanent() || guard::now().since(began) > patience => {
                        break Some(error);
                    }
                    Err(_) => sleep(LOOK * 20).await,
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
                // So are the others.
                return left;
            }
        }
        self.clear_away_after_others().await;
        left
    }

    /// Removes what those have left in the store that were killed. One of somebody who lives loses nothing by it:
    /// an election that somebody is in stays, and any other is made again when it is wanted.
    async fn clear_away_after_others(&self) {
        let Ok(elections) = self.store.list(Scope::Entered).await else { return };
        for election in elections.iter().filter(|name| is_scratch(name)) {
            // Who comes next tries again.
            let _ = self.store.remove(election, Removal::Everything { fences: true }).await;
        }
    }
}

/// Waits until all children have ended, and kills those that have not by the end of `patience`.
async fn end_children(patience: Duration) {
    let began = guard::now();
    while guard::has_children() {
        let waited = guard::now().since(began);
        if waited > patience {
            // Tried again at the next look.
            let _ = guard::kill_descendants();
        }
        // They cannot be killed, or are not to be found: nobody waits for them.
        if waited > patience + IN_THE_END {
            return;
        }
        sleep(LOOK).await;
    }
}
