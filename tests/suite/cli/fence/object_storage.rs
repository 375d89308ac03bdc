//! The manual's program that writes to an object storage.

use std::net::{Ipv4Addr, SocketAddr};

use elect_testkit::program::{Elect, eventually};
use elect_testkit::servers::{Place, Process, fetched, free_port};
use tempfile::TempDir;

use super::example::Example;
use super::resource::{self, Resource, SENDS};
use super::stopping::Stopped;
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::web::get;

on_each_store! {
    a_leader_that_stood_still_between_its_check_and_its_write_is_refused
}

const SECTION: &str = "In an object storage";
const SERVER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/cli/fence/object_storage.py");

/// A server with the manual's bucket.
struct ObjectStorage {
    _process: Process,
    address: String,
    example: Example,
    _folder: TempDir,
}

impl ObjectStorage {
    fn new() -> Self {
        let python = fetched("python/bin/python").expect("Python with moto: tests/run setup");
        let folder = TempDir::new().expect("a folder");
        let port = free_port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string();
        let program = python.display().to_string();
        let command = [&program, SERVER, &port.to_string()];
        let log = folder.path().join("log");
        let mut process = Process::start(&command, &Place::here(), &log, "python3");
        eventually("the server to serve", || {
            assert!(process.is_alive(), "the server has died: {}", process.log());
            get(&address, "/")
        });
        let mut example = Example::new(SECTION, "python", folder.path().join("publish"));
        example.search(python.parent().expect("a folder"));
        for (name, value) in [
            ("AWS_ENDPOINT_URL", &*format!("http://{address}")),
            ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "name"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_CONFIG_FILE", "/nonexistent"),
            ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
        ] {
            example.set(name, value);
        }
        let made = Self { _process: process, address, example, _folder: folder };
        made.ask("PUT", "").exits(0);
        made
    }

    /// Asks for something in the bucket.
    fn ask(&self, method: &str, path: &str) -> elect_testkit::program::Ended {
        let url = format!("http://{}/reports{path}", self.address);
        let curl = Elect::new("curl").args(["-sS", "-f", "-X", method, &url]);
        curl.args(["--aws-sigv4", "aws:amz:us-east-1:s3", "-u", "name:secret"]).run()
    }
}

impl Resource for ObjectStorage {
    fn example(&self) -> &Example {
        &self.example
    }

    fn total(&self) -> String {
        let object = self.ask("GET", "/totals.json").exits(0).stdout;
        let object: serde_json::Value = serde_json::from_str(&object).expect("JSON");
        object["total"].to_string()
    }
}

#[test]
fn its_script_and_its_commands_work_as_they_are_written() {
    let storage = ObjectStorage::new();
    storage.example.does_as_shown();
    assert_eq!(storage.total(), "42");
}

/// It has looked, and has sent half of what it writes.
fn a_leader_that_stood_still_between_its_check_and_its_write_is_refused(arena: &Arena) {
    resource::a_leader_that_stood_still_is_refused(arena, &ObjectStorage::new(), 2);
}

#[test]
fn a_writer_stopped_at_any_request_writes_nothing_later() {
    resource::a_writer_stopped_at_any_request_writes_nothing_later(&ObjectStorage::new());
}

/// Object storage tells one object from another by a checksum of its contents, so the token has to be in there.
#[test]
fn the_same_total_by_another_leader_is_not_taken_for_the_old_one() {
    let storage = ObjectStorage::new();
    let call = |token, total: &str| storage.example.call(token).arg(total);
    call(5, "1").run().exits(0).is_silent();
    let late = Stopped::at(call(5, "9"), SENDS, 1, storage.example.folder());
    call(7, "1").run().exits(0).is_silent();
    late.go_on().exits(1).says("token 5 is stale: 7 has come");
    assert_eq!(storage.total(), "1");
}

#[test]
fn without_a_token_nothing_is_written() {
    let storage = ObjectStorage::new();
    storage.example.call(7).arg("7").env("ELECT_TOKEN", "").run().exits(1).says("ValueError");
    storage.ask("GET", "/totals.json").exits(22);
}
