//! Copies of a server's data: backups, replicas, dumps.

use std::fs;
use std::process::Command;

use nix::sys::signal::Signal;

use super::{Postgres, PostgresSetup, USER, programs};
use crate::program::eventually;
use crate::servers::folder::new_folder;

impl Postgres {
    /// Keeps a copy of its data. Returns its name.
    ///
    /// # Panics
    /// Panics if the server refuses.
    pub fn back_up(&self) -> String {
        let name = format!("backup{}", fastrand::u32(..));
        let (host, port) = (self.address.ip().to_string(), self.address.port().to_string());
        let target = self.folder.path().join(&name);
        let programs = programs();
        let program = programs.join("pg_basebackup").display().to_string();
        let target = target.display().to_string();
        let words = [&*program, "-h", &host, "-p", &port, "-U", USER, "-D", &target, "-c", "fast"];
        self.run(&words);
        name
    }

    /// Goes back to a copy, as a cluster of its own history: what was written since is lost.
    ///
    /// # Panics
    /// Panics if the server does not serve again.
    pub fn restore(&mut self, backup: &str) {
        self.process.signal(Signal::SIGQUIT);
        self.process.wait();
        let data = self.folder.path().join("data");
        fs::remove_dir_all(&data).expect("no server");
        let backup = self.folder.path().join(backup);
        self.run(&["cp", "-a", &backup.display().to_string(), &data.display().to_string()]);
        // The server begins another timeline at the end of a recovery.
        let signal = data.join("recovery.signal");
        self.run(&["touch", &signal.display().to_string()]);
        let settings = data.join("postgresql.auto.conf");
        fs::write(&settings, "restore_command = 'false'\n").expect("a file");
        self.process.restart();
        self.serve();
        eventually("PostgreSQL to accept writes", || {
            (self.try_ask("SELECT pg_is_in_recovery()")? == "f").then_some(())
        });
    }

    /// Starts an asynchronous replica, which only reads.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn replica(&self) -> Self {
        let (folder, prefix) = new_folder(None);
        let data = folder.path().join("data");
        let (host, port) = (self.address.ip().to_string(), self.address.port().to_string());
        let program = programs().join("pg_basebackup").display().to_string();
        let target = data.display().to_string();
        self.run(&[
            &program, "-h", &host, "-p", &port, "-U", USER, "-D", &target, "-c", "fast", "-R",
        ]);
        Self::run_in(folder, prefix, &PostgresSetup::default())
    }

    /// Has a replica take over.
    ///
    /// # Panics
    /// Panics if it refuses.
    pub fn promote(&self) {
        assert_eq!(self.ask("SELECT pg_promote()"), "t");
    }

    /// Has a server that has a replica wait for it before it acknowledges a commit. Returns when it does.
    ///
    /// # Panics
    /// Panics if it refuses, or has no replica.
    pub fn wait_for_replica(&self) {
        self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'");
        assert_eq!(self.ask("SELECT pg_reload_conf()"), "t");
        eventually("a synchronous replica", || {
            let state = self.ask("SELECT sync_state FROM pg_stat_replication");
            (state == "sync").then_some(())
        });
    }

    /// Has a replica receive nothing more. Returns when nothing comes any more.
    ///
    /// # Panics
    /// Panics if it refuses.
    pub fn fall_behind(&self) {
        self.ask("ALTER SYSTEM SET primary_conninfo = ''");
        assert_eq!(self.ask("SELECT pg_reload_conf()"), "t");
        eventually("the end of a replication", || {
            (self.ask("SELECT count(*) FROM pg_stat_wal_receiver") == "0").then_some(())
        });
    }

    /// Restores a dump of its database in another server, whose database is empty.
    ///
    /// # Panics
    /// Panics if one of them refuses.
    pub fn dump_to(&self, other: &Self) {
        let dump = self.folder.path().join("dump");
        let mut pg_dump = Command::new("pg_dump");
        pg_dump.arg("-f").arg(&dump).envs(self.environment());
        let mut psql = Command::new("psql");
        psql.args(["-Xqvon_error_stop=1", "-f"]).arg(&dump).envs(other.environment());
        for mut command in [pg_dump, psql] {
            let output = command.output().expect("postgresql-client: tests/run setup");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}: {said}");
        }
    }
}
