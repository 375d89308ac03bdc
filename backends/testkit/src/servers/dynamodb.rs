//! Programs that answer as `DynamoDB` does: moto, in Python, and dynalite, in JavaScript. They share no code. Both keep
//! their data in memory.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Database, DatabaseServer, Part, Place, Process, fetched, free_port};
use crate::program::eventually;

const SETUP: &str = "tests/run setup";
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
    address: SocketAddr,
    _folder: TempDir,
}

impl<const PROGRAM: usize> Servers<PROGRAM> {
    /// Starts a server, and returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    pub fn start() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let port = address.port().to_string();
        let there = |path: &str| {
            let found = fetched(path).unwrap_or_else(|| panic!("{path} is missing: {SETUP}"));
            found.display().to_string()
        };
        let command = if PROGRAM == MOTO {
            vec![there("python/bin/python"), source("one_at_a_time.py"), port]
        } else {
            let dynalite = there("npm/node_modules/dynalite/cli.js");
            let quick = ["--createTableMs", "0", "--deleteTableMs", "0"].map(str::to_owned);
            [vec!["node".into(), dynalite, "--port".into(), port], quick.to_vec()].concat()
        };
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let process =
            Process::start(&command, &Place::here(), &folder.path().join("log"), "nodejs");
        let mut started = Self { process, address, _folder: folder };
        eventually("DynamoDB to serve", || {
            assert!(started.process.is_alive(), "it has died: {}", started.process.log());
            asked(address, "ListTables", &json!({}))
        });
        started
    }

    /// Makes the table of elect, as an administrator does.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub fn create(server: SocketAddr, name: &str) {
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
        asked(server, "CreateTable", &table).expect("a table");
        eventually("a table", || {
            let made = asked(server, "DescribeTable", &json!({"TableName": name}))?;
            (made["Table"]["TableStatus"] == "ACTIVE").then_some(())
        });
    }

    /// Returns the answer to a request of the administrator; `None` if it is refused.
    ///
    /// # Panics
    /// Panics without a client.
    pub fn ask_at(server: SocketAddr, operation: &str, question: &Value) -> Option<Value> {
        asked(server, operation, question)
    }
}

fn asked(server: SocketAddr, operation: &str, question: &Value) -> Option<Value> {
    let mut client = Command::new("curl")
        .args(["--silent", "--fail", "--max-time", "10", "--config", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("no client: {SETUP} ({error})"));
    let quoted = |text: &str| Value::from(text).to_string();
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
    let headers = headers.map(|header| format!("header = {}\n", quoted(&header))).concat();
    let (url, body) = (quoted(&format!("http://{server}/")), quoted(&question.to_string()));
    let lines = format!("url = {url}\n{headers}data-raw = {body}\n");
    let mut input = client.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("it reads");
    drop(input);
    let output = client.wait_with_output().expect("it was started");
    output.status.success().then(|| serde_json::from_slice(&output.stdout).ok())?
}

/// A file beside this one.
fn source(name: &str) -> String {
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
        asked(self.address, "Scan", &question).map(|it| it.to_string()).unwrap_or_default()
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
        let credentials = source("aws_credentials");
        format!(
            "dynamodb://{name}?region={REGION}&endpoint=http://{server}&credentials-file={credentials}"
        )
    }

    fn empty(server: SocketAddr, name: &str) {
        let found = asked(server, "Scan", &json!({"TableName": name})).expect("items");
        for item in found["Items"].as_array().expect("items") {
            if item["election"]["S"] != "-" {
                let key = json!({"election": item["election"], "document": item["document"]});
                asked(server, "DeleteItem", &json!({"TableName": name, "Key": key}));
            }
        }
    }
}
