//! From arguments to one validated plan for each subcommand.
//!
//! The environment and the host's name are read here; no store is opened and nothing is written.

mod error;
mod identity;
mod naming;
mod plan;
mod stores;

pub use crate::cli::{AfterLoss, BackendUrl, Leftover, ListenAddress, LogFormat, OutputFormat};
pub use error::ConfigError;
pub use identity::{candidate_id, host_name};
pub use plan::{CheckPlan, RedeemPlan, RunPlan, StatusPlan, Verbosity, Wait};
pub use stores::{connect, schemes};
