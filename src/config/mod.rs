//! Turns arguments into one validated plan for each subcommand.
//!
//! These files read the environment, the configuration file and the host's name. For checks and hints they also look
//! at programs, crontabs and units. URLs become stores here, but no request is sent. Nothing is written, except by
//! `elect config set`.

mod campaign;
mod conflicts;
mod elsewhere;
mod error;
mod file;
mod kv;
mod looking;
mod naming;
mod plan;
mod programs;
mod simulation;
mod steering;
mod stores;
pub mod variables;

pub use crate::cli::{
    AfterLoss, BackendUrl, CommandLine, Containment, Goal, HealthArgs, HealthUrl, HookArgs,
    LONGEST_TTL, LeftoverChoice, ListenAddress, LogFormat, OutputFormat, Period, Preference,
};
pub(crate) use campaign::parse_election;
pub use campaign::{CampaignPlan, SidecarPlan, Verbosity, queues};
pub use conflicts::{settle_run, settle_sidecar};
pub use elsewhere::{Elsewhere, elsewhere};
pub use error::ConfigError;
#[cfg(feature = "fuzzing")]
pub use file::check_text;
pub use file::{
    ConfigFile, NO_FILE, Places, over_chosen, over_file, own_file, places, read_file, set_in_file,
};
pub use kv::{FencePlan, GetPlan, PutPlan};
pub use looking::{Done, DonePlan, HistoryPlan, ObservePlan, StatusPlan, Target, WaitPlan};
pub use naming::{candidate_id, host_name, is_known_as};
pub(crate) use naming::{label, label_of, label_of_host};
pub use plan::{CheckPlan, RedeemPlan, RunPlan, Wait, election_of_run};
pub use simulation::{
    Cast, Leased, Peace, between_those, has_unicode, leases, leases_on, share, store,
};
pub use steering::{AskPlan, Force, ForgetPlan, PauseEnd, PausePlan, PriorityPlan, ResignPlan};
pub use stores::{PodLabel, connect, pod_label, schemes};
pub use variables::misspelt_variables;
pub(crate) use variables::nearest_names;
