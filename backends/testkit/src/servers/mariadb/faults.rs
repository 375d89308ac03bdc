//! What may befall a server, and copies of its data: backups, replicas, dumps.

use std::fs;
use std::net::SocketAddr;

use super::MariaDb;
use crate::program::eventually;
use crate::servers::folder::run;
use crate::servers::{DatabaseServer, DatabaseSetup, Process};

impl MariaDb {
    fn copy(&self, from: &str, to: &str) {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        run(self.prefix, &["cp", "-a", &path(from), &path(to)]);
    }

    /// How far a replica has received what its primary writes.
    fn received(&self) -> String {
        let status = self.try_query("-e", "SHOW SLAVE STATUS").expect("an answer");
        let lines: Vec<Vec<&str>> = status.lines().map(|line| line.split('\t').collect()).collect();
        let [names, values] = &lines[..] else { panic!("it is no replica: {status}") };
        let place = names.iter().position(|name| *name == "Gtid_IO_Pos").expect("a column");
        values[place].to_owned()
    }
}

impl DatabaseServer for MariaDb {
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
        "elect"
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
        // It notices at the next write, and waits for room.
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
        let (table, dump) = (self.table(), self.folder.path().join("dump"));
        let made = self.try_query("-Nre", &format!("SHOW CREATE TABLE {table}"));
        let made = made.expect("a table");
        let (_, made) = made.split_once('\t').expect("its name, and a statement");
        let how = format!("'{}' CHARACTER SET binary", dump.display());
        self.ask(&format!("SELECT * FROM {table} INTO OUTFILE {how}"));
        let load = format!(
            "LOAD DATA INFILE '{}' INTO TABLE {table} CHARACTER SET binary",
            dump.display()
        );
        other.ask(&format!("{made}; {load}"));
    }

    fn replica(&self) -> Box<dyn DatabaseServer> {
        let id = format!("--server-id={}", fastrand::u32(2..));
        let settings = [&*id, "--read-only", "--rpl-semi-sync-slave-enabled=ON"];
        let settings = settings.map(str::to_owned).to_vec();
        let setup = DatabaseSetup { settings, has_log: true, ..DatabaseSetup::default() };
        let replica = Self::start_as(&setup);
        self.ask(
            "CREATE OR REPLACE USER replica@'%'; GRANT REPLICATION SLAVE ON *.* TO replica@'%'",
        );
        let (host, port) = (self.address().ip(), self.address().port());
        replica.ask(&format!(
            "CHANGE MASTER TO master_host = '{host}', master_port = {port}, \
             master_user = 'replica', master_use_gtid = slave_pos; START SLAVE"
        ));
        let written = self.ask("SELECT @@gtid_binlog_pos");
        assert_eq!(replica.ask(&format!("SELECT MASTER_GTID_WAIT('{written}')")), "0");
        Box::new(replica)
    }

    fn wait_for_replica(&self) {
        self.ask(
            "SET GLOBAL rpl_semi_sync_master_timeout = 3600000; \
             SET GLOBAL rpl_semi_sync_master_enabled = ON",
        );
        eventually("a synchronous replica", || {
            let clients = "SELECT variable_value FROM information_schema.GLOBAL_STATUS \
                           WHERE variable_name = 'RPL_SEMI_SYNC_MASTER_CLIENTS'";
            (self.ask(clients) == "1").then_some(())
        });
    }

    fn fall_behind(&self) {
        self.ask("STOP SLAVE IO_THREAD");
    }

    fn promote(&self) {
        self.fall_behind();
        eventually("the replica to have written what it has received", || {
            (self.ask("SELECT @@gtid_slave_pos") == self.received()).then_some(())
        });
        self.ask("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
    }
}
