use std::env;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::campaign::parse_election;
use super::conflicts::division;
use super::variables::LEASE;
use super::{
    AfterLoss, BackendUrl, CampaignPlan, ConfigError, Containment, HealthPlan, Period, is_scratch,
    naming,
};
use crate::cli::{
    CheckArgs, LeftoverChoice, RedeemArgs, Restart, RestartArgs, RunArgs, Strays, strays,
};
pub use crate::election::machine::Wait;
use crate::election::machine::{Counting, Restarts, Rules};
use crate::stores;
use elect_api::{ElectionName, Ticket, Work};

/// The plan of `elect run`, checked as far as possible without opening anything.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// The common part of all candidacies.
    pub campaign: CampaignPlan,
    /// The rules of the candidacy, as far as the plan makes them.
    pub rules: Rules,
    /// Whether the election was named after the command, because `-e` was missing.
    pub named_after_command: bool,
    /// The command and its arguments; never empty.
    pub command: Vec<OsString>,
    /// The words before the command on the command line, if they are known. For hints.
    pub before: Vec<OsString>,
    /// The containment of the command; `None` for the best that changes nothing the command can see.
    pub containment: Option<Containment>,
    /// The weakest containment to accept.
    pub require_containment: Option<Containment>,
    /// The pauses before this process takes part again after its command was not healthy. They are the pauses
    /// after a command that has ended.
    pub relapses: Restarts,
    /// The health checks of the command, if there are any.
    pub health: Option<HealthPlan>,
    /// What happens after the leadership was lost and the command is dead.
    pub after_loss: AfterLoss,
    /// The key of `--once`. With `--once-per`, it is made at the start of the program.
    pub once: Option<String>,
    /// The period that the key of `--once` is made from.
    pub once_per: Option<Period>,
    /// The number of runs that there may be for the key; `None` for any number.
    pub once_attempts: Option<NonZeroU32>,
    /// The exit code without leadership.
    pub conflict_exit_code: u8,
    /// The file for the outcome.
    pub outcome: Option<PathBuf>,
}

/// The election that these arguments name, or that is named after their command; `None` if the name is refused.
pub fn election_of_run(args: &RunArgs) -> Option<ElectionName> {
    match &args.campaign.election {
        Some(name) => name.parse().ok(),
        None => naming::name_after(args.command.first()?).ok(),
    }
}

impl RunPlan {
    /// Makes the plan from these arguments, and from the words that were typed before the command.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: RunArgs, before: Vec<OsString>) -> Result<Self, ConfigError> {
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
        let mut campaign =
            CampaignPlan::new(campaign, election, division, shown, flags.kill_grace)?;
        campaign.candidate.work = Some(Work::new(&command, !named_after_command));
        let RestartArgs { restart, restart_delay, restart_max_delay } = flags.restart;
        let relapses = Restarts {
            after_success: restart == Restart::Always,
            delay: restart_delay,
            longest_delay: restart_max_delay,
        };
        let rules = Rules {
            wait: match (flags.no_wait, flags.wait) {
                (true, _) => Wait::No,
                (false, Some(limit)) => Wait::For(limit),
                (false, None) => Wait::Forever,
            },
            signal: flags.signal as i32,
            stop_timeout: flags.stop_timeout,
            hold: flags.hold,
            max_run: flags.max_run,
            restarts: (restart != Restart::Never).then_some(relapses),
            once: flags.once.is_some() || flags.once_per.is_some(),
            counting: flags.once_attempts.map_or(Counting::Off, |_| Counting::BeforeStart),
            leftover_grace: (flags.leftover == LeftoverChoice::Kill)
                .then_some(flags.leftover_grace),
            keeps_history: !is_scratch(&campaign.election),
            ..campaign.rules()
        };
        Ok(Self {
            campaign,
            rules,
            named_after_command,
            command,
            before,
            containment: flags.containment.tier(),
            require_containment: flags.require_containment,
            relapses,
            health: HealthPlan::new(flags.health),
            after_loss: flags.after_loss,
            once: flags.once,
            once_per: flags.once_per,
            once_attempts: flags.once_attempts,
            conflict_exit_code: flags.conflict_exit_code,
            outcome: flags.outcome,
        })
    }

    /// The flags of elect that stand after the command; short ones too, if asked `with_letters`.
    pub fn strays(&self, with_letters: bool) -> Strays {
        strays(&self.before, &self.command, with_letters)
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
            Command::Run(args) => RunPlan::new(*args, Vec::new()),
            other => panic!("read as {other:?}"),
        }
    }

    fn status(args: &[&str]) -> Result<StatusPlan, ConfigError> {
        match parse(["elect", "status"].iter().chain(args)).unwrap().command {
            Command::Status(args) => StatusPlan::new(args),
            other => panic!("read as {other:?}"),
        }
    }

    const TIMED: Lease = Lease::Timed(elect_api::Cadence::LEASE);

    fn store(lease: Lease) -> Profile {
        Profile::new("some", "some:".into(), lease, elect_api::Order::Queue)
    }

    #[test]
    fn the_default_plan() {
        let plan = run(&["./job", "-x"]).unwrap();
        assert_eq!(plan.campaign.election.as_str(), "job");
        assert!(plan.named_after_command);
        assert_eq!((plan.rules.wait, plan.conflict_exit_code), (Wait::Forever, 75));
        assert_eq!(plan.rules.signal, Signal::SIGTERM as i32);
        assert_eq!(plan.command, ["./job", "-x"]);
    }

    #[test]
    fn a_plan_as_asked_for() {
        let plan = run(&[
            "-e", "nightly", "-w", "5", "--id", "me", "-s", "usr1", "-k", "3s", "sh", "-c", ":",
        ])
        .unwrap();
        assert_eq!((plan.campaign.election.as_str(), plan.named_after_command), ("nightly", false));
        assert_eq!(plan.rules.wait, Wait::For(Duration::from_secs(5)));
        assert_eq!(plan.rules.signal, Signal::SIGUSR1 as i32);
        let grace = plan.campaign.timing(&store(TIMED)).unwrap().kill_grace;
        assert_eq!(grace, Duration::from_secs(3));
        assert_eq!(run(&["-n", "job"]).unwrap().rules.wait, Wait::No);
    }

    #[test]
    fn flags_without_meaning_in_a_divided_election_are_refused() {
        use elect_api::Division;
        assert_eq!(
            run(&["--slots", "3", "job"]).unwrap().campaign.candidate.division,
            Division::Slots(3)
        );
        assert_eq!(
            run(&["--shards", "8", "job"]).unwrap().campaign.candidate.division,
            Division::Shards(8)
        );
        // A configuration file can hold both flags, which the grammar does not see.
        let mut given = parse(["elect", "run", "--shards", "8", "job"]).unwrap();
        let Command::Run(args) = &mut given.command else { panic!("not read as a run") };
        args.flags.hold = Some(Duration::from_secs(1));
        let Command::Run(args) = given.command else { panic!("not read as a run") };
        let refusal = RunPlan::new(*args, Vec::new()).unwrap_err();
        assert_eq!(refusal.to_string(), "--hold and --shards exclude each other");
    }

    #[test]
    fn leases_without_limit_take_no_flags_about_time() {
        let timing = |args: &[&str], lease| run(args).unwrap().campaign.timing(&store(lease));
        assert_eq!(timing(&["--ttl", "30s", "job"], TIMED).unwrap().window().as_secs(), 30);
        let refusal = timing(&["--ttl", "30s", "job"], Lease::Unlimited).unwrap_err();
        assert!(refusal.to_string().contains("--ttl"), "{refusal}");
        let drifting = ["--max-clock-drift", "5%", "job"];
        assert_eq!(timing(&drifting, TIMED).unwrap().window().as_secs(), 15);
        assert!(timing(&drifting, Lease::Unlimited).is_err());
        assert!(timing(&["job"], Lease::Unlimited).is_ok());
    }

    #[test]
    fn without_a_ttl_the_store_has_its_own() {
        let usual_ttl = Duration::from_secs(60);
        let billed = Profile { usual_ttl, ..store(TIMED) };
        let window = |args: &[&str]| run(args).unwrap().campaign.timing(&billed).unwrap().window();
        assert_eq!(window(&["job"]), usual_ttl);
        assert_eq!(window(&["--ttl", "15s", "job"]).as_secs(), 15);
    }

    #[test]
    fn candidates_of_equal_plans_differ() {
        let candidate =
            || run(&["--id", "me", "/bin/job", "secret"]).unwrap().campaign.candidate("scan");
        let (one, two) = (candidate(), candidate());
        assert!(one.id.starts_with("me-") && one.id != two.id);
        assert_eq!((one.command.as_str(), one.containment.as_str()), ("/bin/job", "scan"));
    }

    #[test]
    fn a_plan_that_cannot_work_is_refused() {
        assert!(matches!(run(&["sh"]), Err(ConfigError::NamedAfterRunner(_))));
        assert!(matches!(run(&["-e", "0", "job"]), Err(ConfigError::Election { .. })));
        assert!(matches!(run(&["--id", "a b", "job"]), Err(ConfigError::Label(_))));
        assert!(matches!(run(&["-b", "nowhere://", "job"]), Err(ConfigError::Url(_))));
        assert!(matches!(status(&["-b", "nowhere"]), Err(ConfigError::Url(_))));
        assert!(matches!(status(&["good", "../bad"]), Err(ConfigError::Election { .. })));
    }
}
