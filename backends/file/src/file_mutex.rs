use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use elect_api::{Error, ErrorKind};
use tokio::sync::oneshot;

use crate::election_dir::ElectionDir;
use crate::error::{failed, wrong};
use crate::lock;
use crate::trust::FileId;
use crate::watch::spawn;

/// A mutex between processes: the lock of one file. Newcomers hold the lock of `enter` for some system calls. Writers
/// of the control cell, of fences and of values hold the lock of `order`, `fence` or `value`.
///
/// The holder may be stopped or very slow. Then a thread sleeps on the lock, and the caller may drop its future. The
/// thread then releases the lock as soon as it gets it. There is at most one such thread.
#[derive(Default)]
pub(crate) struct FileMutex {
    knocking: Option<(FileId, Arc<Mutex<Bell>>)>,
}

#[derive(Default)]
struct Bell {
    /// The receiver of the lock, if a caller waits at present.
    wanted: Option<oneshot::Sender<Passed>>,
    /// Whether the thread has finished.
    answered: bool,
}

type Passed = nix::Result<File>;

impl FileMutex {
    /// Waits for the lock of the file of this name. Returns the locked file and the directory. Closing the file
    /// releases the lock.
    pub(crate) async fn enter(
        &mut self,
        dir: ElectionDir,
        name: &str,
    ) -> Result<(ElectionDir, File), Error> {
        let path = dir.path_of(name);
        let (file, id) = dir.file(name)?;
        let passed = self.pass(file, id, &path).await?;
        if dir.leads_to(&path, id)? {
            return Ok((dir, passed));
        }
        let what = "was replaced meanwhile: trying again helps";
        Err(wrong(ErrorKind::Unreachable, &path, what))
    }

    async fn pass(&mut self, file: File, id: FileId, path: &Path) -> Result<File, Error> {
        if lock::try_write(&file).map_err(|errno| failed("lock", path, errno))? {
            return Ok(file);
        }
        let answer = self.knock(file, id)?.await;
        let passed = answer.map_err(|_| {
            wrong(ErrorKind::Unreachable, path, "was given up by the thread that waits for it")
        })?;
        passed.map_err(|errno| failed("lock", path, errno))
    }

    fn knock(&mut self, file: File, id: FileId) -> Result<oneshot::Receiver<Passed>, Error> {
        let (wanted, answer) = oneshot::channel();
        if let Some((_, bell)) = self.knocking.as_ref().filter(|(known, _)| *known == id) {
            let mut bell = ring(bell);
            if !bell.answered {
                bell.wanted = Some(wanted);
                return Ok(answer);
            }
        }
        let bell = Arc::new(Mutex::new(Bell { wanted: Some(wanted), answered: false }));
        let shared = Arc::clone(&bell);
        spawn("elect-enter", move || {
            let passed = lock::wait_write(&file).map(|()| file);
            let mut bell = ring(&shared);
            bell.answered = true;
            if let Some(wanted) = bell.wanted.take() {
                // If the future was dropped, the file comes back here and is closed.
                let _ = wanted.send(passed);
            }
        })?;
        self.knocking = Some((id, bell));
        Ok(answer)
    }
}

fn ring(bell: &Mutex<Bell>) -> MutexGuard<'_, Bell> {
    bell.lock().unwrap_or_else(PoisonError::into_inner)
}
