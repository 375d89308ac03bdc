//! The plans of programs that take part in an election: the common part of `run` and `sidecar`, and the plan of
//! `sidecar`.

use std::path::PathBuf;
use std::time::Duration;

use elect_api::{Candidate, Division, ElectionName, Lease, Order, Profile, Promise};

use super::pod_label::knows_pods;
use super::programs::find_programs;
use super::{BackendUrl, CommandLine, ConfigError, HealthUrl, ListenAddress};
use crate::cli::{CampaignArgs, HealthArgs, HookArgs, LogArgs, SidecarArgs};
use crate::election::machine::{Rules, Settles};
use crate::election::timing::{Timing, TimingOptions};
use crate::identity::{self, candidate_id, host_name};
use crate::stores;

/// The default of `--preempt-after`: how long a leader of lower priority is left alone.
const PREEMPT_AFTER: Duration = Duration::from_secs(30);

/// The plan of one candidacy: which candidate takes part in which election, and who is told of it.
#[derive(Clone, Debug)]
pub struct CampaignPlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election to take part in.
    pub election: ElectionName,
    /// The candidate, as far as it is known before the start: see [`CampaignPlan::candidate`].
    pub candidate: Candidate,
    /// Whether a store whose promise is weak is refused.
    require_strong: bool,
    /// The length of the lease; `None` for the store's default.
    ttl: Option<Duration>,
    /// The time that the work has to end after a loss; `None` for the default.
    grace: Option<Duration>,
    max_clock_drift: Option<f64>,
    /// The flag that was given about the time of leases, if there is one.
    timed_by: Option<&'static str>,
    /// The delay from a win to the start, unless the previous leader has ended cleanly; `None` for no delay.
    lock_delay: Option<Duration>,
    /// The waiting time after which a leader of lower priority is asked to hand over; `None` for never.
    pub preempt_after: Option<Duration>,
    /// The address of the pages about this candidate.
    pub http: Option<ListenAddress>,
    /// The file that tells others whether this candidate leads.
    pub lease_file: Option<PathBuf>,
    /// Whether this pod gets a label while the candidate leads.
    pub pod_label: bool,
    /// The hooks.
    pub hooks: HookPlan,
}

/// The hooks: commands that elect runs when leadership changes.
#[derive(Clone, Debug)]
pub struct HookPlan {
    /// The command to run when leadership begins.
    pub elected: Option<CommandLine>,
    /// The command to run when leadership has ended.
    pub lost: Option<CommandLine>,
    /// The command to run when the leader changes.
    pub change: Option<CommandLine>,
    /// The time after which elect kills a hook.
    pub timeout: Duration,
}

/// The health checks of a command or an application. At least one of `http` and `command` is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthPlan {
    /// The URL to ask. The check succeeds if the status is 200 to 299.
    pub http: Option<HealthUrl>,
    /// The command to run. The check succeeds if the command exits with 0.
    pub command: Option<CommandLine>,
    /// The time from the start of one check to that of the next.
    pub interval: Duration,
    /// The longest time for a check.
    pub timeout: Duration,
    /// The number of failures in a row after which elect gives leadership up.
    pub threshold: u32,
}

impl HookPlan {
    /// Returns whether there is any hook.
    pub const fn has_any(&self) -> bool {
        self.elected.is_some() || self.lost.is_some() || self.change.is_some()
    }
}

impl HealthPlan {
    /// Makes the plan from these arguments. Returns `None` if they set no check.
    pub(super) fn new(args: HealthArgs) -> Option<Self> {
        args.has_any().then_some(Self {
            http: args.health_http,
            command: args.health_cmd,
            interval: args.health_interval,
            timeout: args.health_timeout,
            threshold: args.health_threshold,
        })
    }
}

/// Checks that candidates queue in this store. `what` is the flag or the command that requires a queue. Without a
/// queue, a candidate neither sees the waiting candidates nor lets another one pass.
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
    /// Makes the plan from these arguments, for this election. `grace` is the time that the work has to end after a
    /// loss; `None` for the default.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub(super) fn new(
        args: CampaignArgs,
        election: ElectionName,
        division: Division,
        command: String,
        grace: Option<Duration>,
    ) -> Result<Self, ConfigError> {
        let host = host_name();
        let label = match args.id {
            Some(label) => identity::label(label)?,
            None => identity::label_of_host(&host),
        };
        stores::find(&args.backend)?;
        if args.pod_label {
            knows_pods(&args.backend)?;
        }
        let (ttl, drift) = (args.ttl, args.max_clock_drift);
        let HookArgs { on_elected, on_lost, on_change, hook_timeout } = args.hooks;
        Ok(Self {
            backend: args.backend,
            election,
            candidate: Candidate {
                id: candidate_id(&label),
                host,
                pid: std::process::id(),
                command,
                containment: String::new(),
                priority: args.priority,
                division,
                work: None,
            },
            require_strong: args.require_strong,
            ttl,
            grace,
            max_clock_drift: drift,
            timed_by: ttl.map(|_| "--ttl").or(drift.map(|_| "--max-clock-drift")),
            lock_delay: args.lock_delay.filter(|delay| !delay.is_zero()),
            preempt_after: args.preempt_after.or(args.preempt.then_some(PREEMPT_AFTER)),
            http: args.http,
            lease_file: args.lease_file,
            pod_label: args.pod_label,
            hooks: HookPlan {
                elected: on_elected,
                lost: on_lost,
                change: on_change,
                timeout: hook_timeout,
            },
        })
    }

    /// The timing of this plan with the leases of this store. A store that does not suit the flags is refused.
    ///
    /// # Errors
    /// [`ConfigError::Weak`] if a flag demands a strong promise;
    /// [`ConfigError::Timeless`] if a flag is about the time of leases, and these leases have no limit;
    /// [`ConfigError::Orderless`] if a flag needs a queue that the store does not have;
    /// [`TooTight`](crate::election::timing::TooTight) if such leases leave no time to renew them.
    pub fn timing(&self, store: &Profile) -> anyhow::Result<Timing> {
        if self.require_strong && store.promise == Promise::Weak {
            return Err(ConfigError::Weak(store.scheme).into());
        }
        let Candidate { priority, division, .. } = self.candidate;
        let about_order = [
            ("--slots", matches!(division, Division::Slots(_))),
            ("--shards", matches!(division, Division::Shards(_))),
            ("--priority", priority != Candidate::USUAL_PRIORITY),
            ("--preempt", self.preempt_after.is_some()),
        ];
        about_order
            .iter()
            .filter(|(_, given)| *given)
            .try_for_each(|(flag, _)| queues(store, flag))?;
        if let (Lease::Unlimited, Some(flag)) = (store.lease, self.timed_by) {
            return Err(ConfigError::Timeless { scheme: store.scheme, flag }.into());
        }
        let usual = TimingOptions::usual(store);
        let options = TimingOptions {
            ttl: self.ttl.unwrap_or(usual.ttl),
            kill_grace: self.grace,
            max_clock_drift: self.max_clock_drift.unwrap_or(usual.max_clock_drift),
        };
        Ok(Timing::new(&options, store.lease)?)
    }

    /// The rules of this candidacy, for work that is no command.
    pub fn rules(&self) -> Rules {
        let Candidate { ref id, priority, division, .. } = self.candidate;
        // The coordinator decides which member holds a shard, so priorities play no part in these elections.
        let is_ranked = !matches!(division, Division::Shards(_));
        Rules {
            division,
            settles: Settles::of(division, &self.election),
            lock_delay: self.lock_delay,
            ..Rules::of(id, if is_ranked { priority } else { Candidate::USUAL_PRIORITY })
        }
    }

    /// The candidate of this plan, with the containment that its command has.
    pub fn candidate(&self, containment: &str) -> Candidate {
        Candidate { containment: containment.to_owned(), ..self.candidate.clone() }.cleaned()
    }
}

/// The command that other candidates see for a candidate without one.
const COMMAND: &str = "elect sidecar";

/// The plan of `elect sidecar`, checked as far as possible without opening anything.
#[derive(Clone, Debug)]
pub struct SidecarPlan {
    /// The common part of all candidacies.
    pub campaign: CampaignPlan,
    /// The health checks of the application, if there are any.
    pub health: Option<HealthPlan>,
}

impl SidecarPlan {
    /// Checks that the programs of its hooks and health checks exist.
    ///
    /// # Errors
    /// [`ConfigError::NoProgram`].
    pub fn find_programs(&self) -> Result<(), ConfigError> {
        find_programs(self.health.as_ref(), &self.campaign.hooks)
    }

    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: SidecarArgs) -> Result<Self, ConfigError> {
        let election = args.campaign.election.as_deref().ok_or(ConfigError::Unnamed)?;
        let election = parse_election(election)?;
        let SidecarArgs { campaign, grace, health, .. } = args;
        let (division, command) = (Division::Whole, COMMAND.to_owned());
        let campaign = CampaignPlan::new(campaign, election, division, command, grace)?;
        Ok(Self { campaign, health: HealthPlan::new(health) })
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
        assert_eq!(plan.health, None);
        assert_eq!(plan.campaign.candidate("none").command, "elect sidecar");
        let plan = sidecar(&["-e", "web", "--health-cmd", "true"]).unwrap();
        let health = plan.health.unwrap();
        assert_eq!((health.interval, health.threshold), (Duration::from_secs(2), 3));
    }

    #[test]
    fn an_election_must_be_named() {
        let refusal = sidecar(&[]).unwrap_err();
        assert_eq!(
            (&refusal, refusal.hint().as_deref()),
            (&ConfigError::Unnamed, Some("use -e NAME"))
        );
    }

    #[test]
    fn flags_about_a_command_are_not_offered() {
        for flag in ["--after-loss=exit", "--hold=1s", "-s=TERM", "-n", "-w=1", "job"] {
            assert!(parse(["elect", "sidecar", "-e", "web", flag]).is_err(), "{flag}");
        }
    }
}

/// The amount of messages on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors.
    Quiet,
    /// Warnings, and on a terminal also progress.
    Normal,
    /// Everything.
    Verbose,
}

impl Verbosity {
    /// The verbosity that `-q` and `-v` select.
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
