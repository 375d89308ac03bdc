//! A Sentinel: it watches a primary of Redis, and has a replica take over.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::redis::{REDIS, Redis};
use super::{Place, Process, free_port};
use crate::program::eventually;

/// A running Sentinel, which decides alone. It calls the primary `jobs`.
#[derive(Debug)]
pub struct Sentinel {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Sentinel {
    /// Starts a Sentinel of a primary. Returns when it knows so many replicas.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the package with the program.
    pub fn start(primary: SocketAddr, replicas: usize) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let address = SocketAddr::from((Place::here().address(), free_port()));
        let (ip, port) = (primary.ip(), primary.port());
        let configuration = format!(
            "port {}\nbind {}\ndir {}\nprotected-mode no\nsentinel monitor jobs {ip} {port} 1\n\
             sentinel down-after-milliseconds jobs 500\nsentinel failover-timeout jobs 2000\n",
            address.port(),
            address.ip(),
            folder.path().display(),
        );
        fs::write(at("configuration"), configuration).expect("a file");
        symlink(REDIS, at("redis-sentinel")).expect("a link");
        let command = [&*at("redis-sentinel"), &*at("configuration"), "--sentinel"];
        let log = folder.path().join("log");
        let process = Process::start(&command, &Place::here(), &log, "redis-tools");
        let mut sentinel = Self { process, address, _folder: folder };
        eventually("the Sentinel to know the replicas", || {
            assert!(sentinel.process.is_alive(), "it has died: {}", sentinel.process.log());
            let known = format!("slaves={replicas},");
            Redis::try_ask(address, "INFO sentinel").filter(|said| said.contains(&known))
        });
        sentinel
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Has a replica take over from a primary that lives. Returns when the Sentinel names it.
    ///
    /// # Panics
    /// Panics if it does not.
    pub fn fail_over(&self) {
        let before = self.primary();
        // It takes no replica whose state it has not heard yet.
        eventually("a replica that can take over", || {
            (Redis::ask_at(self.address, "SENTINEL FAILOVER jobs") == "OK").then_some(())
        });
        eventually("another primary", || (self.primary() != before).then_some(()));
    }

    /// Returns the address of the primary that it names, as two lines.
    pub fn primary(&self) -> String {
        Redis::ask_at(self.address, "SENTINEL get-master-addr-by-name jobs")
    }
}
