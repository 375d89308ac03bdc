//! The plans of programs that take part in an election: the common part of `run` and `sidecar`, and the plan of
//! `sidecar`.

use std::time::Duration;

use elect_api::{Candidate, Division, ElectionName, Lease, Order, Profile, Work};

use super::ConfigError;
use super::pod_label::knows_pods;
use super::programs::find_programs;
use crate::cli::{CampaignArgs, HealthArgs, LogArgs, SidecarArgs};
use crate::election::timing::{Timing, TimingOptions};
use crate::identity::{self, candidate_id, host_name};
use crate::stores;

/// The default of `--preempt-after`: how long a leader of lower priority is left alone.
const PREEMPT_AFTER: Duration = Duration::from_secs(30);

/// The plan of one candidacy: which candidate takes part in which election.
#[derive(Clone, Debug)]
pub struct CampaignPlan {
    /// The arguments as they were given, except for the label, which is moved to `label`.
    pub flags: CampaignArgs,
    /// The election to take part in.
    pub election: ElectionName,
    /// The division of the election.
    pub division: Division,
    /// The label by which people know this candidate: 1 to 64 graphic ASCII characters without `/`.
    pub label: String,
    /// The name of this machine.
    pub host: String,
    /// The program without its arguments, as other candidates see it.
    pub command: String,
    /// The fingerprint of the job; `None` if no command runs.
    pub work: Option<Work>,
}

/// Checks that waiting candidates queue in this store, as `what`, a flag or a command, requires. Without a queue no
/// candidate sees the waiting ones, nor lets another one pass.
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
    /// Makes the plan from these arguments, for this election.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub(super) fn new(
        mut flags: CampaignArgs,
        election: ElectionName,
        division: Division,
        command: String,
    ) -> Result<Self, ConfigError> {
        let host = host_name();
        let label = match flags.id.take() {
            Some(label) => identity::label(label)?,
            None => identity::label_of_host(&host),
        };
        stores::find(&flags.backend)?;
        if flags.pod_label {
            knows_pods(&flags.backend)?;
        }
        Ok(Self { flags, election, division, label, host, command, work: None })
    }

    /// The delay from a win to the start, unless the previous leader has ended cleanly; `None` for no delay.
    pub fn lock_delay(&self) -> Option<Duration> {
        self.flags.lock_delay.filter(|delay| !delay.is_zero())
    }

    /// The waiting time after which a leader of lower priority is asked to hand over; `None` for never.
    pub fn preempt_after(&self) -> Option<Duration> {
        self.flags.preempt_after.or(self.flags.preempt.then_some(PREEMPT_AFTER))
    }

    /// The timing of this plan with the leases of this store, and this grace. Flags that do not apply to the store are
    /// refused.
    ///
    /// # Errors
    /// [`ConfigError::Timeless`] if a flag is about the time of leases, and these leases have no limit;
    /// [`ConfigError::Orderless`] if a flag needs a queue that the store does not have;
    /// [`TooTight`](crate::election::timing::TooTight) if such leases leave no time to renew them.
    pub fn timing(&self, store: &Profile, kill_grace: Option<Duration>) -> anyhow::Result<Timing> {
        let CampaignArgs { ttl, max_clock_drift, priority, .. } = self.flags;
        let about_order = [
            ("--slots", matches!(self.division, Division::Slots(_))),
            ("--shards", matches!(self.division, Division::Shards(_))),
            ("--priority", priority != Candidate::USUAL_PRIORITY),
            ("--preempt", self.preempt_after().is_some()),
        ];
        about_order
            .iter()
            .filter(|(_, given)| *given)
            .try_for_each(|(flag, _)| queues(store, flag))?;
        let about_time =
            [("--ttl", ttl.is_some()), ("--max-clock-drift", max_clock_drift.is_some())];
        let given = about_time.into_iter().find(|(_, given)| *given);
        if let (Lease::Unlimited, Some((flag, _))) = (store.lease, given) {
            return Err(ConfigError::Timeless { scheme: store.scheme, flag }.into());
        }
        let usual = TimingOptions::default();
        let options = TimingOptions {
            ttl: ttl.unwrap_or(usual.ttl),
            kill_grace,
            max_clock_drift: max_clock_drift.unwrap_or(usual.max_clock_drift),
        };
        Ok(Timing::new(&options, store.lease)?)
    }

    /// A candidate of this plan in the process `pid`. Each call makes a new id.
    pub fn candidate(&self, pid: u32, containment: &str) -> Candidate {
        Candidate {
            id: candidate_id(&self.label),
            host: self.host.clone(),
            pid,
            command: self.command.clone(),
            containment: containment.to_owned(),
            priority: self.flags.priority,
            division: self.division,
            work: self.work,
        }
        .cleaned()
    }
}

/// The command that other candidates see for a candidate without one.
const COMMAND: &str = "elect sidecar";

/// The plan of `elect sidecar`, checked as far as possible without opening anything.
#[derive(Clone, Debug)]
pub struct SidecarPlan {
    /// The common part of all candidacies.
    pub campaign: CampaignPlan,
    /// The time that the application has to stop; `None` for the engine's default.
    pub grace: Option<Duration>,
    /// The health checks of the application.
    pub health: HealthArgs,
}

impl SidecarPlan {
    /// Checks that the programs of its hooks and health checks exist.
    ///
    /// # Errors
    /// [`ConfigError::NoProgram`].
    pub fn find_programs(&self) -> Result<(), ConfigError> {
        find_programs(&self.health, &self.campaign.flags.hooks)
    }

    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: SidecarArgs) -> Result<Self, ConfigError> {
        let election = args.campaign.election.as_deref().ok_or(ConfigError::Unnamed)?;
        let election = parse_election(election)?;
        let SidecarArgs { campaign, grace, health, .. } = args;
        let campaign = CampaignPlan::new(campaign, election, Division::Whole, COMMAND.to_owned())?;
        Ok(Self { campaign, grace, health })
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
        let health = &plan.health;
        assert_eq!((health.health_interval, health.health_threshold), (Duration::from_secs(2), 3));
        assert_eq!((&health.health_http, &health.health_cmd), (&None, &None));
        assert_eq!(plan.campaign.candidate(7, "none").command, "elect sidecar");
    }

    #[test]
    fn an_election_has_to_be_named() {
        let refusal = sidecar(&[]).unwrap_err();
        assert_eq!(
            (&refusal, refusal.hint().as_deref()),
            (&ConfigError::Unnamed, Some("use -e NAME"))
        );
    }

    #[test]
    fn what_concerns_a_command_is_not_offered() {
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
