//! `PostgreSQL`: one server with an empty database, on a socket in its own folder.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use tempfile::TempDir;

use super::{Place, Process, fetched};
use crate::program::eventually;

const SETUP: &str = "tests/run setup";
/// A path below the machine's root, and below what `tests/run` has fetched.
const VERSIONS: &str = "usr/lib/postgresql";
/// The server refuses to run as root. It keeps the right to read what root can read, wherever the build is.
/// Both the kernel and `access` go by this right.
const SERVER_USER: u32 = 65534;
const AS_ANOTHER_USER: [&str; 12] = [
    "setpriv",
    "--reuid",
    "65534",
    "--regid",
    "65534",
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
    "--securebits=+no_setuid_fixup",
    // `setpriv` sets this last, because a change of user clears it.
    "--pdeathsig",
    "KILL",
    "--",
];
const SETTINGS: [&str; 7] = [
    "listen_addresses=",
    "port=5432",
    // No test has to survive a loss of power.
    "fsync=off",
    "jit=off",
    // The server keeps nothing outside its folder.
    "dynamic_shared_memory_type=mmap",
    "autovacuum=off",
    "max_connections=20",
];
const USER: &str = "elect";

/// A running server, with a database and a user that need no password.
#[derive(Debug)]
pub struct Postgres {
    process: Process,
    folder: TempDir,
}

impl Postgres {
    /// Starts a server, and returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    pub fn start() -> Self {
        let programs = programs();
        let folder = TempDir::new().expect("a temporary folder");
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("a folder");
        let mut prefix: &[&str] = &[];
        if geteuid().is_root() {
            prefix = &AS_ANOTHER_USER;
            for path in [folder.path(), &data] {
                chown(path, Some(SERVER_USER), Some(SERVER_USER)).expect("we are root");
            }
        }
        initialise(prefix, &programs.join("initdb"), &data);
        let program = programs.join("postgres").display().to_string();
        let (data, sockets) = (data.display().to_string(), folder.path().display().to_string());
        let sockets = format!("unix_socket_directories={sockets}");
        let mut command = prefix.to_vec();
        command.extend([&program, "-D", &data, "-c", &sockets]);
        command.extend(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        let log = folder.path().join("log");
        let process = Process::start(&command, &Place::here(), &log, "util-linux");
        let mut started = Self { process, folder };
        eventually("PostgreSQL to serve", || {
            assert!(started.process.is_alive(), "PostgreSQL has died: {}", started.process.log());
            started.try_ask("SELECT 1").map(|_| ())
        });
        started
    }

    /// Returns the variables that tell `psql` and other clients where the server is.
    pub fn environment(&self) -> [(&'static str, &OsStr); 4] {
        let named = |name, value: &'static str| (name, OsStr::new(value));
        [
            ("PGHOST", self.folder.path().as_os_str()),
            named("PGPORT", "5432"),
            named("PGUSER", USER),
            named("PGDATABASE", "postgres"),
        ]
    }

    /// Returns its answer to a statement, without decoration.
    ///
    /// # Panics
    /// Panics if it refuses the statement.
    #[track_caller]
    pub fn ask(&self, statement: &str) -> String {
        self.try_ask(statement).unwrap_or_else(|| panic!("{statement}: {}", self.process.log()))
    }

    fn try_ask(&self, statement: &str) -> Option<String> {
        let mut psql = Command::new("psql");
        psql.args(["-XAtqc", statement]).envs(self.environment());
        let output =
            psql.output().unwrap_or_else(|error| panic!("psql is missing: {SETUP} ({error})"));
        let said = String::from_utf8_lossy(&output.stdout);
        output.status.success().then(|| said.trim_end().to_owned())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At SIGQUIT the server ends its processes and removes their shared memory. After SIGKILL it could
        // not.
        if self.process.is_alive() {
            self.process.signal(Signal::SIGQUIT);
            self.process.wait();
        }
    }
}

/// Returns the folder of the server's programs.
#[track_caller]
fn programs() -> PathBuf {
    let roots = [Some(Path::new("/").join(VERSIONS)), fetched(&format!("postgresql/{VERSIONS}"))];
    let versions = roots.into_iter().flatten().filter_map(|root| fs::read_dir(root).ok());
    let found = versions.flatten().flatten().map(|version| version.path().join("bin"));
    let found = found.filter(|programs| programs.join("postgres").exists()).max();
    found.unwrap_or_else(|| panic!("PostgreSQL's server is missing: {SETUP}"))
}

#[track_caller]
fn initialise(prefix: &[&str], initdb: &Path, data: &Path) {
    let mut words = prefix.iter().map(OsStr::new).chain([initdb.as_os_str()]);
    let output = Command::new(words.next().expect("a program"))
        .args(words)
        .args(["--auth=trust", "--no-sync", "--no-locale", "--encoding=UTF8", "-U", USER, "-D"])
        .arg(data)
        .output()
        .expect("setpriv and initdb");
    assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
}
