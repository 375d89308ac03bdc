use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::campaign::parse_election;
use super::conflicts::division;
use super::variables::LEASE;
use super::{BackendUrl, CampaignPlan, ConfigError, naming};
use crate::cli::{
    CheckArgs, Origins, RedeemArgs, Restart, RestartArgs, RunArgs, RunFlags, Strays, strays,
};
use crate::election::machine::Restarts;
pub use crate::election::machine::Wait;
use crate::stores;
use elect_api::{ElectionName, Ticket, Work};

/// The plan of `elect run`, checked as far as possible without opening anything.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// The common part of all candidacies.
    pub campaign: CampaignPlan,
    /// The flags as they were given. With `--once-per`, the key of `--once` is made at the start of the program.
    pub flags: RunFlags,
    /// Whether the election was named after the command, because `-e` was missing.
    pub named_after_command: bool,
    /// The command and its arguments; never empty.
    pub command: Vec<OsString>,
    /// The words before the command on the command line, if they are known. For hints.
    pub before: Vec<OsString>,
}

/// The election that these arguments name, or that is named after their command; `None` if the name is refused.
pub fn election_of_run(args: &RunArgs) -> Option<ElectionName> {
    match &args.campaign.election {
        Some(name) => name.parse().ok(),
        None => naming::name_after(args.command.first()?).ok(),
    }
}

impl RunPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: RunArgs) -> Result<Self, ConfigError> {
        let program = args.command.first().ok_or_else(|| ConfigError::Nameless(String::new()))?;
        let named = args.campaign.election.as_deref();
        let election = match named {
            Some(name) => parse_election(name)?,
            None => naming::name_after(program)?,
        };
        let named_after_command = named.is_none();
        let shown = program.to_string_lossy().into_owned();
        let division = division(&args)?;
        let RunArgs { campaign, flags, command, .. } = args;
        let mut campaign = CampaignPlan::new(campaign, election, division, shown)?;
        campaign.work = Some(Work::new(&command, !named_after_command));
        Ok(Self { campaign, flags, named_after_command, command, before: Vec::new() })
    }

    /// The same plan, with the words that were typed before the command.
    #[must_use]
    pub fn typed(self, origins: &Origins) -> Self {
        let before = origins.before(&self.command).to_vec();
        Self { before, ..self }
    }

    /// The flags of elect that stand after the command; short ones too, if asked `with_letters`.
    pub fn strays(&self, with_letters: bool) -> Strays {
        strays(&self.before, &self.command, with_letters)
    }

    /// How long to wait for leadership.
    pub const fn wait(&self) -> Wait {
        match (self.flags.no_wait, self.flags.wait) {
            (true, _) => Wait::No,
            (false, Some(limit)) => Wait::For(limit),
            (false, None) => Wait::Forever,
        }
    }

    /// The rule for starting an ended command again; `None` for never.
    pub fn restarts(&self) -> Option<Restarts> {
        (self.flags.restart.restart != Restart::Never).then_some(self.relapses())
    }

    /// The pauses before this process takes part again after its command was not healthy. They are the pauses
    /// after a command that has ended.
    pub fn relapses(&self) -> Restarts {
        let RestartArgs { restart, restart_delay, restart_max_delay } = self.flags.restart;
        Restarts {
            after_success: restart == Restart::Always,
            delay: restart_delay,
            longest_delay: restart_max_delay,
        }
    }
}

/// The plan of `elect check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPlan {
    /// The time for which the lease must still run. Default 0.
    pub remaining: Duration,
    /// The file that `--lease-file` or else `ELECT_LEASE` names.
    pub lease: PathBuf,
    /// An additional accepted owner of the file. This user, root, and the users to whom they gave its folder are
    /// accepted in any case.
    pub owner: Option<u32>,
}

impl CheckPlan {
    /// Makes the plan from these arguments, and from the variable `ELECT_LEASE`.
    ///
    /// # Errors
    /// [`ConfigError::NoLease`] outside any `elect run`.
    pub fn new(args: &CheckArgs) -> Result<Self, ConfigError> {
        let ours = || env::var_os(LEASE).filter(|path| !path.is_empty());
        let lease = args.lease_file.clone().or_else(|| ours().map(PathBuf::from));
        Ok(Self {
            remaining: args.remaining.unwrap_or_default(),
            lease: lease.ok_or(ConfigError::NoLease)?,
            owner: args.lease_owner,
        })
    }
}

/// The plan of `elect redeem`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedeemPlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election that the ticket is for.
    pub election: ElectionName,
    /// The ticket of the entry to give up.
    pub ticket: Ticket,
}

impl RedeemPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong.
    pub fn new(args: RedeemArgs) -> Result<Self, ConfigError> {
        stores::find(&args.backend)?;
        let election = parse_election(&args.election)?;
        Ok(Self { backend: args.backend, election, ticket: args.ticket })
    }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use std::time::Duration;

    use nix::sys::signal::Signal;

    use elect_api::{Lease, Profile};

    use super::{ConfigError, RunPlan, Wait};
    use crate::cli::{Command, parse};
    use crate::config::StatusPlan;

    fn run(args: &[&str]) -> Result<RunPlan, ConfigError> {
        match parse(["elect", "run"].iter().chain(args)).unwrap().command {
            Command::Run(args) => RunPlan::new(*args),
            other => panic!("read as {other:?}"),
        }
    }

    fn status(args: &[&str]) -> Result<StatusPlan, ConfigError> {
        match parse(["elect", "status"].iter().chain(args)).unwrap().command {
            Command::Status(args) => StatusPlan::new(args),
            other => panic!("read as {other:?}"),
        }
    }

    #[test]
    fn the_default_plan() {
        let plan = run(&["./job", "-x"]).unwrap();
        assert_eq!(plan.campaign.election.as_str(), "job");
        assert!(plan.named_after_command);
        assert_eq!((plan.wait(), plan.flags.conflict_exit_code), (Wait::Forever, 75));
        assert_eq!((plan.flags.signal, plan.flags.kill_grace), (Signal::SIGTERM, None));
        assert_eq!(plan.command, ["./job", "-x"]);
    }

    #[test]
    fn a_plan_as_asked_for() {
        let plan = run(&[
            "-e", "nightly", "-w", "5", "--id", "me", "-s", "usr1", "-k", "3s", "sh", "-c", ":",
        ])
        .unwrap();
        assert_eq!((plan.campaign.election.as_str(), plan.named_after_command), ("nightly", false));
        assert_eq!(plan.wait(), Wait::For(Duration::from_secs(5)));
        assert_eq!(
            (plan.flags.signal, plan.flags.kill_grace),
            (Signal::SIGUSR1, Some(Duration::from_secs(3)))
        );
        assert_eq!(run(&["-n", "job"]).unwrap().wait(), Wait::No);
    }

    #[test]
    fn what_means_nothing_where_an_election_is_divided_is_refused() {
        use elect_api::Division;
        assert_eq!(run(&["--slots", "3", "job"]).unwrap().campaign.division, Division::Slots(3));
        assert_eq!(run(&["--shards", "8", "job"]).unwrap().campaign.division, Division::Shards(8));
        // A configuration file can hold both flags, which the grammar does not see.
        let mut given = parse(["elect", "run", "--shards", "8", "job"]).unwrap();
        let Command::Run(args) = &mut given.command else { panic!("not read as a run") };
        args.flags.hold = Some(Duration::from_secs(1));
        let Command::Run(args) = given.command else { panic!("not read as a run") };
        let refusal = RunPlan::new(*args).unwrap_err();
        assert_eq!(refusal.to_string(), "--hold and --shards exclude each other");
    }

    #[test]
    fn leases_without_limit_take_no_flags_about_time() {
        let store = |lease| Profile::new("some", "some:".into(), lease, elect_api::Order::Queue);
        let timed = Lease::Timed(elect_api::Cadence::LEASE);
        let timing = |args: &[&str], lease| run(args).unwrap().campaign.timing(&store(lease), None);
        assert_eq!(timing(&["--ttl", "30s", "job"], timed).unwrap().window().as_secs(), 30);
        let refusal = timing(&["--ttl", "30s", "job"], Lease::Unlimited).unwrap_err();
        assert!(refusal.to_string().contains("--ttl"), "{refusal}");
        let drifting = ["--max-clock-drift", "5%", "job"];
        assert_eq!(timing(&drifting, timed).unwrap().window().as_secs(), 15);
        assert!(timing(&drifting, Lease::Unlimited).is_err());
        assert!(timing(&["job"], Lease::Unlimited).is_ok());
    }

    #[test]
    fn candidates_of_one_plan_differ() {
        let plan = run(&["--id", "me", "/bin/job", "secret"]).unwrap();
        let (one, two) = (plan.campaign.candidate(7, "scan"), plan.campaign.candidate(7, "scan"));
        assert!(one.id.starts_with("me-") && one.id != two.id);
        assert_eq!(
            (one.pid, one.command.as_str(), one.containment.as_str()),
            (7, "/bin/job", "scan")
        );
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(matches!(run(&["sh"]), Err(ConfigError::NamedAfterRunner(_))));
        assert!(matches!(run(&["-e", "0", "job"]), Err(ConfigError::Election { .. })));
        assert!(matches!(run(&["--id", "a b", "job"]), Err(ConfigError::Label(_))));
        assert!(matches!(run(&["-b", "nowhere://", "job"]), Err(ConfigError::Url(_))));
        assert!(matches!(status(&["-b", "nowhere"]), Err(ConfigError::Url(_))));
        assert!(matches!(status(&["good", "../bad"]), Err(ConfigError::Election { .. })));
    }
}
