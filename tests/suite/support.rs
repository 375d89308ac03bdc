//! What all tests of the program share.

use std::path::Path;

use elect_testkit::program::Elect;
use tempfile::TempDir;

/// `elect run` in the election "job" of a store whose leases end by time, after 5 s.
pub(crate) fn run_at(url: &str, id: &str) -> Elect {
    let words = ["run", "-b", url, "-e", "job", "--id", id, "--ttl", "5s"];
    Elect::new(env!("CARGO_BIN_EXE_elect")).args(words)
}

/// A state directory of its own, and `elect` that uses it.
pub(crate) struct Ground {
    folder: TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder") }
    }

    /// The folder for whatever the test needs besides.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The store's root.
    pub(crate) fn state(&self) -> std::path::PathBuf {
        self.path().join("state")
    }

    pub(crate) fn elect(&self, subcommand: &str) -> Elect {
        Elect::new(env!("CARGO_BIN_EXE_elect"))
            .arg(subcommand)
            .args(["-b", &format!("file://{}", self.state().display())])
    }

    /// `elect run` in the election "job"; flags and the command are to be added.
    pub(crate) fn run(&self) -> Elect {
        self.elect("run").args(["-e", "job"])
    }
}

/// The first of these programs that there is.
///
/// # Panics
/// When there is none, with the Debian package that has one.
pub(crate) fn installed(names: &[&'static str], package: &str) -> &'static str {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |name: &&str| std::env::split_paths(&folders).any(|place| place.join(name).exists());
    let found = names.iter().copied().find(is_there);
    found.unwrap_or_else(|| panic!("there is no {}: apt-get install {package}", names[0]))
}
