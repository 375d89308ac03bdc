//! The server process of a simulated store. It is this executable again, which becomes the server
//! before `main`.
//!
//! A test so needs no other binary.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use elect_api::Store;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::controls::Steer;
use super::remote::{Socket, connect};
use super::{Controls, Options};
use crate::program::eventually;

/// The environment variable for the server process: the path of its socket, a line feed, and its
/// [`Options`] as JSON.
const VARIABLE: &str = "ELECT_TEST_SIM_SERVER";

/// A simulated store in a process of its own. That process dies with this one, however the test ends.
#[derive(Debug)]
pub struct SimServer {
    child: Child,
    folder: TempDir,
    options: Options,
}

impl SimServer {
    /// Starts a store without any election, and waits until it can be reached.
    ///
    /// # Panics
    /// Panics if the process cannot be started.
    pub fn start(options: &Options) -> Self {
        link();
        let folder = TempDir::new().expect("a temporary folder");
        let words = serde_json::to_string(options).expect("options as JSON");
        let socket = folder.path().join(SOCKET);
        let child = Command::new("/proc/self/exe")
            .env(VARIABLE, format!("{}\n{words}", socket.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("this program once more");
        let mut server = Self { child, folder, options: options.clone() };
        eventually("a simulated store", || {
            assert!(server.child.try_wait().is_ok_and(|end| end.is_none()), "it has ended");
            std::os::unix::net::UnixStream::connect(&socket).ok()
        });
        server
    }

    /// Returns its URL, for `elect -b`.
    pub fn url(&self) -> String {
        format!("sim://{}{}", self.socket().display(), self.options.query())
    }

    /// Lets candidates of every user connect.
    ///
    /// # Panics
    /// Panics if another user owns the socket.
    pub fn open_to_all(&self) {
        for (path, mode) in [(self.folder.path(), 0o755), (&self.socket(), 0o666)] {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own socket");
        }
    }

    /// Opens a new connection to it.
    pub fn connect(&self) -> Box<dyn Store> {
        connect(&self.url()).expect("a good URL")
    }

    /// Returns its controls. They wait while the server is stopped.
    pub fn controls(&self) -> Controls {
        Controls::new(Arc::new(Socket::new(&self.socket())) as Arc<dyn Steer>)
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Sends a signal to it. STOP and CONT make a store that is silent for a while.
    ///
    /// # Panics
    /// Panics if the process is gone.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("the server lives");
    }

    fn socket(&self) -> std::path::PathBuf {
        self.folder.path().join(SOCKET)
    }
}

const SOCKET: &str = "store.sock";

impl Drop for SimServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

crate::entry::entry!(serve_if_told);

/// Runs the server if the variable makes this process one. `None` in any other process.
fn serve_if_told(_: &[&str]) -> Option<i32> {
    let words = std::env::var(VARIABLE).ok()?;
    let (socket, options) = words.split_once('\n')?;
    let options = serde_json::from_str(options).ok()?;
    Some(super::serve(Path::new(socket), options).is_err().into())
}
