use super::plan::parse_election;
use super::{CampaignPlan, ConfigError, HealthPlan};
use crate::cli::SidecarArgs;

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
