//! The plans of what takes part in an election: what `run` and `sidecar` have in common, what runs beside either, and
//! `sidecar`.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use elect_api::{Candidate, Division, ElectionName, Lease, Order, Profile};

use super::naming::{self, host_name};
use super::{BackendUrl, ConfigError, ListenAddress, LogFormat, candidate_id, stores};
use crate::cli::{
    CampaignArgs, CommandLine, HealthArgs, HealthUrl, HookArgs, LogArgs, SidecarArgs,
};
use crate::election::timing::Wishes;

/// How long a leader of less priority is left alone.
const PREEMPT_AFTER: Duration = Duration::from_secs(30);

/// Who takes part in what: the plan of all that leads.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignPlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election to take part in.
    pub election: ElectionName,
    /// Into what it is divided.
    pub division: Division,
    /// The length of lease to ask for, 1 s to 24 h; the engine's default if `None`.
    pub ttl: Option<Duration>,
    /// The greatest difference between the rates of this machine's clock and the store's, as a share
    /// of one; the engine's default if `None`.
    pub max_clock_drift: Option<f64>,
    /// The time between the soft deadline and the hard one (G); the engine's default if `None`.
    pub kill_grace: Option<Duration>,
    /// From a win to the start, unless the leader before has ended well; `None` is not at all.
    pub lock_delay: Option<Duration>,
    /// What people know this candidate by: 1 to 64 graphic ASCII characters without `/`.
    pub label: String,
    /// The name of this machine.
    pub host: String,
    /// Among those who wait the greatest leads first; 0 never leads.
    pub priority: u32,
    /// After how long a wait a leader of less priority is asked to hand over; never if `None`.
    pub preempt_after: Option<Duration>,
    /// The program without its arguments, as others are to see it.
    pub command: String,
    /// Where `elect check` of others finds whether we lead.
    pub lease_file: Option<PathBuf>,
    /// Where to show over HTTP how things are.
    pub http: Option<ListenAddress>,
    /// What is run beside, when leadership changes.
    pub hooks: HookPlan,
    /// How much elect says.
    pub verbosity: Verbosity,
    /// In which form.
    pub log_format: LogFormat,
}

/// That those who wait in this store have an order, which `what`, a flag or a command, needs. Without one nobody sees who
/// waits, nor stands back for anybody.
///
/// # Errors
/// [`ConfigError::Orderless`].
pub fn queues(profile: &Profile, what: &'static str) -> Result<(), ConfigError> {
    match profile.order {
        Order::Queue => Ok(()),
        Order::Race => Err(ConfigError::Orderless { scheme: profile.scheme, what }),
    }
}

impl CampaignPlan {
    /// The plan that these arguments ask for, in this election.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub(super) fn new(
        args: CampaignArgs,
        log: LogArgs,
        election: ElectionName,
        kill_grace: Option<Duration>,
        command: String,
    ) -> Result<Self, ConfigError> {
        let host = host_name();
        let label = match args.id {
            Some(label) => naming::label(label)?,
            None => naming::label_of_host(&host),
        };
        stores::check(&args.backend)?;
        Ok(Self {
            backend: args.backend,
            election,
            division: Division::Whole,
            ttl: args.ttl,
            max_clock_drift: args.max_clock_drift,
            kill_grace,
            lock_delay: args.lock_delay.filter(|delay| !delay.is_zero()),
            label,
            priority: args.priority,
            preempt_after: args.preempt_after.or(args.preempt.then_some(PREEMPT_AFTER)),
            host,
            command,
            lease_file: args.lease_file,
            http: args.http,
            hooks: HookPlan::new(args.hooks),
            verbosity: Verbosity::of(log),
            log_format: log.log_format,
        })
    }

    /// What this plan wants of leases like those of the store. Flags that mean nothing to it are refused.
    ///
    /// # Errors
    /// [`ConfigError::Timeless`] if one was given about the time of leases that have no limit;
    /// [`ConfigError::Orderless`] if one needs an order that the store does not have.
    pub fn wishes(&self, profile: &Profile) -> Result<Wishes, ConfigError> {
        let about_order = [
            ("--slots", matches!(self.division, Division::Slots(_))),
            ("--shards", matches!(self.division, Division::Shards(_))),
            ("--priority", self.priority != Candidate::USUAL_PRIORITY),
            ("--preempt", self.preempt_after.is_some()),
        ];
        about_order
            .iter()
            .filter(|(_, given)| *given)
            .try_for_each(|(flag, _)| queues(profile, flag))?;
        let about_time =
            [("--ttl", self.ttl.is_some()), ("--max-clock-drift", self.max_clock_drift.is_some())];
        let given = about_time.into_iter().find(|(_, given)| *given);
        if let (Lease::Unlimited, Some((flag, _))) = (profile.lease, given) {
            return Err(ConfigError::Timeless { scheme: profile.scheme, flag });
        }
        let usual = Wishes::default();
        Ok(Wishes {
            ttl: self.ttl.unwrap_or(usual.ttl),
            kill_grace: self.kill_grace,
            max_clock_drift: self.max_clock_drift.unwrap_or(usual.max_clock_drift),
        })
    }

    /// A candidate for this plan in the process `pid`, with an id of its own: no two are equal.
    pub fn candidate(&self, pid: u32, containment: &str) -> Candidate {
        Candidate {
            id: candidate_id(&self.label),
            host: self.host.clone(),
            pid,
            command: self.command.clone(),
            containment: containment.to_owned(),
            priority: self.priority,
            division: self.division,
        }
        .cleaned()
    }
}

/// How others see a candidate that runs no command.
const COMMAND: &str = "elect sidecar";

/// What `elect sidecar` is to do, checked as far as it can be without opening anything.
#[derive(Clone, Debug, PartialEq)]
pub struct SidecarPlan {
    /// Who takes part in what.
    pub campaign: CampaignPlan,
    /// How the application is known to be well.
    pub health: HealthPlan,
}

impl SidecarPlan {
    /// Checks that the programs that it runs beside are there.
    ///
    /// # Errors
    /// [`ConfigError::NoProgram`].
    pub fn find_programs(&self) -> Result<(), ConfigError> {
        find_programs(&self.health, &self.campaign.hooks)
    }

    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: SidecarArgs) -> Result<Self, ConfigError> {
        let election = args.campaign.election.as_deref().ok_or(ConfigError::Unnamed)?;
        let election = parse_election(election)?;
        let command = COMMAND.to_owned();
        let campaign = CampaignPlan::new(args.campaign, args.log, election, args.grace, command)?;
        Ok(Self { campaign, health: HealthPlan::new(args.health) })
    }
}

/// How something is known to be well. Without URL and command it always is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthPlan {
    /// What has to answer a GET with a status of 200 to 299.
    pub url: Option<HealthUrl>,
    /// What has to exit with 0.
    pub command: Option<CommandLine>,
    /// From the start of one check to that of the next; 10 ms at least.
    pub interval: Duration,
    /// How long a check may take; 10 ms at least.
    pub timeout: Duration,
    /// How many checks have to fail in a row; 1 at least.
    pub threshold: u32,
}

/// Where programs are looked for when there is no `PATH`, as the C library does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Checks that there is a program for each of these flags that is given.
///
/// # Errors
/// [`ConfigError::NoProgram`].
pub(super) fn find_programs(health: &HealthPlan, hooks: &HookPlan) -> Result<(), ConfigError> {
    let given = [
        ("--health-cmd", &health.command),
        ("--on-elected", &hooks.elected),
        ("--on-lost", &hooks.lost),
        ("--on-change", &hooks.change),
    ];
    for (flag, command) in given {
        let program = command.as_ref().and_then(|command| command.words().first());
        if let Some(program) = program.filter(|program| !is_program(program)) {
            let program = program.to_string_lossy().into_owned();
            return Err(ConfigError::NoProgram { flag, program });
        }
    }
    Ok(())
}

/// Whether there is a file of this name, by its path or in a folder of `PATH`.
pub(crate) fn is_program(name: &OsStr) -> bool {
    if name.as_encoded_bytes().contains(&b'/') {
        return Path::new(name).exists();
    }
    let search = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    env::split_paths(&search).any(|folder| folder.join(name).is_file())
}

impl HealthPlan {
    /// The plan that these arguments ask for.
    pub(super) fn new(args: HealthArgs) -> Self {
        Self {
            url: args.health_http,
            command: args.health_cmd,
            interval: args.health_interval,
            timeout: args.health_timeout,
            threshold: args.health_threshold,
        }
    }

    /// Whether there is anything to look at.
    pub const fn looks(&self) -> bool {
        self.url.is_some() || self.command.is_some()
    }
}

/// What is run beside, when leadership changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPlan {
    /// As we begin to lead; dead before anybody else can.
    pub elected: Option<CommandLine>,
    /// When our leadership is over, and its command dead.
    pub lost: Option<CommandLine>,
    /// When another leads than was seen before, or nobody.
    pub change: Option<CommandLine>,
    /// How long each may take; 10 ms at least. Default 10 s.
    pub timeout: Duration,
}

impl HookPlan {
    /// Whether there is any.
    pub const fn has_any(&self) -> bool {
        self.elected.is_some() || self.lost.is_some() || self.change.is_some()
    }

    pub(super) fn new(args: HookArgs) -> Self {
        Self {
            elected: args.on_elected,
            lost: args.on_lost,
            change: args.on_change,
            timeout: args.hook_timeout,
        }
    }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use std::time::Duration;

    use super::{ConfigError, SidecarPlan};
    use crate::cli::{Command, parse};

    fn sidecar(args: &[&str]) -> Result<SidecarPlan, ConfigError> {
        match parse(["elect", "sidecar"].iter().chain(args)).unwrap().command {
            Command::Sidecar(args) => SidecarPlan::new(*args),
            other => panic!("read as {other:?}"),
        }
    }

    #[test]
    fn the_default_plan() {
        let plan = sidecar(&["-e", "web"]).unwrap();
        assert_eq!((plan.health.interval, plan.health.threshold), (Duration::from_secs(2), 3));
        assert_eq!((plan.health.url, plan.health.command), (None, None));
        assert_eq!(plan.campaign.candidate(7, "none").command, "elect sidecar");
    }

    #[test]
    fn an_election_has_to_be_named() {
        let refusal = sidecar(&[]).unwrap_err();
        assert_eq!((&refusal, refusal.hint()), (&ConfigError::Unnamed, Some("use -e NAME")));
    }

    #[test]
    fn what_concerns_a_command_is_not_offered() {
        for flag in ["--after-loss=exit", "--hold=1s", "-s=TERM", "-n", "-w=1", "job"] {
            assert!(parse(["elect", "sidecar", "-e", "web", flag]).is_err(), "{flag}");
        }
    }
}

/// How much elect says on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors.
    Quiet,
    /// Warnings, and on a terminal what happens.
    Normal,
    /// Everything.
    Verbose,
}

impl Verbosity {
    /// What `-q` and `-v` ask for.
    pub fn of(args: LogArgs) -> Self {
        match (args.quiet, args.verbose) {
            (true, _) => Self::Quiet,
            (_, true) => Self::Verbose,
            _ => Self::Normal,
        }
    }
}

pub(crate) fn parse_election(name: &str) -> Result<ElectionName, ConfigError> {
    name.parse().map_err(|source| ConfigError::Election { name: name.to_owned(), source })
}
