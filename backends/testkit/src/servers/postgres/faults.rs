//! What may befall a server, and copies of its data: backups, replicas, dumps.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Postgres, USER, programs};
use crate::program::{children, eventually, is_alive};
use crate::servers::folder::new_folder;
use crate::servers::{DatabaseServer, DatabaseSetup, Process};

impl Postgres {
    /// Copies its data to a folder, while it runs.
    #[track_caller]
    fn copy_to(&self, folder: &str, words: &[&str]) {
        let (host, port) = (self.address.ip().to_string(), self.address.port().to_string());
        let program = programs().join("pg_basebackup").display().to_string();
        let own = [&*program, "-h", &host, "-p", &port, "-U", USER, "-D", folder, "-c", "fast"];
        self.run(&[&own, words].concat());
    }
}

impl DatabaseServer for Postgres {
    fn address(&self) -> SocketAddr {
        self.address()
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn ask(&self, statements: &str) -> String {
        self.ask(statements)
    }

    fn table(&self) -> &'static str {
        "elect.document"
    }

    fn kill(&mut self) {
        let children = children(self.process.pid());
        self.process.kill();
        for child in children {
            // Some end with the first process.
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
            eventually("the end of PostgreSQL's processes", || (!is_alive(child)).then_some(()));
        }
    }

    fn revive(&mut self) {
        self.process.restart();
        self.serve();
    }

    fn stop(&self, is_stopped: bool) {
        let first = self.process.pid();
        let signal = if is_stopped { Signal::SIGSTOP } else { Signal::SIGCONT };
        // The first process starts others as long as it runs.
        self.process.signal(signal);
        for child in children(first) {
            let _ = kill(Pid::from_raw(child), signal);
        }
    }

    fn run_out_of_room(&mut self) {
        // Another file of its log of writes has no room.
        let _ = self
            .try_ask("SELECT pg_switch_wal(); CREATE TABLE IF NOT EXISTS filler (); CHECKPOINT");
        self.process.wait();
    }

    fn back_up(&mut self) -> String {
        let name = format!("backup{}", fastrand::u32(..));
        self.copy_to(&self.folder.path().join(&name).display().to_string(), &[]);
        name
    }

    fn restore(&mut self, backup: &str) {
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
        self.revive();
        eventually("PostgreSQL to accept writes", || {
            (self.try_ask("SELECT pg_is_in_recovery()")? == "f").then_some(())
        });
    }

    fn dump_to(&self, other: &dyn DatabaseServer) {
        let dump = self.folder.path().join("dump");
        let mut pg_dump = Command::new("pg_dump");
        pg_dump.arg("-f").arg(&dump).envs(self.environment());
        let (host, port) = (other.address().ip().to_string(), other.address().port().to_string());
        let mut psql = Command::new("psql");
        psql.args(["-h", &host, "-p", &port, "-U", USER, "-d", "postgres"]);
        psql.args(["-Xqvon_error_stop=1", "-f"]).arg(&dump);
        for mut command in [pg_dump, psql] {
            let output = command.output().expect("postgresql-client: tests/run setup");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}: {said}");
        }
    }

    fn replica(&self) -> Box<dyn DatabaseServer> {
        let (folder, prefix) = new_folder(None);
        self.copy_to(&folder.path().join("data").display().to_string(), &["-R"]);
        Box::new(Self::run_in(folder, prefix, &DatabaseSetup::default()))
    }

    fn wait_for_replica(&self) {
        self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'");
        assert_eq!(self.ask("SELECT pg_reload_conf()"), "t");
        eventually("a synchronous replica", || {
            let state = self.ask("SELECT sync_state FROM pg_stat_replication");
            (state == "sync").then_some(())
        });
    }

    fn fall_behind(&self) {
        self.ask("ALTER SYSTEM SET primary_conninfo = ''");
        assert_eq!(self.ask("SELECT pg_reload_conf()"), "t");
        eventually("the end of a replication", || {
            (self.ask("SELECT count(*) FROM pg_stat_wal_receiver") == "0").then_some(())
        });
    }

    fn promote(&self) {
        assert_eq!(self.ask("SELECT pg_promote()"), "t");
    }
}
