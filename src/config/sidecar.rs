use std::time::Duration;

use super::plan::parse_election;
use super::{CampaignPlan, ConfigError};
use crate::cli::{CommandLine, HealthUrl, SidecarArgs};

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

/// How an application is known to be well. Without URL and command it always is.
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

impl SidecarPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: SidecarArgs) -> Result<Self, ConfigError> {
        let election = args.campaign.election.as_deref().ok_or(ConfigError::Unnamed)?;
        let election = parse_election(election)?;
        let command = COMMAND.to_owned();
        let campaign = CampaignPlan::new(args.campaign, args.log, election, args.grace, command)?;
        let health = HealthPlan {
            url: args.health.health_http,
            command: args.health.health_cmd,
            interval: args.health.health_interval,
            timeout: args.health.health_timeout,
            threshold: args.health.health_threshold,
        };
        Ok(Self { campaign, health })
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
