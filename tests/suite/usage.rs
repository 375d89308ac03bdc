//! What the transcripts of usage share.

use std::fs;
use std::path::PathBuf;

use elect_testkit::program::{Elect, Running, eventually, line_of};
use serde_json::Value;

use crate::support::Ground;

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

    /// Whether there is such a file.
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

    /// What `elect status -o json` says of the election "job".
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
