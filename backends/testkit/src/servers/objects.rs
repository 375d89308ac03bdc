//! Programs that answer as Amazon S3 does: moto, in Python, and `SeaweedFS`, which keeps its data on the disk. They
//! share no code.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use super::dynamodb::{SETUP, control, curl, secrets, source};
use super::{
    Database, DatabaseServer, DatabaseSetup, Part, Place, Process, Rights, fetched, free_port,
};
use crate::program::eventually;

const REGION: &str = "us-east-1";
/// The bucket of all tests. Each has its own prefix in it.
const BUCKET: &str = "elect";
/// The first object of a server.
const READY: &str = "elect/ready";
/// The number of [`MotoS3`].
const MOTO: usize = 0;
/// The number of [`SeaweedFs`].
const SEAWEEDFS: usize = 1;

/// A server of moto.
pub type MotoS3 = Servers<MOTO>;
/// A server of `SeaweedFS`.
pub type SeaweedFs = Servers<SEAWEEDFS>;

/// A server with the program of this number.
#[derive(Debug)]
pub struct Servers<const PROGRAM: usize> {
    process: Process,
    place: Place,
    address: SocketAddr,
    /// What the program leaves behind.
    sockets: Vec<String>,
    _folder: TempDir,
}

impl<const PROGRAM: usize> Drop for Servers<PROGRAM> {
    fn drop(&mut self) {
        self.process.kill();
        for socket in &self.sockets {
            let _ = std::fs::remove_file(socket);
        }
    }
}

impl<const PROGRAM: usize> Servers<PROGRAM> {
    /// Starts a server, and returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    pub fn start() -> Self {
        Self::start_as(&DatabaseSetup::default())
    }

    /// The same at a place.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_as(setup: &DatabaseSetup) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let (place, at) = (setup.place.clone(), folder.path().display().to_string());
        let address = SocketAddr::from((place.address(), free_port()));
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let there = |path: &str| {
            let found = fetched(path).unwrap_or_else(|| panic!("{path} is missing: {SETUP}"));
            found.display().to_string()
        };
        let (mut command, mut sockets) = (Vec::new(), Vec::new());
        if PROGRAM == MOTO {
            command.extend([there("python/bin/python"), source("one_at_a_time.py"), host, port]);
        } else {
            command.extend(["env".to_owned(), format!("TMPDIR={at}")]);
            // A bucket takes one volume, not seven of the eight that a server has by itself.
            command.push("WEED_MASTER_VOLUME_GROWTH_COPY_1=1".to_owned());
            command.push(there("python/bin/weed"));
            let volumes = ["-volume.max=100", "-master.volumeSizeLimitMB=1024"];
            command.extend(["server", "-s3"].into_iter().chain(volumes).map(str::to_owned));
            command.push(format!("-s3.config={}", source("seaweedfs_users.json")));
            // It would tell its makers of itself.
            let settings = ["master.telemetry=false", "s3.port.iceberg=0", "s3.port.lance=0"];
            command.extend(settings.map(|setting| format!("-{setting}")));
            command.extend([
                format!("-dir={at}"),
                format!("-ip={host}"),
                format!("-ip.bind={host}"),
            ]);
            command.push(format!("-s3.port={port}"));
            for part in ["master", "volume", "filer", "s3"] {
                let port = free_port();
                command.push(format!("-{part}.port.grpc={port}"));
                // Wherever its other files are.
                sockets.push(format!("/tmp/seaweedfs-{part}-grpc-{port}.sock"));
            }
            let ports =
                ["master", "volume", "filer"].map(|it| format!("-{it}.port={}", free_port()));
            command.extend(ports);
            command.extend(["filer", "s3"].map(|it| format!("-{it}.localSocket={at}/{it}.sock")));
        }
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let process = Process::start(&command, &place, &folder.path().join("log"), "python3");
        let mut started = Self { process, place, address, sockets, _folder: folder };
        eventually("S3 to serve", || {
            assert!(started.process.is_alive(), "it has died: {}", started.process.log());
            // As an administrator does.
            send::<PROGRAM>(&started.place, address, ("PUT", BUCKET), None)
        });
        // A bucket is there before the first volume of it is.
        eventually("S3 to keep an object", || {
            send::<PROGRAM>(&started.place, address, ("PUT", READY), Some("ready"))?;
            (started.ask(READY) == "ready").then_some(())
        });
        send::<PROGRAM>(&started.place, address, ("DELETE", READY), None);
        started
    }

    /// Makes another bucket with an object in it.
    ///
    /// # Panics
    /// Panics if it is refused.
    pub fn make(server: SocketAddr, bucket: &str) {
        ask::<PROGRAM>(server, "PUT", bucket).expect("a bucket");
        let object = format!("{bucket}/first");
        send::<PROGRAM>(&Place::here(), server, ("PUT", &object), Some("text")).expect("an object");
    }

    /// Changes a setting of the bucket, such as `versioning`.
    ///
    /// # Panics
    /// Panics if it is refused.
    pub fn set(server: SocketAddr, setting: &str, text: &str) {
        let change = ("PUT", &*format!("{BUCKET}?{setting}"));
        send::<PROGRAM>(&Place::here(), server, change, Some(text)).expect("done");
    }

    /// Returns the keys below a prefix: a thousand at most.
    ///
    /// # Panics
    /// Panics if it does not answer.
    pub fn keys(server: SocketAddr, prefix: &str) -> Vec<String> {
        let list = ask::<PROGRAM>(server, "GET", &format!("{BUCKET}?list-type=2&prefix={prefix}/"));
        let list = list.expect("a list");
        let keys = list.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
        keys.map(|(key, _)| key.to_owned()).collect()
    }

    /// Writes an object.
    ///
    /// # Panics
    /// Panics if it is refused.
    pub fn put(server: SocketAddr, key: &str, text: &str) {
        let put = ("PUT", &*format!("{BUCKET}/{key}"));
        send::<PROGRAM>(&Place::here(), server, put, Some(text)).expect("done");
    }

    /// Removes an object.
    pub fn remove(server: SocketAddr, key: &str) {
        ask::<PROGRAM>(server, "DELETE", &format!("{BUCKET}/{key}"));
    }

    /// Returns the text of an object; `None` if there is none.
    pub fn text(server: SocketAddr, key: &str) -> Option<String> {
        ask::<PROGRAM>(server, "GET", &format!("{BUCKET}/{key}"))
    }
}

/// Returns the answer to a request of the administrator; `None` if it is refused.
fn ask<const PROGRAM: usize>(server: SocketAddr, method: &str, path: &str) -> Option<String> {
    send::<PROGRAM>(&Place::here(), server, (method, path), None)
}

/// The same from a place, with a body.
fn send<const PROGRAM: usize>(
    place: &Place,
    server: SocketAddr,
    (method, path): (&str, &str),
    body: Option<&str>,
) -> Option<String> {
    // moto knows by that which service is meant, and does not check it. SeaweedFS has a user without a name.
    let signature = format!(
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIA/20260101/{REGION}/s3/aws4_request, SignedHeaders=host, \
         Signature=0"
    );
    let mut headers = vec!["Content-Type: application/xml".to_owned()];
    headers.extend((PROGRAM == MOTO).then_some(signature));
    let url = format!("http://{server}/{path}");
    let answer = curl(place, (method, &url), &headers, body)?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

/// The users that this process has made, with the files of their credentials.
static USERS: Mutex<BTreeMap<String, &str>> = Mutex::new(BTreeMap::new());

/// The file with the credentials of a user.
fn credentials(user: &str) -> String {
    let users = USERS.lock().expect("no panic");
    secrets(users.get(user).copied().unwrap_or("aws_credentials"))
}

impl<const PROGRAM: usize> DatabaseServer for Servers<PROGRAM> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn ask(&self, path: &str) -> String {
        send::<PROGRAM>(&self.place, self.address, ("GET", path), None).unwrap_or_default()
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
        Part::of_objects(PROGRAM)
    }

    fn start() -> Self {
        Self::start()
    }

    fn greets() -> bool {
        false
    }

    fn url(server: SocketAddr, user: &str, name: &str) -> String {
        let credentials = credentials(user);
        format!(
            "s3://{BUCKET}/{name}/rows?region={REGION}&order=queue&endpoint=http://{server}&allow-plain&\
             credentials-file={credentials}"
        )
    }

    fn admit(_server: SocketAddr, user: &str, _name: &str, rights: Rights) {
        let file = if rights == Rights::Read { "aws_reader" } else { "aws_nobody" };
        USERS.lock().expect("no panic").insert(user.to_owned(), file);
    }

    fn empty(server: SocketAddr, name: &str) {
        for key in Self::keys(server, name).into_iter().filter(|key| !key.contains("/-/")) {
            Self::remove(server, &key);
        }
    }
}
