//! The manual's script that writes to `PostgreSQL`.

use elect_testkit::servers::Postgres;

use super::example::Example;
use super::resource::{self, Resource, SENDS};
use super::stopping::Stopped;
use crate::cli::manual;
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    a_leader_that_stood_still_before_its_update_is_refused
}

const SECTION: &str = "In PostgreSQL";

/// A database with the manual's table.
struct Database {
    server: Postgres,
    example: Example,
    folder: TempDir,
}

impl Database {
    fn new() -> Self {
        let (server, folder) = (Postgres::start(), TempDir::new().expect("a folder"));
        let mut example = Example::new(SECTION, "sh", folder.path().join("total"));
        for (name, value) in server.environment() {
            example.set(name, value);
        }
        let schema = manual::block("fencing", SECTION, "sql");
        fs::write(folder.path().join("report.sql"), schema).expect("a file");
        Self { server, example, folder }
    }

    fn with_table(self) -> Self {
        self.server.ask(&manual::block("fencing", SECTION, "sql"));
        self
    }
}

impl Resource for Database {
    fn example(&self) -> &Example {
        &self.example
    }

    fn total(&self) -> String {
        self.server.ask("SELECT total FROM report")
    }
}

#[test]
fn its_script_and_its_commands_work_as_they_are_written() {
    Database::new().example.does_as_shown();
}

/// It has reached the server, and has not sent the statement.
fn a_leader_that_stood_still_before_its_update_is_refused(arena: &Arena) {
    resource::a_leader_that_stood_still_is_refused(arena, &Database::new().with_table(), 1);
}

#[test]
fn a_writer_stopped_at_any_request_writes_nothing_later() {
    resource::a_writer_stopped_at_any_request_writes_nothing_later(&Database::new().with_table());
}

#[test]
fn without_token_row_or_server_a_write_fails() {
    let database = Database::new().with_table();
    let example = &database.example;
    let call = || example.call(7).arg("7");
    call().env("ELECT_TOKEN", "").run().exits(3).says("syntax error");
    assert_eq!(database.total(), "0");
    call().run().exits(0).is_silent();
    // The same leader may write again.
    call().run().exits(0).is_silent();
    database.server.ask("DELETE FROM report");
    call().run().exits(1).says("token 7 is stale");
    call().env("PGHOST", database.folder.path()).run().exits(2).says("connection to server");
}

/// The transaction writes more along with the row, and keeps the row locked until it is over.
#[test]
fn a_stopped_transaction_blocks_others_up_to_the_servers_limit() {
    let database = Database::new().with_table();
    let psql = database.example.around(Elect::new("psql")).args(["-Xq", "-v", "ON_ERROR_STOP=1"]);
    let update = "UPDATE report SET total = 5, token = 5 WHERE name = 'orders' AND token <= 5";
    let psql = psql.args(["-c", "BEGIN", "-c", update, "-c", "COMMIT"]);
    let psql = psql.env("PGOPTIONS", "-c idle_in_transaction_session_timeout=3s");
    // It has sent who it is, BEGIN, and the update.
    let late = Stopped::at(psql, SENDS, 3, database.folder.path());
    eventually("it to have the row", || {
        let state = "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction'";
        (database.server.ask(state) == "1").then_some(())
    });
    database.example.call(7).arg("7").run().exits(0).is_silent();
    assert_eq!(database.total(), "7");
    assert_ne!(late.go_on().says("idle-in-transaction timeout").code(), 0);
    assert_eq!(database.total(), "7");
}
