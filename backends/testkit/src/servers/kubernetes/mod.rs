//! A Kubernetes API server: a fake of what elections need of one (Leases, the labels of pods, events, watches, rights), or a
//! real one (1.20) for the deep tests. One list of [cases](cases::cases) holds for both.

mod access;
mod answer;
pub mod cases;
mod client;
mod doorkeeper;
mod elector;
mod faults;
mod listing;
mod objects;
mod patch;
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
pub(crate) use self::serve::enter;
use self::serve::{Command, FIRST_WORD, SOCKET};
use super::{Etcd, Place, Process, free_port};
use crate::program::{PATIENCE, eventually, state};

/// The namespaces that there are.
pub const NAMESPACES: [&str; 2] = ["default", "elect"];
const ADMIN: &str = "kubernetes-admin";

/// An API server in a process of its own. It dies with this, and with the thread that started it.
#[derive(Debug)]
pub struct ApiServer {
    process: Process,
    /// What a real one has besides.
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
    /// A fake on the loopback interface, with the namespaces `default` and `elect`, and nothing in them.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start() -> Self {
        Self::start_at(&Place::here())
    }

    /// A fake somewhere else.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_at(place: &Place) -> Self {
        crate::oracle::link_programs();
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

    /// A real one on the loopback interface, with the same in it, on an etcd of its own. It serves after four seconds.
    ///
    /// # Panics
    /// When it cannot be started; the message names the command that builds it.
    pub fn real() -> Self {
        Self::real_at(&Place::here(), &[])
    }

    /// A real one somewhere else, with further flags.
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

    /// The etcd of a real one, to be stopped, killed and started again.
    ///
    /// # Panics
    /// When it is a fake.
    pub fn etcd(&mut self) -> &mut Etcd {
        &mut self.real.as_mut().expect("a fake has no etcd").etcd
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// The configuration of somebody who may do everything, with `elect` as its namespace.
    pub fn kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// The configuration of a new user who may do only this.
    pub fn kubeconfig_of(&self, rules: &[Rule]) -> PathBuf {
        self.add_user(&format!("user-{:08x}", fastrand::u32(..)), rules)
    }

    /// A user of this name, who may do only this from now on; the configuration. Its token is `NAME-token` until it is [renewed](Self::renew_token).
    ///
    /// # Panics
    /// When the configuration cannot be written.
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
        // elect warns of credentials that all can read.
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

    /// The token in a configuration.
    ///
    /// # Panics
    /// When the configuration is none of this server's.
    pub fn token(&self, kubeconfig: &Path) -> String {
        self.user(kubeconfig).token
    }

    /// From now on nobody knows the token in a configuration: 401. A real one takes ten seconds.
    ///
    /// # Panics
    /// As [`token`](Self::token).
    pub fn expire_token(&self, kubeconfig: &Path) {
        self.expire(&self.token(kubeconfig));
    }

    /// From now on nobody knows this token.
    pub fn expire(&self, token: &str) {
        match &self.real {
            Some(real) => real.expire_token(token),
            None => _ = self.command(&Command::Expire { token: token.to_owned() }),
        }
    }

    /// Puts another token for the same user into a configuration. The old one stays good until it
    /// [expires](Self::expire_token).
    ///
    /// # Panics
    /// As [`token`](Self::token).
    pub fn renew_token(&self, kubeconfig: &Path) {
        let user = self.user(kubeconfig);
        let token = format!("{}-token-{:08x}", user.name, fastrand::u32(..));
        self.enter_user(kubeconfig, User { token, ..user });
    }

    /// Makes a namespace, if there is none of this name.
    pub fn add_namespace(&self, name: &str) {
        match &self.real {
            Some(real) => real.add_namespace(name),
            None => _ = self.command(&Command::Namespace(name.to_owned())),
        }
    }

    /// The URL of elect's store in a namespace, for somebody who may do everything.
    pub fn url(&self, namespace: &str) -> String {
        Self::url_with(namespace, &self.admin)
    }

    /// The same for the user of a configuration.
    pub fn url_with(namespace: &str, kubeconfig: &Path) -> String {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
        let path = kubeconfig.display().to_string();
        let encoded = path.bytes().map(|byte| {
            if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        });
        format!("kubernetes:///{namespace}?kubeconfig={}", encoded.collect::<String>())
    }

    /// Asks as somebody who may do everything, and returns status and body: JSON, or else a text. A body that is sent
    /// with PATCH is merged.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let token = self.token(&self.admin);
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        self.ask(&Ask { method, path, token: Some(&token), body: &body, ..Ask::default() })
    }

    /// Asks as anybody.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn ask(&self, what: &Ask<'_>) -> (u16, Value) {
        let address = self.address;
        let answer = match &self.real {
            Some(real) => real.ask(what),
            None => self.place.inside(|| ask(address, what)),
        };
        answer.unwrap_or_else(|error| panic!("{} {}: {error}", what.method, what.path))
    }

    /// Stops it as SIGSTOP does: it is silent and keeps its connections.
    ///
    /// # Panics
    /// When it is dead.
    pub fn stop(&self) {
        self.process.signal(Signal::SIGSTOP);
        eventually("a server to stop", || (state(self.pid()) == Some('T')).then_some(()));
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// When it is dead.
    pub fn resume(&self) {
        self.process.signal(Signal::SIGCONT);
    }

    /// Kills it. What it has answered for is kept.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again with all its objects, users and tokens, at the same address. It knows no change from before its
    /// start: a watch from then gets 410. Faults and counts begin anew. A real one's etcd has to live.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn restart(&mut self) {
        self.process.restart();
        self.wait_until_it_serves();
    }

    /// Has something go wrong.
    ///
    /// # Panics
    /// When it is a real one.
    pub fn fault(&self, fault: Fault) {
        self.command(&Command::Fault(fault));
    }

    /// What was counted so far. A real one counts requests and answers only, a watch as it ends, and what it asks itself.
    pub fn counts(&self) -> Counts {
        self.real.as_ref().map_or_else(|| self.command(&Command::Counts), Real::counts)
    }

    /// Forgets all versions before now: whoever asks for one gets 410.
    ///
    /// # Panics
    /// When it is a real one.
    pub fn compact(&self) {
        self.command(&Command::Compact);
    }

    /// Sends a bookmark to all watches that want them, as happens once a minute.
    ///
    /// # Panics
    /// When it is a real one.
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
