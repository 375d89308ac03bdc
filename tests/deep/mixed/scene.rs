//! One election, and two releases in it: today's, and the last one without what today's can do.

use std::fs;

use elect_testkit::program::{Elect, eventually};
use serde_json::Value;
use tempfile::TempDir;

use super::WITHOUT_RUNS;
use crate::store::real::{Brand, Home};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edition {
    Older,
    Newer,
}
pub(super) use Edition::{Newer, Older};

/// Writes its first word, a name, and runs until [`Scene::end`] has that name; then exits with `CODE`.
pub(super) const STAY: &str =
    "echo \"$0\" >>\"$D/word\"; until [ -e \"$D/end-$0\" ]; do sleep 0.01; done; exit ${CODE:-0}";
/// Writes its first word, a name, and exits.
pub(super) const BRIEF: &str = "echo \"$0\" >>\"$D/word\"";

/// A store with the election "job", and a folder where commands leave word.
pub(super) struct Scene {
    url: String,
    folder: TempDir,
    /// `None` on the local disk.
    _home: Option<Home>,
}

impl Scene {
    pub(super) fn new(brand: Option<Brand>) -> Self {
        let folder = TempDir::new().expect("a folder");
        let home = brand.map(Home::alone);
        let on_disk = || format!("file://{}", folder.path().join("state").display());
        let url = home.as_ref().map_or_else(on_disk, Home::url);
        Self { url, folder, _home: home }
    }

    pub(super) fn elect(&self, edition: Edition, subcommand: &str) -> Elect {
        let elect = match edition {
            Older => Elect::new(WITHOUT_RUNS.binary()),
            Newer => Elect::new(env!("CARGO_BIN_EXE_elect")),
        };
        elect.args([subcommand, "-b", &self.url]).env("D", self.folder.path())
    }

    pub(super) fn run(&self, edition: Edition) -> Elect {
        let id = if edition == Older { "older" } else { "newer" };
        self.elect(edition, "run").args(["-e", "job", "--id", id])
    }

    pub(super) fn once(&self, edition: Edition, key: &str) -> Elect {
        self.run(edition).args(["--once", key])
    }

    /// Asserts that the key is done for this release: the command does not run.
    #[track_caller]
    pub(super) fn finds_done(&self, edition: Edition, key: &str) {
        self.once(edition, key).arg("false").run().exits(0);
    }

    /// Returns the JSON that a subcommand prints, at any exit code.
    #[track_caller]
    pub(super) fn json(&self, edition: Edition, subcommand: &str, words: &[&str]) -> Value {
        let ended = self.elect(edition, subcommand).args(["-o", "json", "job"]).args(words).run();
        let json = serde_json::from_str(&ended.stdout);
        json.unwrap_or_else(|error| panic!("{error} in {}, {}", ended.stdout, ended.stderr))
    }

    #[track_caller]
    pub(super) fn status(&self, edition: Edition) -> Value {
        self.json(edition, "status", &[])["elections"][0].clone()
    }

    /// The leaderships, the newest last.
    #[track_caller]
    pub(super) fn history(&self, edition: Edition) -> Vec<Value> {
        self.json(edition, "history", &[])["leaderships"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the newer release's record of a key.
    #[track_caller]
    pub(super) fn key(&self, key: &str) -> Value {
        self.json(Newer, "done", &[key])["keys"][0].clone()
    }

    /// The words that commands have left, each on a line.
    pub(super) fn word(&self) -> String {
        fs::read_to_string(self.folder.path().join("word")).unwrap_or_default()
    }

    #[track_caller]
    pub(super) fn awaits(&self, word: &str) {
        eventually("a word of the command", || (self.word() == word).then_some(()));
    }

    /// Waits until so many are in line without leading.
    #[track_caller]
    pub(super) fn awaits_line(&self, length: usize) {
        eventually("a line", || {
            let status = self.status(Newer);
            (status["waiting"].as_array()?.len() == length).then_some(())
        });
    }

    /// Has the command of this name end.
    pub(super) fn end(&self, name: &str) {
        fs::write(self.folder.path().join(format!("end-{name}")), "").expect("a file");
    }
}

/// One test for each store.
macro_rules! on_every_store {
    ($($test:ident)*) => {
        mod file {
            $(#[test] fn $test() { super::$test(&super::Scene::new(None)); })*
        }
        mod etcd {
            $(#[test] fn $test() { super::$test(&super::Scene::new(Some(crate::store::real::Brand::Etcd))); })*
        }
        mod zookeeper {
            $(#[test] fn $test() { super::$test(&super::Scene::new(Some(crate::store::real::Brand::ZooKeeper))); })*
        }
    };
}
pub(super) use on_every_store;
