use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use elect_api::{Candidate, ElectionName, Lease, Profile, Ticket};
use nix::sys::signal::Signal;

use super::identity::{self, host_name};
use super::{
    AfterLoss, BackendUrl, ConfigError, Leftover, ListenAddress, LogFormat, OutputFormat,
    candidate_id, naming, stores,
};
use crate::cli::{CheckArgs, RedeemArgs, RunArgs, StatusArgs};
pub use crate::election::machine::Wait;
use crate::election::timing::Wishes;

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
    pub fn of(args: &RunArgs) -> Self {
        match (args.quiet, args.verbose) {
            (true, _) => Self::Quiet,
            (_, true) => Self::Verbose,
            _ => Self::Normal,
        }
    }
}

/// What `elect run` is to do, checked as far as it can be without opening anything.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election to take part in.
    pub election: ElectionName,
    /// Whether the election was named after the command, for want of `-e`.
    pub named_after_command: bool,
    /// How long to wait for leadership.
    pub wait: Wait,
    /// The exit code when leadership was not acquired. Default 75; 0 is to be silent.
    pub conflict_exit_code: u8,
    /// The length of lease to ask for, 1 s to 24 h; the engine's default if `None`.
    pub ttl: Option<Duration>,
    /// The greatest difference between the rates of this machine's clock and the store's, as a share
    /// of one; the engine's default if `None`.
    pub max_clock_drift: Option<f64>,
    /// What asks the command to stop when the lease is lost. Default TERM.
    pub signal: Signal,
    /// The time between that signal and KILL (G); the engine's default if `None`.
    pub kill_grace: Option<Duration>,
    /// What people know this candidate by: 1 to 64 graphic ASCII characters without `/`.
    pub label: String,
    /// The name of this machine.
    pub host: String,
    /// What happens to processes that the command leaves running.
    pub leftover: Leftover,
    /// The time between the first signal to stop and KILL; `None` is without end.
    pub stop_timeout: Option<Duration>,
    /// How long after the start the lease is kept at least.
    pub hold: Option<Duration>,
    /// What the command does is to be done once, and is known by this: see [`RunArgs::once`].
    pub once: Option<String>,
    /// What happens after leadership was lost.
    pub after_loss: AfterLoss,
    /// Where to write what happened.
    pub outcome: Option<PathBuf>,
    /// Where to show over HTTP how things are.
    pub http: Option<ListenAddress>,
    /// How much elect says.
    pub verbosity: Verbosity,
    /// In which form.
    pub log_format: LogFormat,
    /// The command and its arguments; never empty.
    pub command: Vec<OsString>,
}

impl RunPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: RunArgs) -> Result<Self, ConfigError> {
        let verbosity = Verbosity::of(&args);
        let program = args.command.first().ok_or_else(|| ConfigError::Nameless(String::new()))?;
        let election = match &args.election {
            Some(name) => parse_election(name)?,
            None => naming::name_after(program)?,
        };
        let wait = match (args.no_wait, args.wait) {
            (true, _) => Wait::No,
            (false, Some(limit)) => Wait::For(limit),
            (false, None) => Wait::Forever,
        };
        let host = host_name();
        let label = match args.id {
            Some(label) => identity::label(label)?,
            None => identity::label_of_host(&host),
        };
        stores::check(&args.backend)?;
        Ok(Self {
            backend: args.backend,
            election,
            named_after_command: args.election.is_none(),
            wait,
            conflict_exit_code: args.conflict_exit_code,
            ttl: args.ttl,
            max_clock_drift: args.max_clock_drift,
            signal: args.signal,
            kill_grace: args.kill_grace,
            label,
            host,
            leftover: args.leftover,
            stop_timeout: args.stop_timeout,
            hold: args.hold,
            once: args.once,
            after_loss: args.after_loss,
            outcome: args.outcome,
            http: args.http,
            verbosity,
            log_format: args.log_format,
            command: args.command,
        })
    }

    /// What this plan wants of leases like those of the store. Flags that mean nothing to it are refused.
    ///
    /// # Errors
    /// [`ConfigError::Timeless`] if one was given about the time of leases that have no limit.
    pub fn wishes(&self, profile: &Profile) -> Result<Wishes, ConfigError> {
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
            command: self
                .command
                .first()
                .map(|program| program.to_string_lossy().into_owned())
                .unwrap_or_default(),
            containment: containment.to_owned(),
        }
    }
}

/// What `elect status` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusPlan {
    /// The store that keeps the elections.
    pub backend: BackendUrl,
    /// The elections to look at; all if empty.
    pub elections: Vec<ElectionName>,
    /// The form of the report.
    pub output: OutputFormat,
}

impl StatusPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: StatusArgs) -> Result<Self, ConfigError> {
        let elections =
            args.elections.iter().map(|name| parse_election(name)).collect::<Result<_, _>>()?;
        stores::check(&args.backend)?;
        Ok(Self { backend: args.backend, elections, output: args.output })
    }
}

/// What `elect check` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPlan {
    /// How long the lease must still run. Default 0.
    pub remaining: Duration,
    /// What `ELECT_LEASE` names.
    pub lease: PathBuf,
}

impl CheckPlan {
    /// The plan that these arguments, and the variable `ELECT_LEASE`, ask for.
    ///
    /// # Errors
    /// [`ConfigError::NoLease`] outside any `elect run`.
    pub fn new(args: &CheckArgs) -> Result<Self, ConfigError> {
        let lease = env::var_os("ELECT_LEASE")
            .filter(|path| !path.is_empty())
            .ok_or(ConfigError::NoLease)?;
        Ok(Self { remaining: args.remaining.unwrap_or_default(), lease: lease.into() })
    }
}

/// What `elect redeem` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedeemPlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election that the ticket is for.
    pub election: ElectionName,
    /// What stands for the entry.
    pub ticket: Ticket,
}

impl RedeemPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(args: RedeemArgs) -> Result<Self, ConfigError> {
        stores::check(&args.backend)?;
        let election = parse_election(&args.election)?;
        Ok(Self { backend: args.backend, election, ticket: args.ticket })
    }
}

fn parse_election(name: &str) -> Result<ElectionName, ConfigError> {
    name.parse().map_err(|source| ConfigError::Election { name: name.to_owned(), source })
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use std::time::Duration;

    use nix::sys::signal::Signal;

    use super::{ConfigError, Lease, Profile, RunPlan, StatusPlan, Verbosity, Wait};
    use crate::cli::{Command, parse};

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
        assert_eq!(plan.election.as_str(), "job");
        assert!(plan.named_after_command);
        assert_eq!((plan.wait, plan.conflict_exit_code), (Wait::Forever, 75));
        assert_eq!((plan.signal, plan.kill_grace), (Signal::SIGTERM, None));
        assert_eq!(plan.verbosity, Verbosity::Normal);
        assert_eq!(plan.command, ["./job", "-x"]);
    }

    #[test]
    fn a_plan_as_asked_for() {
        let plan = run(&[
            "-e", "nightly", "-w", "5", "--id", "me", "-v", "-s", "usr1", "-k", "3s", "sh", "-c",
            ":",
        ])
        .unwrap();
        assert_eq!((plan.election.as_str(), plan.named_after_command), ("nightly", false));
        assert_eq!(
            (plan.wait, plan.verbosity),
            (Wait::For(Duration::from_secs(5)), Verbosity::Verbose)
        );
        assert_eq!((plan.signal, plan.kill_grace), (Signal::SIGUSR1, Some(Duration::from_secs(3))));
        assert_eq!(run(&["-n", "job"]).unwrap().wait, Wait::No);
    }

    #[test]
    fn leases_without_limit_take_no_flags_about_time() {
        let store = |lease| Profile {
            scheme: "some",
            location: "some:".into(),
            lease,
            order: elect_api::Order::Queue,
        };
        let cadence = elect_api::Cadence { anchor_lag_48ths: 0, renew_48ths: 8 };
        let timed = Lease::Timed(cadence);
        let plan = run(&["--ttl", "30s", "job"]).unwrap();
        assert_eq!(plan.wishes(&store(timed)).unwrap().ttl, Duration::from_secs(30));
        let refusal = plan.wishes(&store(Lease::Unlimited)).unwrap_err();
        assert!(refusal.to_string().contains("--ttl"), "{refusal}");
        let plan = run(&["--max-clock-drift", "5%", "job"]).unwrap();
        let wishes = plan.wishes(&store(timed)).unwrap();
        assert_eq!((wishes.max_clock_drift, wishes.ttl), (0.05, Duration::from_secs(15)));
        assert!(plan.wishes(&store(Lease::Unlimited)).is_err());
        assert!(run(&["job"]).unwrap().wishes(&store(Lease::Unlimited)).is_ok());
    }

    #[test]
    fn candidates_of_one_plan_differ() {
        let plan = run(&["--id", "me", "/bin/job", "secret"]).unwrap();
        let (one, two) = (plan.candidate(7, "scan"), plan.candidate(7, "scan"));
        assert!(one.id.starts_with("me-") && one.id != two.id);
        assert_eq!(
            (one.pid, one.command.as_str(), one.containment.as_str()),
            (7, "/bin/job", "scan")
        );
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(matches!(run(&["sh"]), Err(ConfigError::Speechless(_))));
        assert!(matches!(run(&["-e", "0", "job"]), Err(ConfigError::Election { .. })));
        assert!(matches!(run(&["--id", "a b", "job"]), Err(ConfigError::Label(_))));
        assert!(matches!(
            run(&["-b", "nowhere://", "job"]),
            Err(ConfigError::UnknownScheme { .. })
        ));
        assert!(matches!(status(&["-b", "nowhere"]), Err(ConfigError::NoScheme(_))));
        assert!(matches!(status(&["good", "../bad"]), Err(ConfigError::Election { .. })));
    }
}
