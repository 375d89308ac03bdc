//! Programs that answer as `DynamoDB` does: moto, in Python, and dynalite, in JavaScript. They share no code. Both keep
//! their data in memory.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Database, DatabaseServer, DatabaseSetup, Part, Place, Process, fetched, free_port};
use crate::program::eventually;

pub(super) const SETUP: &str = "tests/run setup";
const REGION: &str = "eu-west-1";
/// The number of [`Moto`].
const MOTO: usize = 0;
/// The number of [`Dynalite`].
const DYNALITE: usize = 1;

/// A server of moto.
pub type Moto = Servers<MOTO>;
/// A server of dynalite.
pub type Dynalite = Servers<DYNALITE>;

/// A server with the program of this number.
#[derive(Debug)]
pub struct Servers<const PROGRAM: usize> {
    process: Process,
    place: Place,
    address: SocketAddr,
    _folder: TempDir,
}

impl<const PROGRAM: usize> Servers<PROGRAM> {
    /// Starts a server, and returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    pub fn start() -> Self {
        Self::start_as(&DatabaseSetup::default())
    }

    /// The same at a place, without the table of elect.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_as(setup: &DatabaseSetup) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let place = setup.place.clone();
        let address = SocketAddr::from((place.address(), free_port()));
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let there = |path: &str| {
            let found = fetched(path).unwrap_or_else(|| panic!("{path} is missing: {SETUP}"));
            found.display().to_string()
        };
        let command = if PROGRAM == MOTO {
            vec![there("python/bin/python"), source("one_at_a_time.py"), host, port]
        } else {
            let dynalite = there("npm/node_modules/dynalite/cli.js");
            let quick = ["--createTableMs", "0", "--deleteTableMs", "0"].map(str::to_owned);
            let at = ["node".into(), dynalite, "--host".into(), host, "--port".into(), port];
            [at.to_vec(), quick.to_vec()].concat()
        };
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let process = Process::start(&command, &place, &folder.path().join("log"), "nodejs");
        let mut started = Self { process, place, address, _folder: folder };
        eventually("DynamoDB to serve", || {
            assert!(started.process.is_alive(), "it has died: {}", started.process.log());
            started.try_ask("ListTables", &json!({}))
        });
        started
    }

    /// Makes the table of elect, as an administrator does.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub fn create(server: SocketAddr, name: &str) {
        create(&Place::here(), server, name);
    }

    /// The same on this server.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub fn create_here(&self) {
        create(&self.place, self.address, self.table());
    }

    /// Returns the answer to a request of the administrator; `None` if it is refused.
    ///
    /// # Panics
    /// Panics without a client.
    pub fn try_ask(&self, operation: &str, question: &Value) -> Option<Value> {
        asked(&self.place, self.address, operation, question)
    }

    /// The same of a server on this machine.
    ///
    /// # Panics
    /// Panics without a client.
    pub fn ask_at(server: SocketAddr, operation: &str, question: &Value) -> Option<Value> {
        asked(&Place::here(), server, operation, question)
    }

    /// Returns the ids of the keys that have signed a request to moto, in their order.
    ///
    /// # Panics
    /// Panics if it does not answer.
    pub fn keys(&self) -> Vec<String> {
        let keys = control(&self.place, self.address, None)["keys"].take();
        serde_json::from_value(keys).expect("texts")
    }

    /// Returns how often moto was asked for each operation so far.
    ///
    /// # Panics
    /// Panics if it does not answer.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let counts = control(&self.place, self.address, None)["counts"].take();
        serde_json::from_value(counts).expect("numbers")
    }
}

fn create(place: &Place, server: SocketAddr, name: &str) {
    let (key, attribute) = (
        |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind}),
        |name: &str| json!({"AttributeName": name, "AttributeType": "S"}),
    );
    let table = json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [key("election", "HASH"), key("document", "RANGE")],
        "AttributeDefinitions": [attribute("election"), attribute("document")],
    });
    asked(place, server, "CreateTable", &table).expect("a table");
    eventually("a table", || {
        let made = asked(place, server, "DescribeTable", &json!({"TableName": name}))?;
        (made["Table"]["TableStatus"] == "ACTIVE").then_some(())
    });
}

fn asked(place: &Place, server: SocketAddr, operation: &str, question: &Value) -> Option<Value> {
    // Neither program checks the signature.
    let signature = format!(
        "AWS4-HMAC-SHA256 Credential=AKIA/20260101/{REGION}/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
    );
    let headers = [
        format!("X-Amz-Target: DynamoDB_20120810.{operation}"),
        "Content-Type: application/x-amz-json-1.0".to_owned(),
        "X-Amz-Date: 20260101T000000Z".to_owned(),
        format!("Authorization: {signature}"),
    ];
    sent(place, &format!("http://{server}/"), &headers, Some(question))
}

/// Sets the fault of moto, if there is one, and returns what it has counted.
pub(super) fn control(place: &Place, server: SocketAddr, fault: Option<&Value>) -> Value {
    sent(place, &format!("http://{server}/fault"), &[], fault).expect("moto has faults")
}

/// Returns the answer to a request from a place; `None` if it is refused. With a body it is a POST.
fn sent(place: &Place, url: &str, headers: &[String], body: Option<&Value>) -> Option<Value> {
    let (method, body) = (if body.is_some() { "POST" } else { "GET" }, body.map(Value::to_string));
    serde_json::from_slice(&curl(place, (method, url), headers, body.as_deref())?).ok()
}

/// Returns the answer to a request from a place; `None` if it is refused.
pub(super) fn curl(
    place: &Place,
    (method, url): (&str, &str),
    headers: &[String],
    body: Option<&str>,
) -> Option<Vec<u8>> {
    let words = [place.enter(), vec!["curl".to_owned()]].concat();
    let mut client = Command::new(&words[0])
        .args(&words[1..])
        .args(["--silent", "--fail", "--max-time", "10", "--config", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("no client: {SETUP} ({error})"));
    let quoted = |text: &str| Value::from(text).to_string();
    let mut lines = format!("url = {}\nrequest = {method}\n", quoted(url));
    for header in headers {
        let _ = writeln!(lines, "header = {}", quoted(header));
    }
    if let Some(body) = body {
        let _ = writeln!(lines, "data-raw = {}", quoted(body));
    }
    let mut input = client.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("it reads");
    drop(input);
    let output = client.wait_with_output().expect("it was started");
    output.status.success().then_some(output.stdout)
}

/// A file of credentials beside this one. elect warns of one that everybody can read, and git keeps no such mode.
pub(super) fn secrets(name: &str) -> String {
    let path = source(name);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("our own");
    path
}

/// A file beside this one.
pub(super) fn source(name: &str) -> String {
    format!("{}/src/servers/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl<const PROGRAM: usize> DatabaseServer for Servers<PROGRAM> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn ask(&self, question: &str) -> String {
        let question: Value = serde_json::from_str(question).expect("a question");
        self.try_ask("Scan", &question).map(|it| it.to_string()).unwrap_or_default()
    }

    fn table(&self) -> &'static str {
        "elect"
    }

    fn kill(&mut self) {
        self.process.kill();
    }

    fn stop(&self, is_stopped: bool) {
        self.process.stop(is_stopped);
    }

    fn end_fault(&self) {
        if PROGRAM == MOTO {
            self.fault(&Value::Null);
        }
    }

    fn fault(&self, fault: &Value) {
        control(&self.place, self.address, Some(fault));
    }

    fn met(&self) -> u64 {
        control(&self.place, self.address, None)["met"].as_u64().expect("a number")
    }
}

impl<const PROGRAM: usize> Database for Servers<PROGRAM> {
    fn part() -> Option<Part> {
        let part = Part::of_dynamodb(PROGRAM)?;
        Self::create(part.servers[0], &part.name);
        Some(part)
    }

    fn start() -> Self {
        let started = Self::start();
        Self::create(started.address, "elect");
        started
    }

    fn greets() -> bool {
        false
    }

    fn url(server: SocketAddr, _user: &str, name: &str) -> String {
        let credentials = secrets("aws_credentials");
        format!(
            "dynamodb://{name}?region={REGION}&order=queue&endpoint=http://{server}&allow-plain&\
             credentials-file={credentials}"
        )
    }

    fn empty(server: SocketAddr, name: &str) {
        let ask =
            |operation: &str, question: &Value| asked(&Place::here(), server, operation, question);
        let found = ask("Scan", &json!({"TableName": name})).expect("items");
        for item in found["Items"].as_array().expect("items") {
            if item["election"]["S"] != "-" {
                let key = json!({"election": item["election"], "document": item["document"]});
                ask("DeleteItem", &json!({"TableName": name, "Key": key}));
            }
        }
    }
}
