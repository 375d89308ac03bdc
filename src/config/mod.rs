//! From arguments to one validated plan for each subcommand.
//!
//! The environment and the host's name are read here; no store is opened and nothing is written.

mod campaign;
mod error;
mod identity;
mod naming;
mod plan;
mod sidecar;
mod stores;

pub use crate::cli::{
    AfterLoss, BackendUrl, HealthCommand, HealthUrl, Leftover, ListenAddress, LogFormat,
    OutputFormat,
};
pub use campaign::CampaignPlan;
pub use error::ConfigError;
pub use identity::{candidate_id, host_name};
pub use plan::{CheckPlan, RedeemPlan, RunPlan, StatusPlan, Verbosity, Wait};
pub use sidecar::{HealthPlan, SidecarPlan};
pub use stores::{connect, schemes};
