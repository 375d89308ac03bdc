//! The shared parts of all tests of the program.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use elect_api::ElectionName;
use elect_testkit::program::{Elect, Ended};
use serde_json::Value;
use tempfile::TempDir;

/// `elect run` in the election "job" of a store whose leases end by time, after 5 s.
pub(crate) fn run_at(url: &str, id: &str) -> Elect {
    let words = ["run", "-b", url, "-e", "job", "--id", id, "--ttl", "5s"];
    Elect::new(env!("CARGO_BIN_EXE_elect")).args(words)
}

/// The election of most tests.
pub(crate) fn job() -> ElectionName {
    "job".parse().expect("a good name")
}

/// What was printed with `-o json`.
#[track_caller]
pub(crate) fn report(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// The names of those who wait, as `elect status -o json` has printed them, without what elect adds to each.
pub(crate) fn waiting(status: &Ended) -> Vec<String> {
    let report: Value = serde_json::from_str(&status.stdout).unwrap_or_default();
    let waiting = report["elections"][0]["waiting"].as_array().cloned().unwrap_or_default();
    let name = |entry: &Value| Some(entry["id"].as_str()?.rsplit_once('-')?.0.to_owned());
    waiting.iter().filter_map(name).collect()
}

/// Plays all cases at once, as each mostly waits. A thread has the name of its case.
pub(crate) fn side_by_side<C: Debug + Send>(
    cases: impl IntoIterator<Item = C>,
    play: impl Fn(C) + Sync,
) {
    let play = &play;
    thread::scope(|scope| {
        for case in cases {
            let thread = thread::Builder::new().name(format!("{case:?}"));
            thread.spawn_scoped(scope, move || play(case)).expect("a thread");
        }
    });
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
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(crate) fn elect(&self, subcommand: &str) -> Elect {
        Elect::new(env!("CARGO_BIN_EXE_elect"))
            .arg(subcommand)
            .args(["-b", &format!("file://{}", self.state().display())])
    }

    /// Returns `elect run` in the election "job", without flags and a command.
    pub(crate) fn run(&self) -> Elect {
        self.elect("run").args(["-e", "job"])
    }
}

/// A script that is there and can be executed, but not what it names to run it. So it fails only once it is started:
/// with exit code 127 where that is not there, and 126 where it is a folder.
pub(crate) fn unstartable(folder: &Path, interpreter: &str) -> PathBuf {
    let script = folder.join(format!("unstartable{}", interpreter.replace('/', "-")));
    fs::write(&script, format!("#!{interpreter}\n")).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("mine");
    script
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

/// A wall clock of a test's own, for programs that are started with it.
pub(crate) struct WallClock {
    folder: TempDir,
}

impl WallClock {
    pub(crate) fn new() -> Self {
        let clock = Self { folder: TempDir::new().expect("a temporary folder") };
        let source = clock.folder.path().join("wall-clock.c");
        fs::write(&source, include_str!("store/real/wall_clock.c")).expect("a file");
        clock.put_ahead(0);
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(clock.library()).arg(source);
        let status = cc.status().expect("there is no cc: apt-get install gcc libc6-dev");
        assert!(status.success(), "cc fails");
        clock
    }

    /// Returns the library that a program preloads.
    pub(crate) fn library(&self) -> PathBuf {
        self.folder.path().join("wall-clock.so")
    }

    fn offset(&self) -> PathBuf {
        self.folder.path().join("offset")
    }

    /// This program goes by it.
    pub(crate) fn of(&self, elect: Elect) -> Elect {
        elect.env("LD_PRELOAD", self.library()).env("WALL_CLOCK_OFFSET", self.offset())
    }

    /// Returns words that start a program that goes by it.
    pub(crate) fn words(&self) -> Vec<String> {
        let [library, offset] = [self.library(), self.offset()].map(|it| it.display().to_string());
        let variables = [format!("LD_PRELOAD={library}"), format!("WALL_CLOCK_OFFSET={offset}")];
        [String::from("env")].into_iter().chain(variables).collect()
    }

    /// It is so many seconds ahead of the machine's from now on.
    pub(crate) fn put_ahead(&self, seconds: i64) {
        fs::write(self.offset(), seconds.to_string()).expect("a file");
    }

    /// It shows this time, in RFC 3339, and goes on from there.
    #[expect(clippy::disallowed_methods, reason = "it is moved from there")]
    pub(crate) fn set(&self, time: &str) {
        let seconds = |time: SystemTime| {
            let since = time.duration_since(UNIX_EPOCH).expect("a time after 1970");
            i64::try_from(since.as_secs()).expect("a time of this age")
        };
        let time = humantime::parse_rfc3339(time).expect("a time");
        self.put_ahead(seconds(time) - seconds(SystemTime::now()));
    }
}
