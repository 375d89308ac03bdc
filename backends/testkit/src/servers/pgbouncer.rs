//! `pgbouncer`: a pooler before a server, in transaction mode.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::chown;
use std::path::Path;

use nix::unistd::geteuid;
use tempfile::TempDir;

use super::folder::{AS_ANOTHER_USER, SERVER_USER};
use super::{Place, Process, fetched, free_port};
use crate::program::eventually;

/// Debian's program, on this machine or where `tests/run` has unpacked it.
const PROGRAM: &str = "usr/sbin/pgbouncer";

/// A running pooler. It lets in the users of the server that need no password.
#[derive(Debug)]
pub struct PgBouncer {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl PgBouncer {
    /// Starts a pooler before the server at this address. Returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    #[track_caller]
    pub fn start(server: SocketAddr) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let address = SocketAddr::from((Place::here().address(), free_port()));
        let at = |name: &str| folder.path().join(name);
        fs::write(at("users"), "\"elect\" \"\"\n").expect("a file");
        let configuration = format!(
            "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = {}\nlisten_port = {}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n",
            server.ip(),
            server.port(),
            address.ip(),
            address.port(),
            at("users").display(),
        );
        fs::write(at("configuration"), configuration).expect("a file");
        let installed = Path::new("/").join(PROGRAM);
        let mut places =
            [Some(installed), fetched(&format!("pgbouncer/{PROGRAM}"))].into_iter().flatten();
        let program = places.find(|place| place.exists());
        let program = program.expect("pgbouncer is missing: tests/run setup").display().to_string();
        let mut command = Vec::new();
        if geteuid().is_root() {
            // It refuses to run as root.
            for path in [folder.path(), &at("users"), &at("configuration")] {
                chown(path, Some(SERVER_USER), Some(SERVER_USER)).expect("we are root");
            }
            command.extend(AS_ANOTHER_USER);
        }
        let configuration = at("configuration").display().to_string();
        command.extend([&*program, &configuration]);
        let process = Process::start(&command, &Place::here(), &at("log"), "util-linux");
        let mut started = Self { process, address, _folder: folder };
        started.serve();
        started
    }

    fn serve(&mut self) {
        eventually("pgbouncer to serve", || {
            assert!(self.process.is_alive(), "pgbouncer has died: {}", self.process.log());
            TcpStream::connect(self.address).ok()
        });
    }

    /// Returns its address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again if it is dead. Returns when it serves.
    ///
    /// # Panics
    /// Panics if it does not serve.
    pub fn revive(&mut self) {
        self.process.restart();
        self.serve();
    }
}
