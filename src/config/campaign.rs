//! The plans of what takes part in an election: what `run` and `sidecar` have in common, what runs beside either, and
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

/// How long a leader of less priority is left alone.
const PREEMPT_AFTER: Duration = Duration::from_secs(30);

/// Who takes part in what: the plan of all that leads.
#[derive(Clone, Debug)]
pub struct CampaignPlan {
    /// As they were given, but for the name of the election and the label.
    pub flags: CampaignArgs,
    /// The election to take part in.
    pub election: ElectionName,
    /// Into what it is divided.
    pub division: Division,
    /// What people know this candidate by: 1 to 64 graphic ASCII characters without `/`.
    pub label: String,
    /// The name of this machine.
    pub host: String,
    /// The program without its arguments, as others are to see it.
    pub command: String,
    /// What tells its job from others; `None` where nothing runs.
    pub work: Option<Work>,
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

    /// From a win to the start, unless the leader before has ended well; `None` is not at all.
    pub fn lock_delay(&self) -> Option<Duration> {
        self.flags.lock_delay.filter(|delay| !delay.is_zero())
    }

    /// After how long a wait a leader of less priority is asked to hand over; never if `None`.
    pub fn preempt_after(&self) -> Option<Duration> {
        self.flags.preempt_after.or(self.flags.preempt.then_some(PREEMPT_AFTER))
    }

    /// What this plan comes to with leases like those of the store, and this grace. Flags that mean nothing to it are
    /// refused.
    ///
    /// # Errors
    /// [`ConfigError::Timeless`] if one was given about the time of leases that have no limit;
    /// [`ConfigError::Orderless`] if one needs an order that the store does not have;
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

    /// A candidate for this plan in the process `pid`, with an id of its own: no two are equal.
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

/// How others see a candidate that runs no command.
const COMMAND: &str = "elect sidecar";

/// What `elect sidecar` is to do, checked as far as it can be without opening anything.
#[derive(Clone, Debug)]
pub struct SidecarPlan {
    /// Who takes part in what.
    pub campaign: CampaignPlan,
    /// How long the application has to stop; the engine's default if `None`.
    pub grace: Option<Duration>,
    /// How the application is known to be well.
    pub health: HealthArgs,
}

impl SidecarPlan {
    /// Checks that the programs that it runs beside are there.
    ///
    /// # Errors
    /// [`ConfigError::NoProgram`].
    pub fn find_programs(&self) -> Result<(), ConfigError> {
        find_programs(&self.health, &self.campaign.flags.hooks)
    }

    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
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
