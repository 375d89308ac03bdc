//! The control cell of an election, as a seat follows it.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::{Cell, ElectionName, Error, Versioned, Wake, never};
use tokio::time::sleep;

use crate::atomic_file::FileWatch;
use crate::cells;
use crate::election_dir::{ElectionDir, ORDERS};
use crate::root::Root;
use crate::trust::FileId;

/// The time without any event after which an inotify instance is started. Closing one takes longer than the
/// shortest commands do. A refresh before that finds changes without one.
const CALM: Duration = Duration::from_millis(500);

/// The control cell of an election, as a seat knows it.
pub(crate) struct Followed {
    root: Root,
    election: ElectionName,
    control: Versioned,
    /// The file that was read last. It is held open, so that no other file can get its inode number.
    read: Option<(File, FileId)>,
    watch: Arc<Mutex<Option<FileWatch>>>,
}

impl Followed {
    pub(crate) fn new(root: Root, election: ElectionName) -> Self {
        Self { root, election, control: Versioned::default(), read: None, watch: Arc::default() }
    }

    /// The content at the last refresh.
    pub(crate) const fn control(&self) -> &Versioned {
        &self.control
    }

    /// Reads the cell again if it is another file than before.
    pub(crate) fn refresh(&mut self, dir: &ElectionDir) -> Result<(), Error> {
        let id = dir.id_of(ORDERS)?;
        if id.is_some() && id == self.read.as_ref().map(|(_, id)| *id) {
            return Ok(());
        }
        self.read = None;
        if id.is_none() {
            self.control = Versioned::default();
            return Ok(());
        }
        match cells::open(dir, Cell::Control) {
            Ok((control, read)) => {
                (self.control, self.read) = (control, read);
                Ok(())
            }
            // A cell that was damaged by hand counts as empty. A writer of the cell is told of the damage.
            Err(error) if error.is_of_a_text() => {
                self.control = Versioned::default();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Ends when the control cell changes.
    pub(crate) fn wake(&self) -> Wake {
        if let Some(wake) = standing(&self.watch) {
            return wake;
        }
        let (root, election) = (self.root.clone(), self.election.clone());
        let (watch, known) = (Arc::clone(&self.watch), self.control.version);
        Box::pin(async move {
            sleep(CALM).await;
            *lock(&watch) = start(&root, &election);
            // Without an instance the next refresh finds the change.
            let wake = standing(&watch).unwrap_or_else(never);
            // The cell may have been written before the watch began.
            if cells::read(&root, &election, Cell::Control).is_ok_and(|now| now.version == known) {
                wake.await;
            }
        })
    }
}

/// The wake of the watch, if it still sleeps.
fn standing(watch: &Mutex<Option<FileWatch>>) -> Option<Wake> {
    lock(watch).as_ref().filter(|it| it.is_on(ORDERS)).map(FileWatch::wake)
}

fn lock(watch: &Mutex<Option<FileWatch>>) -> MutexGuard<'_, Option<FileWatch>> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(root: &Root, election: &ElectionName) -> Option<FileWatch> {
    FileWatch::start(&root.path.join(election.as_str()), ORDERS.to_owned()).ok().flatten()
}
