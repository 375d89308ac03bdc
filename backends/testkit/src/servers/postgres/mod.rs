//! `PostgreSQL`: one server with an empty database, on a port of the loopback interface and on a socket in its own
//! folder.

mod faults;

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::folder::{Prefix, new_folder, run};
use super::{
    Database, DatabaseServer as _, DatabaseSetup, Part, Process, Rights, fetched, free_port,
};
use crate::program::eventually;

const SETUP: &str = "tests/run setup";
/// A path below the machine's root, and below what `tests/run` has fetched.
const VERSIONS: &str = "usr/lib/postgresql";
const SETTINGS: [&str; 6] = [
    "shared_buffers=16MB",
    // No test has to survive a loss of power.
    "fsync=off",
    "jit=off",
    // The server keeps nothing outside its folder.
    "dynamic_shared_memory_type=mmap",
    "autovacuum=off",
    "max_connections=100",
];
const USER: &str = "elect";

/// A running server, with a database and a user that need no password.
#[derive(Debug)]
pub struct Postgres {
    process: Process,
    address: SocketAddr,
    folder: TempDir,
    /// The words before a program that runs as the server's user.
    prefix: Prefix,
}

impl Postgres {
    /// Starts a server, and returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    pub fn start() -> Self {
        Self::start_as(&DatabaseSetup::default())
    }

    /// Starts a server with further settings, as in `max_connections=5`.
    ///
    /// # Panics
    /// As [`Postgres::start`].
    pub fn start_with(settings: &[&str]) -> Self {
        let settings = settings.iter().map(ToString::to_string).collect();
        Self::start_as(&DatabaseSetup { settings, ..DatabaseSetup::default() })
    }

    /// Starts a server with this setup.
    ///
    /// # Panics
    /// As [`Postgres::start`].
    pub fn start_as(setup: &DatabaseSetup) -> Self {
        let (folder, prefix) = new_folder(setup.disk.as_deref());
        initialise(prefix, &programs().join("initdb"), &folder.path().join("data"));
        Self::run_in(folder, prefix, setup)
    }

    /// Starts a server on the data in a folder.
    fn run_in(folder: TempDir, prefix: Prefix, setup: &DatabaseSetup) -> Self {
        let DatabaseSetup { place, settings, under, .. } = setup;
        let program = programs().join("postgres").display().to_string();
        let data = folder.path().join("data").display().to_string();
        let sockets = format!("unix_socket_directories={}", folder.path().display());
        let mut command = prefix.to_vec();
        command.extend(under.iter().map(String::as_str));
        command.extend([&program, "-D", &data, "-c", &sockets]);
        let address = SocketAddr::from((place.address(), free_port()));
        let (port, host) = (address.port(), address.ip());
        let own = [format!("port={port}"), format!("listen_addresses={host}")];
        let settings = settings.iter().chain(&own).map(String::as_str);
        let settings = SETTINGS.iter().copied().chain(settings);
        command.extend(settings.flat_map(|setting| ["-c", setting]));
        let log = folder.path().join("log");
        let process = Process::start(&command, place, &log, "util-linux");
        let mut started = Self { process, address, folder, prefix };
        started.serve();
        started
    }

    fn serve(&mut self) {
        eventually("PostgreSQL to serve", || {
            assert!(self.process.is_alive(), "PostgreSQL has died: {}", self.process.log());
            self.try_ask("SELECT 1").map(|_| ())
        });
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Puts these rules before those of `pg_hba.conf`, as in `host all me all scram-sha-256`.
    ///
    /// # Panics
    /// Panics if the server refuses.
    pub fn rule(&self, rules: &str) {
        let path = self.folder.path().join("data/pg_hba.conf");
        let text = fs::read_to_string(&path).expect("initdb writes it");
        fs::write(&path, format!("{rules}\n{text}")).expect("our own");
        assert_eq!(self.ask("SELECT pg_reload_conf()"), "t");
    }

    /// Removes the shared memory that a killed server has left behind.
    fn remove_memory(&self) {
        let file = self.folder.path().join("data/postmaster.pid");
        let text = fs::read_to_string(file).unwrap_or_default();
        // The seventh line has its key and its id.
        let id = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1));
        if let Some(id) = id {
            let _ = Command::new("ipcrm").args(["-m", id]).output();
        }
    }

    /// Runs a program as the server's user.
    #[track_caller]
    fn run(&self, words: &[&str]) {
        run(self.prefix, words);
    }

    /// Returns the variables that tell `psql` and other clients where the server is.
    pub fn environment(&self) -> [(&'static str, OsString); 4] {
        let named = |name, value: &str| (name, OsString::from(value));
        [
            ("PGHOST", self.folder.path().as_os_str().to_owned()),
            named("PGPORT", &self.address.port().to_string()),
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

    /// Returns the answer of a server to statements, as [`Postgres::ask`].
    ///
    /// # Panics
    /// Panics if it refuses a statement.
    #[track_caller]
    pub fn ask_at(server: SocketAddr, statements: &str) -> String {
        let (host, port) = (server.ip().to_string(), server.port().to_string());
        let words = ["-XAtqh", &host, "-p", &port, "-U", USER, "-d", "postgres", "-c", statements];
        let output = Command::new("psql").args(words).output();
        let output = output.unwrap_or_else(|error| panic!("psql is missing: {SETUP} ({error})"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
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

impl Database for Postgres {
    fn part() -> Option<Part> {
        Part::of_postgres()
    }

    fn start() -> Self {
        Self::start()
    }

    fn lose(&mut self, backup: &str) -> String {
        self.restore(backup);
        // Without an archive, a second recovery of one copy would give its timeline the same number.
        self.back_up()
    }

    fn url(server: SocketAddr, user: &str, name: &str) -> String {
        format!("postgresql://{user}@{server}/postgres?schema={name}")
    }

    fn empty(server: SocketAddr, name: &str) {
        Self::ask_at(server, &format!("DELETE FROM {name}.document"));
    }

    fn admit(server: SocketAddr, user: &str, name: &str, rights: Rights) {
        Self::ask_at(server, &format!("CREATE ROLE {user} LOGIN"));
        if rights == Rights::Read {
            let table = format!("{name}.document");
            Self::ask_at(
                server,
                &format!(
                    "GRANT USAGE ON SCHEMA {name} TO {user}; GRANT SELECT ON {table} TO {user}"
                ),
            );
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At SIGQUIT the server ends its processes and removes their shared memory. After SIGKILL it could
        // not.
        if self.process.is_alive() {
            self.stop(false);
            self.process.signal(Signal::SIGQUIT);
            self.process.wait();
        } else {
            self.remove_memory();
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
fn initialise(prefix: Prefix, initdb: &Path, data: &Path) {
    let (program, folder) = (initdb.display().to_string(), data.display().to_string());
    let settings =
        ["--auth=trust", "--no-sync", "--no-locale", "--encoding=UTF8", "-U", USER, "-D"];
    run(prefix, &[&[&*program], &settings[..], &[&*folder]].concat());
    let rules = data.join("pg_hba.conf");
    let text = fs::read_to_string(&rules).expect("initdb writes it");
    fs::write(&rules, format!("{text}host all,replication all all trust\n")).expect("our own");
}
