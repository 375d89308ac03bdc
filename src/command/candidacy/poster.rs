//! Leadership as it is posted in the file of `--lease-file`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::config::CampaignPlan;
use crate::guard::LeaseFile;
use crate::report::Log;

/// The file, as long as it can be written: without its writer it says nothing any more.
pub(in crate::command) struct Poster {
    file: Option<LeaseFile>,
    log: Log,
}

impl Poster {
    /// Makes the file, if there is to be one. Without a command of ours, what leads may act for `grace` after it was
    /// told that it does not.
    ///
    /// # Errors
    /// When it cannot be written, or belongs to another candidate.
    pub(in crate::command) fn of(
        plan: &CampaignPlan,
        grace: Option<Duration>,
        log: &Log,
    ) -> anyhow::Result<Self> {
        let open = |path: &PathBuf| {
            LeaseFile::create(path, grace).with_context(|| {
                match path.parent().filter(|folder| !is_there(folder)) {
                    Some(folder) => format!(
                        "cannot keep the lease in {}: there is no folder {}",
                        path.display(),
                        folder.display()
                    ),
                    None => format!("cannot keep the lease in {}", path.display()),
                }
            })
        };
        let file = plan.lease_file.as_ref().map(open).transpose()?;
        Ok(Self { file, log: log.clone() })
    }

    pub(in crate::command) fn post(
        &mut self,
        write: impl FnOnce(&mut LeaseFile) -> io::Result<()>,
    ) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = write(file) {
            self.log.warn(format_args!("the file of --lease-file is given up: {error}"));
            self.file = None;
        }
    }
}

/// Whether there is such a folder; the one of a name alone is where we are.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.is_dir()
}
