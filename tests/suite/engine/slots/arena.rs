use std::ffi::OsString;
use std::fmt::Write as _;

use elect_testkit::oracle::Run;

use crate::prelude::*;
use crate::store::real::{Brand, Home};

pub(crate) const SLOTS: usize = 3;

/// The election "job" with [`SLOTS`] slots, and an oracle for each of them.
pub(crate) struct SlotsArena {
    folder: TempDir,
    home: Option<Home>,
    pub(crate) oracles: Vec<Oracle>,
}

impl SlotsArena {
    /// On the local disk, for `None`.
    pub(crate) fn on(brand: Option<Brand>) -> Self {
        Self::with(brand.map(Home::usual))
    }

    /// Returns an arena whose leases last so long that none ends, and none is renewed, while the test looks.
    pub(crate) fn slow(brand: Option<Brand>) -> Self {
        Self::with(brand.map(Home::slow))
    }

    fn with(home: Option<Home>) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self { folder, home, oracles: (0..SLOTS).map(|_| Oracle::new()).collect() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) const fn is_local(&self) -> bool {
        self.home.is_none()
    }

    pub(crate) fn elect(&self, subcommand: &str) -> Elect {
        let url = match &self.home {
            None => format!("file://{}", self.folder.path().join("state").display()),
            Some(home) => home.url(),
        };
        Elect::new(ELECT).args([subcommand, "-b", &url])
    }

    /// A candidate whose command stamps with the oracle of its slot. `ttl` counts where leases end by time.
    pub(crate) fn candidate(
        &self,
        tag: &str,
        ttl: &str,
        shape: impl Fn(Stamper) -> Stamper,
    ) -> Elect {
        let mut script = "case $ELECT_SLOT in\n".to_owned();
        for (slot, oracle) in self.oracles.iter().enumerate() {
            let words = shape(oracle.stamper(tag)).command();
            let words: Vec<String> = words.into_iter().map(quoted).collect();
            // A string takes all.
            let _ = writeln!(script, "{slot}) exec {} ;;", words.join(" "));
        }
        script.push_str("esac; exit 9");
        let run = self.elect("run").args(["-e", "job", "--id", tag, "--slots", "3"]);
        let run = if self.is_local() { run } else { run.args(["--ttl", ttl]) };
        run.sh(&script)
    }

    /// The slot in which a command with this tag runs now, and the run.
    pub(crate) fn run_of(&self, tag: &str) -> Option<(usize, Run)> {
        let newest = |(slot, oracle): (usize, &Oracle)| Some((slot, oracle.newest(tag)?));
        let mut runs = self.oracles.iter().enumerate().filter_map(newest);
        runs.find(|(_, run)| run.is_complete() && run.is_alive())
    }

    #[track_caller]
    pub(crate) fn wait_for_run(&self, tag: &str) -> (usize, Run) {
        eventually(&format!("{tag} to lead in a slot"), || self.run_of(tag))
    }

    /// Returns the number of commands that have been started.
    pub(crate) fn started(&self) -> usize {
        self.oracles.iter().map(|oracle| oracle.verdict().runs.len()).sum()
    }

    /// Returns the candidates at the door, the next one first.
    pub(crate) fn queue(&self) -> Vec<String> {
        let ended = self.elect("status").args(["-o", "json", "job"]).run();
        let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        let all = report["elections"].as_array().cloned().unwrap_or_default();
        let Some(job) = all.iter().find(|election| election["election"] == "job") else {
            return Vec::new();
        };
        let waiting = job["waiting"].as_array().cloned().unwrap_or_default();
        let entries = std::iter::once(job["leader"].clone()).chain(waiting);
        let ids = entries.filter_map(|entry| entry["id"].as_str().map(str::to_owned));
        ids.map(|id| id.rsplit_once('-').map_or(id.clone(), |(label, _)| label.to_owned()))
            .collect()
    }

    /// Waits until exactly these are at the door, in this order.
    #[track_caller]
    pub(crate) fn wait_for_queue(&self, tags: &[&str]) {
        eventually(&format!("{tags:?} at the door"), || (self.queue() == tags).then_some(()));
    }
}

fn quoted(word: OsString) -> String {
    let word = word.into_string().expect("text");
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// One test for each store, or for all but the one on which it takes too long.
macro_rules! on_each_store {
    ($($case:ident)*) => {
        on_each_store! { but kubernetes: $($case)* }
        mod kubernetes {
            $(#[test] fn $case() { super::$case(Some(crate::store::real::Brand::Kubernetes)); })*
        }
    };
    (but kubernetes: $($case:ident)*) => {
        mod file {
            $(#[test] fn $case() { super::$case(None); })*
        }
        mod etcd {
            $(#[test] fn $case() { super::$case(Some(crate::store::real::Brand::Etcd)); })*
        }
        mod zookeeper {
            $(#[test] fn $case() { super::$case(Some(crate::store::real::Brand::ZooKeeper)); })*
        }
    };
}

pub(super) use on_each_store;
