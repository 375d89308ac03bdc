//! The shared parts of the transcripts of usage.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use elect_testkit::program::{is_alive, line_of, link_or_copy, name};

use crate::prelude::*;

/// A script that says it runs, and goes on until it is ended.
pub(crate) const STAY: &str = "echo $$ >\"$D/started\"; exec sleep 3600";

impl Ground {
    /// `elect run` in the election "job", whose command finds the test's folder as `$D`.
    pub(crate) fn job(&self) -> Elect {
        self.run().env("D", self.path())
    }

    /// Waits until the command has written a line to this file, and returns it.
    #[track_caller]
    pub(crate) fn said(&self, file: &str) -> String {
        line_of(&self.path().join(file)).trim_end().to_owned()
    }

    /// Returns true if there is such a file.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.path().join(file).exists()
    }

    /// A leader whose command runs until it is ended.
    #[track_caller]
    pub(crate) fn leader(&self) -> Running {
        let leader = self.job().sh(STAY).spawn();
        self.said("started");
        leader
    }

    /// Returns the report of `elect status -o json` on the election "job".
    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        let ended = self.elect("status").args(["-o", "json", "job"]).run();
        assert!(ended.code() <= 1, "{ended:?}");
        let mut report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        report["elections"][0].take()
    }

    /// Waits until so many candidates wait for the election "job".
    #[track_caller]
    pub(crate) fn awaits(&self, waiters: usize) {
        eventually(&format!("{waiters} waiters"), || {
            (self.status()["waiting"].as_array().expect("a list").len() == waiters).then_some(())
        });
    }

    /// Waits until the election has neither a leader nor a waiter nor an entry in the queue.
    #[track_caller]
    pub(crate) fn is_left_empty(&self) {
        eventually("an empty queue", || {
            let status = self.status();
            let empty = status["leader"].is_null() && status["waiting"] == serde_json::json!([]);
            (empty && self.queue().is_empty()).then_some(())
        });
    }

    /// The files in the queue of the election "job", in order.
    pub(crate) fn queue(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state().join("job/queue")).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }
}

/// An ordinary user with a number and a copy of the program of its own.
pub(crate) struct User {
    pub(crate) id: u32,
    folder: TempDir,
}

/// A user that no account belongs to; a different one for each test process, as some limits count
/// all that a user has.
pub(crate) fn other_user() -> User {
    let folder = TempDir::new().expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our own");
    let copy = folder.path().join("elect");
    link_or_copy(ELECT.as_ref(), &copy);
    User { id: 2_000_000 + std::process::id(), folder }
}

impl User {
    /// `elect`, without any argument, run by this user. More programs in front of it come first.
    pub(crate) fn elect(&self) -> Elect {
        let id = self.id.to_string();
        Elect::new("setpriv")
            .args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"])
            .arg(self.program())
    }

    /// The program as this user may execute it.
    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().join("elect")
    }

    /// Waits until no process of this user has a name with this in it.
    #[track_caller]
    pub(crate) fn has_no_process_of(&self, part: &str) {
        eventually(&format!("the end of every {part} of the user {}", self.id), || {
            let processes = fs::read_dir("/proc").ok()?.flatten();
            let own = processes
                .filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == self.id))
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
                .filter(|&pid| is_alive(pid))
                .filter_map(name);
            (!own.into_iter().any(|name| name.contains(part))).then_some(())
        });
    }
}

/// Waits until a candidate leads the election "job".
#[track_caller]
pub(crate) fn led(ground: &Ground) {
    eventually("a leader", || (!ground.status()["leader"].is_null()).then_some(()));
}
