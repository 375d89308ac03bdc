//! Leadership as it is posted in the file of `--lease-file`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use elect_api::{Boottime, Token};

use crate::config::CampaignPlan;
use crate::guard::{LeaseFile, Order};
use crate::report::Log;

/// The file, as long as it can be written: without its writer it says nothing any more.
///
/// It says until when what leads may go on, whoever that is and whoever makes it end.
pub(in crate::command) struct Poster {
    file: Option<LeaseFile>,
    log: Log,
    hard: Option<Boottime>,
    kill_at: Option<Boottime>,
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
        let file = plan.flags.lease_file.as_ref().map(open).transpose()?;
        Ok(Self { file, log: log.clone(), hard: None, kill_at: None })
    }

    /// What leads with this token was started.
    pub(in crate::command) fn begin(&mut self, token: Token) {
        let until = self.until();
        self.post(|file| file.begin(token, until));
    }

    /// Something was asked of what leads.
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

    /// Nothing leads any more, or is to think so.
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

/// Whether there is such a folder; the one of a name alone is where we are.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.is_dir()
}
