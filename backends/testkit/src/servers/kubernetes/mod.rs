//! A Kubernetes API server for tests. The fake has what elections need: Leases, labels of pods, events, watches and
//! rights. Deep tests use a real one (1.20). One list of [cases](cases::cases) holds for both.

mod access;
mod answer;
pub mod cases;
mod client;
mod doorkeeper;
mod elector;
mod faults;
mod listing;
mod objects;
mod programs;
mod real;
mod request;
mod rest;
mod review;
mod serve;
mod status;
mod store;
mod watch;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

pub use self::access::{ANY, Rule};
pub use self::client::{Ask, ask, parse};
pub use self::elector::{ClientGo, GoElector, GoEvent, GoSetup};
pub use self::faults::{Counts, Fault, Scope};
pub use self::programs::program;
use self::real::Real;
use self::serve::{Command, FIRST_WORD, SOCKET};
use super::{Etcd, Place, Process, free_port};
use crate::program::{PATIENCE, eventually, state};

/// The namespaces that exist at the start.
pub const NAMESPACES: [&str; 2] = ["default", "elect"];
const ADMIN: &str = "kubernetes-admin";

/// An API server in a process of its own. It dies with this value, and with the thread that started it.
#[derive(Debug)]
pub struct ApiServer {
    process: Process,
    /// The further servers and files of a real one.
    real: Option<Real>,
    place: Place,
    address: SocketAddr,
    folder: TempDir,
    admin: PathBuf,
    users: Mutex<BTreeMap<PathBuf, User>>,
}

#[derive(Clone, Debug)]
struct User {
    name: String,
    token: String,
    rules: Vec<Rule>,
}

impl ApiServer {
    /// Starts a fake on the loopback interface, with the empty namespaces `default` and `elect`.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start() -> Self {
        Self::start_at(&Place::here())
    }

    /// Starts a fake at another place.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start_at(place: &Place) -> Self {
        serve::link();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = SocketAddr::from((place.address(), free_port()));
        let own = std::env::current_exe().expect("the test's own executable");
        let words = [
            &own.display().to_string(),
            FIRST_WORD,
            &address.to_string(),
            &folder.path().display().to_string(),
        ];
        let process = Process::start(&words, place, &folder.path().join("log"), "nothing");
        Self::begin(process, None, place, address, folder)
    }

    /// Starts a real one on the loopback interface, with the same namespaces, on an etcd of its own. It serves after
    /// four seconds.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that builds it.
    pub fn real() -> Self {
        Self::real_at(&Place::here(), &[])
    }

    /// Starts a real one at another place, with further flags.
    ///
    /// # Panics
    /// As [`real`](Self::real).
    pub fn real_at(place: &Place, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = SocketAddr::from((place.address(), free_port()));
        let real = Real::start(place, address, folder.path());
        let own = real.command();
        let words: Vec<&str> =
            own.iter().map(String::as_str).chain(flags.iter().copied()).collect();
        let process = Process::start(&words, place, &folder.path().join("log"), "nothing");
        Self::begin(process, Some(real), place, address, folder)
    }

    fn begin(
        process: Process,
        real: Option<Real>,
        place: &Place,
        address: SocketAddr,
        folder: TempDir,
    ) -> Self {
        let admin = folder.path().join(format!("{ADMIN}.yaml"));
        let users = Mutex::new(BTreeMap::new());
        let place = place.clone();
        let mut server = Self { process, real, place, address, folder, admin, users };
        server.wait_until_it_serves();
        for namespace in NAMESPACES {
            server.add_namespace(namespace);
        }
        server.add_user(ADMIN, &[Rule::everything()]);
        server
    }

    fn wait_until_it_serves(&mut self) {
        eventually("an API server", || {
            let log = self.process.log();
            assert!(self.process.is_alive(), "the API server has ended: {log}");
            if let Some(real) = &self.real {
                return real.serves().then_some(());
            }
            let address = self.address;
            self.place.inside(|| TcpStream::connect(address)).ok()?;
            UnixStream::connect(self.folder.path().join(SOCKET)).ok().map(drop)
        });
    }

    /// Returns a real server's etcd, to stop, kill or restart it.
    ///
    /// # Panics
    /// Panics with a fake.
    pub fn etcd(&mut self) -> &mut Etcd {
        &mut self.real.as_mut().expect("a fake has no etcd").etcd
    }

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its process.
    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns its process id.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Returns the configuration of a user with all rights, whose namespace is `elect`.
    pub fn kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// Creates a user with only these rights, and returns its configuration.
    pub fn kubeconfig_of(&self, rules: &[Rule]) -> PathBuf {
        self.add_user(&format!("user-{:08x}", fastrand::u32(..)), rules)
    }

    /// Sets the rights of the user with this name, and returns its configuration. Its token is `NAME-token` until it is
    /// [renewed](Self::renew_token).
    ///
    /// # Panics
    /// Panics if the configuration cannot be written.
    pub fn add_user(&self, name: &str, rules: &[Rule]) -> PathBuf {
        let token = format!("{name}-token");
        let path = self.folder.path().join(format!("{name}.yaml"));
        self.enter_user(&path, User { name: name.to_owned(), token, rules: rules.to_vec() });
        path
    }

    fn enter_user(&self, path: &Path, user: User) {
        let User { name, token, rules } = user.clone();
        let text = self.configuration(&user);
        match &self.real {
            Some(real) => real.add_user(&name, &token, &rules),
            None => _ = self.command(&Command::User { name, token, rules }),
        }
        let part = path.with_extension("part");
        let mut file = File::options();
        // elect warns about credentials that all users can read.
        let file = file.write(true).create(true).truncate(true).mode(0o600).open(&part);
        file.and_then(|mut file| file.write_all(text.as_bytes())).expect("a file");
        fs::rename(&part, path).expect("a file in a temporary folder");
        self.users.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), user);
    }

    fn configuration(&self, User { name, token, .. }: &User) -> String {
        let mut cluster = format!("server: http://{}", self.address);
        if let Some(real) = &self.real {
            let ca = real.ca().display().to_string();
            cluster = format!("server: https://{}\n    certificate-authority: {ca}", self.address);
        }
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\nclusters:\n- name: test\n  cluster:\n    \
             {cluster}\ncontexts:\n- name: {name}\n  context:\n    cluster: test\n    user: {name}\n    \
             namespace: elect\nusers:\n- name: {name}\n  user:\n    token: {token}\n"
        )
    }

    fn user(&self, kubeconfig: &Path) -> User {
        let users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users
            .get(kubeconfig)
            .cloned()
            .unwrap_or_else(|| panic!("{} is not ours", kubeconfig.display()))
    }

    /// Returns the token in a configuration.
    ///
    /// # Panics
    /// Panics if this server did not create the configuration.
    pub fn token(&self, kubeconfig: &Path) -> String {
        self.user(kubeconfig).token
    }

    /// Makes the token in a configuration invalid (401). A real server takes ten seconds for that.
    ///
    /// # Panics
    /// As [`token`](Self::token).
    pub fn expire_token(&self, kubeconfig: &Path) {
        self.expire(&self.token(kubeconfig));
    }

    /// Makes this token invalid.
    pub fn expire(&self, token: &str) {
        match &self.real {
            Some(real) => real.expire_token(token),
            None => _ = self.command(&Command::Expire { token: token.to_owned() }),
        }
    }

    /// Writes another token for the same user into a configuration. The old one stays valid until it
    /// [expires](Self::expire_token).
    ///
    /// # Panics
    /// As [`token`](Self::token).
    pub fn renew_token(&self, kubeconfig: &Path) {
        let user = self.user(kubeconfig);
        let token = format!("{}-token-{:08x}", user.name, fastrand::u32(..));
        self.enter_user(kubeconfig, User { token, ..user });
    }

    /// Creates a namespace, unless it exists.
    pub fn add_namespace(&self, name: &str) {
        match &self.real {
            Some(real) => real.add_namespace(name),
            None => _ = self.command(&Command::Namespace(name.to_owned())),
        }
    }

    /// Returns the URL of elect's store in a namespace, for a user with all rights.
    pub fn url(&self, namespace: &str) -> String {
        Self::url_with(namespace, &self.admin)
    }

    /// Returns the URL of elect's store in a namespace, for the user of a configuration.
    pub fn url_with(namespace: &str, kubeconfig: &Path) -> String {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
        let path = kubeconfig.display().to_string();
        let encoded = path.bytes().map(|byte| {
            if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        });
        format!("kubernetes:///{namespace}?kubeconfig={}", encoded.collect::<String>())
    }

    /// Sends a request as a user with all rights, and returns status and body. The body is JSON if it can be parsed,
    /// else a text. With PATCH a body is a merge patch.
    ///
    /// # Panics
    /// Panics without an answer.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let token = self.token(&self.admin);
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        self.ask(&Ask { method, path, token: Some(&token), body: &body, ..Ask::default() })
    }

    /// Sends a request as any user.
    ///
    /// # Panics
    /// Panics without an answer.
    pub fn ask(&self, what: &Ask<'_>) -> (u16, Value) {
        let address = self.address;
        let answer = match &self.real {
            Some(real) => real.ask(what),
            None => self.place.inside(|| ask(address, what)),
        };
        answer.unwrap_or_else(|error| panic!("{} {}: {error}", what.method, what.path))
    }

    /// Stops it by SIGSTOP. It is silent then, and keeps its connections.
    ///
    /// # Panics
    /// Panics if it is dead.
    pub fn stop(&self) {
        self.process.signal(Signal::SIGSTOP);
        eventually("a server to stop", || (state(self.pid()) == Some('T')).then_some(()));
    }

    /// Continues it after [`stop`](Self::stop).
    ///
    /// # Panics
    /// Panics if it is dead.
    pub fn resume(&self) {
        self.process.signal(Signal::SIGCONT);
    }

    /// Kills it. All acknowledged writes are kept.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Restarts it at the same address with all its objects, users and tokens. It knows no change from before the
    /// start, so a watch from an earlier version gets 410. Faults and counts start anew. A real server's etcd has to be
    /// alive.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn restart(&mut self) {
        self.process.restart();
        self.wait_until_it_serves();
    }

    /// Injects a fault.
    ///
    /// # Panics
    /// Panics with a real server.
    pub fn fault(&self, fault: Fault) {
        self.command(&Command::Fault(fault));
    }

    /// Returns the counts so far. A real server counts only requests and answers, including its own requests. It counts
    /// a watch at its end.
    pub fn counts(&self) -> Counts {
        self.real.as_ref().map_or_else(|| self.command(&Command::Counts), Real::counts)
    }

    /// Forgets all earlier versions. A request for one of them gets 410.
    ///
    /// # Panics
    /// Panics with a real server.
    pub fn compact(&self) {
        self.command(&Command::Compact);
    }

    /// Sends a bookmark to all watches that want them. A real server does that once a minute.
    ///
    /// # Panics
    /// Panics with a real server.
    pub fn bookmark(&self) {
        self.command(&Command::Bookmark);
    }

    fn command(&self, command: &Command) -> Counts {
        assert!(self.real.is_none(), "a real API server does not obey {command:?}");
        let call = || -> std::io::Result<Counts> {
            let mut stream = UnixStream::connect(self.folder.path().join(SOCKET))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            writeln!(stream, "{}", serde_json::to_string(command)?)?;
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line)?;
            Ok(serde_json::from_str(&line)?)
        };
        call().unwrap_or_else(|error| panic!("the API server does not obey {command:?}: {error}"))
    }
}

#[cfg(test)]
mod tests;
