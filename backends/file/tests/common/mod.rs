//! The test bench of the local disk.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Store};
use elect_testkit::{Bench, Stall};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use tempfile::TempDir;

/// A directory for one test, which is removed with it.
pub(crate) struct FileBench {
    directory: TempDir,
    time: AtomicU64,
}

impl FileBench {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
            time: AtomicU64::new(0),
        }
    }

    /// The root of the store. It does not exist at first.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// A path in the directory of an election.
    pub(crate) fn path(&self, election: &ElectionName, below: &str) -> PathBuf {
        self.root().join(election.as_str()).join(below)
    }
}

#[async_trait]
impl Bench for FileBench {
    async fn connect(&self) -> Box<dyn Store> {
        elect_file::connect(&format!("file://{}", self.root().display())).expect("a good URL")
    }

    fn now(&self) -> Boottime {
        Boottime::from_boot(Duration::from_secs(self.time.fetch_add(1, Ordering::Relaxed)))
    }

    async fn advance(&self, span: Duration) {
        self.time.fetch_add(span.as_secs(), Ordering::Relaxed);
    }

    async fn wipe(&self, election: &ElectionName) {
        fs::remove_dir_all(self.path(election, "")).expect("it is empty");
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        fs::remove_file(entry_of(&self.path(election, "queue"), candidate))
            .expect("the entry is there");
    }

    async fn stall(&self, election: &ElectionName) -> Stall {
        fs::create_dir_all(self.path(election, "")).expect("a directory");
        Box::new(hold(&self.path(election, "enter")))
    }
}

/// The candidate's file in the queue.
pub(crate) fn entry_of(queue: &Path, candidate: &Candidate) -> PathBuf {
    let id = serde_json::to_string(&candidate.id).expect("an id");
    let entries =
        fs::read_dir(queue).expect("a queue").map(|entry| entry.expect("an entry").path());
    let ours = |path: &PathBuf| {
        fs::read_to_string(path).is_ok_and(|text| text.contains(&format!("\"id\":{id}")))
    };
    entries.into_iter().find(ours).expect("an entry of this candidate")
}

/// Locks a file as another process would, until the returned file is closed.
pub(crate) fn hold(path: &Path) -> File {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .expect("a file");
    let lock = libc::flock {
        l_type: libc::c_short::try_from(libc::F_WRLCK).expect("a small number"),
        l_whence: 0,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)).expect("a free lock");
    file
}
