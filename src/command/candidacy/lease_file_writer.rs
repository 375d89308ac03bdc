//! Writes the state of the leadership to the file of `--lease-file`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use elect_api::{Boottime, Token};

use crate::config::CampaignPlan;
use crate::guard::{LeaseFile, Order};
use crate::report::Log;

/// The lease file. It is given up at the first failed write, and a file without its writer counts as no leadership.
///
/// The file says until when the leader's application may go on. This holds for a command and for the application of
/// a sidecar, whichever deadline ends it.
pub(in crate::command) struct LeaseFileWriter {
    file: Option<LeaseFile>,
    log: Log,
    hard: Option<Boottime>,
    kill_at: Option<Boottime>,
}

impl LeaseFileWriter {
    /// Creates the file, if the plan asks for one. A sidecar has no command to kill, so its application may act for
    /// `grace` after elect has told it to stop.
    ///
    /// # Errors
    /// The file cannot be written, or belongs to another candidate.
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
        Ok(Self { file, log: log.clone(), hard: None, kill_at: None })
    }

    /// Records that the application was started with this token.
    pub(in crate::command) fn begin(&mut self, token: Token) {
        let until = self.until();
        self.post(|file| file.begin(token, until));
    }

    /// Records the deadline that follows from an order to the application.
    pub(in crate::command) fn ordered(&mut self, order: Order) {
        let kill_at = match order {
            Order::Renewed(deadlines) => {
                self.hard = Some(deadlines.hard);
                None
            }
            Order::Stop { kill_at } => Some(kill_at),
            Order::Ask { kill_at, .. } => kill_at,
            Order::Signal { .. } => None,
            Order::Kill => return self.end(),
        };
        self.kill_at = [self.kill_at, kill_at].into_iter().flatten().min();
        let until = self.until();
        self.post(|file| file.limit(until));
    }

    /// Records that nothing leads any more, or that the application must stop now.
    pub(in crate::command) fn end(&mut self) {
        self.post(LeaseFile::end);
    }

    fn until(&self) -> Option<Boottime> {
        [self.hard, self.kill_at].into_iter().flatten().min()
    }

    fn post(&mut self, write: impl FnOnce(&mut LeaseFile) -> io::Result<()>) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = write(file) {
            self.log.warn(format_args!("the file of --lease-file is given up: {error}"));
            self.file = None;
        }
    }
}

/// Returns whether the folder exists. The folder of a bare file name is empty, and means the working directory.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.is_dir()
}
