//! Examines this machine for `elect doctor`: clock, containments, limits and tracers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use elect_api::{Finding, Lease, Profile, Supply, Unit};
use elect_system::path::read_kernel;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::Uid;

use crate::election::timing::{Distrust, Timing, TimingOptions};
use crate::guard::{self, Containment, Enclosure};
use crate::report::{ClockReport, ContainmentReport};

/// Enough file descriptors for any run. A few less often suffice.
const DESCRIPTORS: u64 = 64;
/// Enough processes and threads for elect, its guardian and a small command.
const PROCESSES: u64 = 16;

/// The state of this machine, as far as it matters to elect.
pub(super) struct Machine {
    pub(super) clock: ClockReport,
    pub(super) containment: Vec<ContainmentReport>,
    pub(super) supplies: Vec<Supply>,
    /// The containment of a run that demands none, or why there is none.
    best: Result<Containment, String>,
    findings: Vec<Finding>,
}

impl Machine {
    /// Examines the machine. This forks, so it must come before there is any thread.
    pub(super) fn examine() -> Self {
        let containment = Enclosure::at_hand().into_iter().map(|(containment, outcome)| {
            let why_not = outcome.err();
            ContainmentReport {
                containment: containment.name(),
                at_hand: why_not.is_none(),
                why_not,
            }
        });
        let (mut supplies, mut findings) = (Vec::new(), Vec::new());
        for (supply, least, way_out) in [descriptors(), processes(), cgroup()].into_iter().flatten()
        {
            let left = supply.left().or(supply.most);
            if let Some(left) = left.filter(|&left| left < least) {
                let what =
                    format!("{}: only {left} left, and elect takes up to {least}", supply.what);
                findings.push(Finding::warning(what, way_out));
            }
            supplies.push(supply);
        }
        Self {
            clock: ClockReport { rate: guard::rate() },
            containment: containment.collect(),
            supplies,
            best: Enclosure::choose(None, None)
                .map(|enclosure| enclosure.containment())
                .map_err(|unavailable| unavailable.to_string()),
            findings,
        }
    }

    /// Returns what is wrong with the machine for leases of this store.
    pub(super) fn findings(&self, store: &Profile) -> Vec<Finding> {
        let mut findings = self.findings.clone();
        let timing = Timing::new(&TimingOptions::usual(store), store.lease);
        if let Ok(Err(distrust)) = timing.map(|timing| timing.trust(self.clock.rate)) {
            findings.push(Finding::error(distrust.what, Distrust::WAY_OUT));
        }
        findings.extend(match &self.best {
            Ok(Containment::Group) => Some(Finding::warning(
                "only the process group of a command can be killed here: /proc does not list our children",
                "mount /proc for the pid namespace that elect is in, or take --containment cgroup or pidns if the machine has it",
            )),
            Ok(_) => None,
            Err(why) => Some(Finding::error(
                format!("elect run starts no command here: {why}"),
                "give elect what is missing for one of them",
            )),
        });
        findings.extend(tracer().filter(|_| store.lease != Lease::Unlimited).map(|tracer| {
            Finding::warning(
                format!("process {tracer} traces elect, and so a guardian that it starts"),
                "trace neither elect nor its guardian: a tracer that stands still keeps a guardian from killing",
            )
        }));
        findings
    }
}

/// Returns the process that traces this one.
fn tracer() -> Option<i32> {
    let status = read_kernel("/proc/self/status").ok()?;
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    tracer.trim().parse().ok().filter(|&pid| pid > 0)
}

/// A supply, how much of it elect needs, and what to do if less is left.
type Need = (Supply, u64, &'static str);

fn descriptors() -> Option<Need> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let supply = Supply {
        what: "open files of a process (ulimit -n)".to_owned(),
        unit: Unit::Pieces,
        most: limited(soft),
        used: None,
    };
    Some((supply, DESCRIPTORS, "raise it (ulimit -n, LimitNOFILE= of a unit)"))
}

/// The limit on processes of the user. Root has none.
fn processes() -> Option<Need> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
    let me = Uid::current();
    let most = limited(soft).filter(|_| !me.is_root());
    let supply = Supply {
        what: "processes and threads of the user (ulimit -u)".to_owned(),
        unit: Unit::Pieces,
        most,
        used: most.map(|_| threads_of(me.as_raw())),
    };
    Some((supply, PROCESSES, "end some of them, or raise it (ulimit -u, LimitNPROC= of a unit)"))
}

fn threads_of(user: u32) -> u64 {
    let tasks = |folder: &Path| fs::read_dir(folder.join("task")).map_or(0, Iterator::count);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let theirs = processes.filter(|entry| {
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        is_process && entry.metadata().is_ok_and(|found| found.uid() == user)
    });
    theirs.map(|entry| u64::try_from(tasks(&entry.path())).unwrap_or(u64::MAX)).sum()
}

/// The limit of the cgroup, for cgroup v2 at its usual place.
fn cgroup() -> Option<Need> {
    let own = read_kernel("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = Path::new("/sys/fs/cgroup").join(own);
    let number =
        |name: &str| -> Option<u64> { read_kernel(folder.join(name)).ok()?.trim().parse().ok() };
    let used = number("pids.current")?;
    let supply = Supply {
        what: format!("processes and threads in the cgroup /{own}"),
        unit: Unit::Pieces,
        most: number("pids.max"),
        used: Some(used),
    };
    Some((
        supply,
        PROCESSES,
        "end some of them, or raise it (TasksMax= of a unit, --pids-limit of a container)",
    ))
}

fn limited(limit: u64) -> Option<u64> {
    (limit != libc::RLIM_INFINITY).then_some(limit)
}
