//! Turns arguments into one validated plan for each subcommand.
//!
//! These files read the environment, the configuration file and the host's name. For checks and hints they also look
//! at programs, crontabs and units. URLs become stores here, but no request is sent. Nothing is written, except by
//! `elect config set`.

mod campaign;
mod conflicts;
mod data;
mod elsewhere;
mod error;
mod file;
mod inspecting;
mod naming;
mod plan;
mod pod_label;
mod programs;
mod steering;
pub mod variables;

pub use crate::cli::{
    AfterLoss, CommandLine, Containment, Goal, HealthUrl, ListenAddress, LogFormat, OutputFormat,
    Period, Preference, Strays,
};
pub(crate) use crate::identity::label_of;
pub use crate::identity::{candidate_id, host_name, is_known_as};
pub use crate::stores::{BackendUrl, connect};
pub use campaign::{CampaignPlan, HealthPlan, HookPlan, SidecarPlan, Verbosity, queues};
pub use conflicts::{check_sidecar, resolve_run};
pub use data::{FencePlan, GetPlan, PutPlan, has_store_of_leader};
pub use elsewhere::{Elsewhere, elsewhere};
pub use error::ConfigError;
#[cfg(feature = "fuzzing")]
pub use file::check_text;
pub use file::{
    ConfigFile, NO_FILE, SearchPath, over_chosen, over_file, own_file, read_file, search_path,
    set_in_file,
};
pub use inspecting::{Done, DonePlan, HistoryPlan, ObservePlan, StatusPlan, Target, WaitPlan};
pub use naming::SCRATCH_PREFIX;
pub(crate) use naming::is_scratch;
pub use plan::{CheckPlan, RedeemPlan, RunPlan, Wait, election_of_run};
pub use pod_label::{PodLabel, pod_label};
pub use steering::{AskPlan, Force, ForgetPlan, PausePlan, PriorityPlan, ResignPlan};
pub use variables::misspelt_variables;
pub(crate) use variables::nearest_names;
