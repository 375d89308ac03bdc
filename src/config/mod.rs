//! From arguments to one validated plan for each subcommand.
//!
//! The environment, the configuration file and the host's name are read here; no store is opened and
//! nothing is written.

mod campaign;
mod error;
mod file;
mod identity;
mod naming;
pub mod nesting;
mod plan;
mod sidecar;
mod spelling;
mod stores;

pub use crate::cli::{
    AfterLoss, BackendUrl, HealthCommand, HealthUrl, Leftover, ListenAddress, LogFormat,
    OutputFormat,
};
pub use campaign::CampaignPlan;
pub use error::ConfigError;
pub use file::{ConfigFile, Places, over_chosen, over_file, places, read_file};
pub use identity::{candidate_id, host_name};
pub use plan::{CheckPlan, RedeemPlan, RunPlan, SelftestPlan, StatusPlan, Verbosity, Wait};
pub use sidecar::{HealthPlan, SidecarPlan};
pub use spelling::misspelt_variables;
pub use stores::{connect, schemes};
