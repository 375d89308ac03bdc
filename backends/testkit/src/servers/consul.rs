//! Consul: one server or three, on ports of one machine. Each client shows a token.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::folder::run;
use super::{Database, DatabaseServer, DatabaseSetup, Part, Process, Rights, fetched, free_port};
use crate::program::eventually;

const SETUP: &str = "tests/run setup";
/// The token that may do all.
const TOKEN: &str = "00000000-0000-0000-0000-0000000000aa";

/// One server, as most tests have it.
pub type Consul = Servers<1>;

/// Running servers, so many unless a test says other. They know the token of a user by its name: see
/// [`Servers::token`].
#[derive(Debug)]
pub struct Servers<const COUNT: usize> {
    members: Vec<Server>,
    /// The ports at which servers find one another.
    peers: Vec<u16>,
    folder: TempDir,
}

#[derive(Debug)]
struct Server {
    process: Process,
    address: SocketAddr,
    socket: PathBuf,
}

impl<const COUNT: usize> Servers<COUNT> {
    /// Starts servers, and returns when they serve.
    ///
    /// # Panics
    /// Panics if they cannot be started. The message names the command that installs them.
    pub fn start() -> Self {
        Self::start_as(COUNT, &DatabaseSetup::default(), &Value::Null)
    }

    /// Starts so many servers with this setup and further settings, and returns when they serve.
    ///
    /// # Panics
    /// As [`Servers::start`].
    pub fn start_as(count: usize, setup: &DatabaseSetup, settings: &Value) -> Self {
        let peers: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let own = peers.iter().map(|port| {
            let mut own = json!({
                "server": true,
                "bootstrap_expect": count,
                "ports": {"serf_lan": port, "server": free_port()},
                "performance": {"raft_multiplier": 1},
            });
            merge(&mut own, settings);
            own
        });
        Self::start_each(own, &peers, setup)
    }

    /// Starts an agent that passes requests on to the servers.
    ///
    /// # Panics
    /// As [`Servers::start`].
    pub fn agent(&self) -> Self {
        let own = json!({"ports": {"serf_lan": free_port(), "server": free_port()}});
        Self::start_each([own].into_iter(), &self.peers, &DatabaseSetup::default())
    }

    fn start_each(
        settings: impl Iterator<Item = Value>,
        peers: &[u16],
        setup: &DatabaseSetup,
    ) -> Self {
        let program = fetched("consul/usr/bin/consul");
        let program = program.unwrap_or_else(|| panic!("Consul is missing: {SETUP}"));
        let folder = setup.disk.as_deref().map_or_else(TempDir::new, TempDir::new_in);
        let folder = folder.expect("a temporary folder");
        let ip = setup.place.address();
        let known: Vec<String> = peers.iter().map(|port| format!("{ip}:{port}")).collect();
        let members = settings.enumerate().map(|(number, own)| {
            let home = folder.path().join(number.to_string());
            fs::create_dir(&home).expect("a folder");
            let (address, socket) = (SocketAddr::from((ip, free_port())), home.join("socket"));
            let mut config = json!({
                "node_name": format!("node{}", address.port()),
                "bind_addr": ip.to_string(),
                "addresses": {"http": format!("{ip} unix://{}", socket.display())},
                "ports": {"http": address.port(), "dns": -1, "grpc": -1, "serf_wan": -1},
                "data_dir": home.join("data"),
                "retry_join": known,
                "retry_interval": "1s",
                "acl": {
                    "enabled": true, "default_policy": "deny",
                    "tokens": {"master": TOKEN, "agent": TOKEN},
                },
                "disable_update_check": true,
            });
            merge(&mut config, &own);
            let file = home.join("config.json");
            fs::write(&file, config.to_string()).expect("written");
            let mut command = setup.under.clone();
            command.extend([program.display().to_string(), "agent".to_owned()]);
            command.push(format!("-config-file={}", file.display()));
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            let process = Process::start(&command, &setup.place, &home.join("log"), "consul");
            Server { process, address, socket }
        });
        let members = members.collect();
        let mut started = Self { members, peers: peers.to_owned(), folder };
        for number in 0..started.members.len() {
            started.serve(number);
        }
        started
    }

    fn serve(&mut self, number: usize) {
        eventually("Consul to serve", || {
            let server = &mut self.members[number];
            assert!(server.process.is_alive(), "Consul has died: {}", server.process.log());
            // Writes wait for the tokens.
            let answer = server.ask("PUT", "/v1/kv/serves", "1");
            (answer.as_deref() == Some("true")).then_some(())
        });
    }

    /// Returns the addresses of all servers.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|server| server.address).collect()
    }

    /// Returns the number of the server that leads.
    ///
    /// # Panics
    /// Panics if none does.
    pub fn leader(&self) -> usize {
        eventually("a leader of Consul's servers", || {
            self.members.iter().position(|server| {
                let state = server.ask("GET", "/v1/agent/self", "").unwrap_or_default();
                let state: Value = serde_json::from_str(&state).unwrap_or_default();
                state.pointer("/Stats/consul/leader") == Some(&json!("true"))
            })
        })
    }

    /// Returns the process of a server.
    pub fn server(&mut self, number: usize) -> &mut Process {
        &mut self.members[number].process
    }

    /// Returns the token of a user.
    pub fn token(user: &str) -> String {
        if user == "elect" {
            return TOKEN.to_owned();
        }
        let hash = user.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("00000000-0000-0000-{:04x}-{:012x}", hash >> 48, hash & 0xffff_ffff_ffff)
    }

    /// Returns the answer to a request of the administrator, at a server's address.
    ///
    /// # Panics
    /// Panics if there is none.
    #[track_caller]
    pub fn ask_at(server: SocketAddr, method: &str, path: &str, body: &str) -> String {
        let url = format!("http://{server}{path}");
        asked(&[], &url, method, body).unwrap_or_else(|| panic!("{method} {path}: no answer"))
    }
}

impl Server {
    /// The answer over the socket, which is reached from any network.
    fn ask(&self, method: &str, path: &str, body: &str) -> Option<String> {
        let socket = self.socket.display().to_string();
        asked(&["--unix-socket", &socket], &format!("http://localhost{path}"), method, body)
    }
}

fn asked(way: &[&str], url: &str, method: &str, body: &str) -> Option<String> {
    let mut client = Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--max-time", "10", "--config", "-"])
        .args(way)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("no client: {SETUP} ({error})"));
    let quoted = |text: &str| Value::from(text).to_string();
    let header = quoted(&format!("X-Consul-Token: {TOKEN}"));
    let data =
        if body.is_empty() { String::new() } else { format!("data-raw = {}\n", quoted(body)) };
    let lines = format!("url = {}\nrequest = {method}\nheader = {header}\n{data}", quoted(url));
    let mut input = client.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("it reads");
    drop(input);
    let output = client.wait_with_output().expect("it was started");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Adds settings to others, and replaces those of the same name.
fn merge(config: &mut Value, settings: &Value) {
    match (config, settings) {
        (Value::Object(config), Value::Object(settings)) => {
            for (name, value) in settings {
                merge(config.entry(name).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (config, value) => *config = value.clone(),
    }
}

impl<const COUNT: usize> DatabaseServer for Servers<COUNT> {
    fn address(&self) -> SocketAddr {
        self.members[0].address
    }

    fn process(&mut self) -> &mut Process {
        &mut self.members[0].process
    }

    /// Returns the values of the keys that begin so.
    fn ask(&self, beginning: &str) -> String {
        self.members[0].ask("GET", &format!("/v1/kv/{beginning}?recurse"), "").unwrap_or_default()
    }

    fn table(&self) -> &'static str {
        "elect"
    }

    fn has_waiter(&self) -> bool {
        self.ask("elect/job/waiter-").contains("waiter-")
    }

    fn kill(&mut self) {
        for member in &mut self.members {
            member.process.kill();
        }
    }

    fn revive(&mut self) {
        for member in &mut self.members {
            member.process.restart();
        }
        for number in 0..self.members.len() {
            self.serve(number);
        }
    }

    fn stop(&self, is_stopped: bool) {
        for server in &self.members {
            server.process.stop(is_stopped);
        }
    }

    fn run_out_of_room(&mut self) {
        // It notices at the next write.
    }

    fn back_up(&mut self) -> String {
        let name = format!("backup{}", fastrand::u32(..));
        // As a snapshot of its disk has it.
        self.stop(true);
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        run(&[], &["cp", "-a", &path("0/data"), &path(&name)]);
        self.stop(false);
        name
    }

    fn restore(&mut self, backup: &str) {
        self.kill();
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        fs::remove_dir_all(path("0/data")).expect("no server");
        run(&[], &["cp", "-a", &path(backup), &path("0/data")]);
        self.revive();
    }
}

impl<const COUNT: usize> Database for Servers<COUNT> {
    fn part() -> Option<Part> {
        Part::of_consul(COUNT)
    }

    fn start() -> Self {
        Self::start()
    }

    fn greets() -> bool {
        false
    }

    fn lose(&mut self, backup: &str) -> String {
        self.restore(backup);
        backup.to_owned()
    }

    fn url(server: SocketAddr, user: &str, name: &str) -> String {
        format!("consul://{user}:{}@{server}/{name}", Self::token(user))
    }

    fn empty(server: SocketAddr, name: &str) {
        let keys = Self::ask_at(server, "GET", "/v1/kv/?keys", "");
        let keys: Vec<String> = serde_json::from_str(&keys).expect("keys");
        let beginning = format!("{name}/");
        let rows = keys.iter().filter(|key| key.starts_with(&beginning) && !key.ends_with("/-/id"));
        for key in rows {
            Self::ask_at(server, "DELETE", &format!("/v1/kv/{key}"), "");
        }
    }

    fn admit(server: SocketAddr, user: &str, name: &str, rights: Rights) {
        let rules = match rights {
            Rights::None => "key_prefix \"others/\" { policy = \"write\" }".to_owned(),
            Rights::Read => format!("key_prefix \"{name}/\" {{ policy = \"read\" }}"),
        };
        let policy = json!({"Name": user, "Rules": rules}).to_string();
        Self::ask_at(server, "PUT", "/v1/acl/policy", &policy);
        let token = json!({"SecretID": Self::token(user), "Policies": [{"Name": user}]});
        Self::ask_at(server, "PUT", "/v1/acl/token", &token.to_string());
    }
}
