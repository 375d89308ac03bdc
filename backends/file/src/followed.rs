//! What people ask of an election, as a seat follows it.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::{Cell, ElectionName, Error, Versioned, Wake, never};
use tokio::time::sleep;

use crate::atomic_file::LookOut;
use crate::cells;
use crate::election_dir::{ElectionDir, ORDERS};
use crate::root::Root;
use crate::trust::FileId;

/// How long there has to be nothing to do before a look-out is started: to be rid of one costs more time than
/// the shortest commands take, and a refresh before it finds the orders without one.
const CALM: Duration = Duration::from_millis(500);

/// The control cell of an election, as a seat has it.
pub(crate) struct Followed {
    root: Root,
    election: ElectionName,
    control: Versioned,
    /// What was read last. It is held open, so that no other file can have its number.
    read: Option<(File, FileId)>,
    look_out: Arc<Mutex<Option<LookOut>>>,
}

impl Followed {
    pub(crate) fn new(root: Root, election: ElectionName) -> Self {
        Self { root, election, control: Versioned::default(), read: None, look_out: Arc::default() }
    }

    /// As it was found last.
    pub(crate) const fn control(&self) -> &Versioned {
        &self.control
    }

    /// Finds out what it says; reads it only if it is another file.
    pub(crate) fn look(&mut self, dir: &ElectionDir) -> Result<(), Error> {
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
            // What somebody has damaged by hand asks nothing: who wants to change it is told.
            Err(error) if error.is_of_a_text() => {
                self.control = Versioned::default();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Ends when something else is asked.
    pub(crate) fn wake(&self) -> Wake {
        if let Some(wake) = standing(&self.look_out) {
            return wake;
        }
        let (root, election) = (self.root.clone(), self.election.clone());
        let (look_out, known) = (Arc::clone(&self.look_out), self.control.version);
        Box::pin(async move {
            sleep(CALM).await;
            *lock(&look_out) = start(&root, &election);
            // Where there is none the next refresh has to do.
            let wake = standing(&look_out).unwrap_or_else(never);
            // It may have been written before it stood.
            if cells::read(&root, &election, Cell::Control).is_ok_and(|now| now.version == known) {
                wake.await;
            }
        })
    }
}

/// The wake of the look-out, if there is one that still sleeps.
fn standing(look_out: &Mutex<Option<LookOut>>) -> Option<Wake> {
    lock(look_out).as_ref().filter(|it| it.is_on(ORDERS)).map(LookOut::wake)
}

fn lock(look_out: &Mutex<Option<LookOut>>) -> MutexGuard<'_, Option<LookOut>> {
    look_out.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(root: &Root, election: &ElectionName) -> Option<LookOut> {
    LookOut::start(&root.path.join(election.as_str()), ORDERS.to_owned()).ok().flatten()
}
