//! From arguments to one validated plan for each subcommand.
//!
//! The environment, the configuration file and the host's name are read here; no store is opened and
//! nothing is written.

mod campaign;
mod division;
mod doctor;
mod error;
mod file;
mod health;
mod hooks;
mod identity;
mod kv;
mod looking;
mod naming;
pub mod nesting;
mod parts;
mod plan;
mod selftest;
mod sidecar;
mod spelling;
mod steering;
mod stores;

pub use crate::cli::Preference;
pub use crate::cli::{
    AfterLoss, BackendUrl, CommandLine, Containment, Goal, HealthUrl, LONGEST_TTL, Leftover,
    ListenAddress, LogFormat, OutputFormat,
};
pub use campaign::{CampaignPlan, queues};
pub use doctor::DoctorPlan;
pub use error::ConfigError;
#[cfg(feature = "fuzzing")]
pub use file::check_text;
pub use file::{ConfigFile, NO_FILE, Places, over_chosen, over_file, places, read_file};
pub use health::HealthPlan;
pub use hooks::HookPlan;
pub use identity::{candidate_id, host_name, is_known_as};
pub(crate) use identity::{label, label_of_host};
pub use kv::{FencePlan, GetPlan, PutPlan};
pub use looking::{HistoryPlan, ObservePlan, StatusPlan, WaitPlan};
pub use parts::{settle_run, settle_sidecar};
pub(crate) use plan::parse_election;
pub use plan::{CheckPlan, RedeemPlan, RunPlan, Verbosity, Wait};
pub use selftest::SelftestPlan;
pub use sidecar::SidecarPlan;
pub use spelling::misspelt_variables;
pub use steering::{AskPlan, Force, PriorityPlan, ResignPlan, ResumePlan};
pub use stores::{connect, schemes};
