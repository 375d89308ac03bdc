//! Servers of databases, and what may befall them.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;

use super::{Part, Place, Process};

/// The setup of a server of a database.
#[derive(Clone, Debug)]
pub struct DatabaseSetup {
    /// The machine that it runs on.
    pub place: Place,
    /// Further settings: `max_connections=5` of `PostgreSQL`, `--max-connections=5` of `MariaDB`.
    pub settings: Vec<String>,
    /// Words before the server's program, as in `env NAME=VALUE`.
    pub under: Vec<String>,
    /// The folder that its own folder is made in, as on a small disk.
    pub disk: Option<PathBuf>,
    /// Whether it keeps the log that a replica follows.
    pub has_log: bool,
}

impl Default for DatabaseSetup {
    fn default() -> Self {
        let (settings, under) = (Vec::new(), Vec::new());
        Self { place: Place::here(), settings, under, disk: None, has_log: false }
    }
}

/// A server of a database, which a test can break and copy. A server implements what the faults of its store need.
///
/// # Panics
/// Each method panics if the server does not do what it says, or does not implement it.
pub trait DatabaseServer: Send {
    /// Returns its address.
    fn address(&self) -> SocketAddr;

    /// Returns the first of its processes.
    fn process(&mut self) -> &mut Process;

    /// Returns its answer to statements, without decoration. Its administrator asks.
    fn ask(&self, statements: &str) -> String;

    /// The table of elect in its database.
    fn table(&self) -> &'static str;

    /// The hour that its clock shows.
    fn hour(&self) -> i64 {
        let hour = self.ask("SELECT EXTRACT(HOUR FROM CURRENT_TIMESTAMP)");
        hour.parse().expect("a number")
    }

    /// Whether it has the row of a waiter.
    fn has_waiter(&self) -> bool {
        let table = self.table();
        self.ask(&format!("SELECT count(*) FROM {table} WHERE document LIKE 'waiter-%'")) != "0"
    }

    /// Kills all its processes, as a power cut does. They say nothing to clients.
    fn kill(&mut self) {
        lacks("kill")
    }

    /// Starts it again on the same data if it is dead. Returns when it serves.
    fn revive(&mut self) {
        lacks("revive")
    }

    /// Stops all its processes, or has them go on.
    fn stop(&self, is_stopped: bool) {
        lacks(if is_stopped { "stop" } else { "go on" })
    }

    /// Ends the fault that was set, if there is one.
    fn end_fault(&self) {}

    /// Has it answer requests by this fault from now on, as its program describes faults.
    fn fault(&self, fault: &Value) {
        lacks(&format!("the fault {fault}"))
    }

    /// Returns how many requests met the fault that was set last.
    fn met(&self) -> u64 {
        lacks("met")
    }

    /// Has it notice that its disk is full. It may die of that.
    fn run_out_of_room(&mut self) {
        lacks("run_out_of_room")
    }

    /// Keeps a copy of its data. Returns its name, which is empty if the server loses nothing.
    fn back_up(&mut self) -> String {
        String::new()
    }

    /// Goes back to a copy, and serves again: what was written since is lost.
    fn restore(&mut self, backup: &str) {
        lacks(&format!("restore {backup}"))
    }

    /// Restores a dump of its database in another server of its kind, whose database is empty.
    fn dump_to(&self, other: &dyn DatabaseServer) {
        lacks(&format!("dump_to {}", other.address()))
    }

    /// Starts an asynchronous replica, which only reads. It has all that the server has by now. The server keeps a
    /// [log](DatabaseSetup::has_log).
    fn replica(&self) -> Box<dyn DatabaseServer> {
        lacks("replica")
    }

    /// Has a server that has a replica wait for it before it acknowledges a commit. Returns when it does.
    fn wait_for_replica(&self) {
        lacks("wait_for_replica")
    }

    /// Has a replica receive nothing more. Returns when nothing comes any more.
    fn fall_behind(&self) {
        lacks("fall_behind")
    }

    /// Has a replica take over, with all that it has received.
    fn promote(&self) {
        lacks("promote")
    }
}

#[track_caller]
fn lacks(what: &str) -> ! {
    panic!("the server of this store has no method for this: {what}")
}

/// A server of a database, whose rows the laws of tables use.
pub trait Database: DatabaseServer + 'static {
    /// The part of a server that tests share, or `None` if there is none.
    fn part() -> Option<Part>;

    /// Starts a server of its own.
    fn start() -> Self;

    /// Whether a client hears from the server before it sends a request, as by a login. Where it does not, a write may
    /// have happened if its new connection is closed without a byte. A cut then refuses new connections.
    fn greets() -> bool {
        true
    }

    /// Has the first candidate lead at once in rows of this name, where it would wait as after a loss.
    fn begin(server: SocketAddr, name: &str) {
        let _ = (server, name);
    }

    /// Goes back to a copy, and serves again. Returns the name of the copy for the next time.
    fn lose(&mut self, backup: &str) -> String {
        lacks(&format!("lose what came after {backup:?}"))
    }

    /// The URL of the rows of this name at a server, or at a proxy before it.
    fn url(server: SocketAddr, user: &str, name: &str) -> String;

    /// Removes all rows of this name.
    fn empty(server: SocketAddr, name: &str);

    /// Makes a user with these rights to the rows of this name.
    fn admit(server: SocketAddr, user: &str, name: &str, rights: Rights) {
        lacks(&format!("admit {user} with {rights:?} to {name} at {server}"))
    }
}

/// The rights of a user of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// To read rows.
    Read,
    /// None on rows.
    None,
}
