use super::{BackendUrl, ConfigError, OutputFormat, stores};
use crate::cli::DoctorArgs;

/// What `elect doctor` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorPlan {
    /// The store to examine.
    pub backend: BackendUrl,
    /// The form of the report.
    pub output: OutputFormat,
}

impl DoctorPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: DoctorArgs) -> Result<Self, ConfigError> {
        stores::check(&args.backend)?;
        Ok(Self { backend: args.backend, output: args.output })
    }
}
