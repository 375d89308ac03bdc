//! The process of the fake server: its connections, its faults, and the socket for a test's
//! commands.

use std::convert::Infallible;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nix::sys::signal::{SigSet, Signal};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::access::{Rule, Users};
use super::answer::{Out, response};
use super::faults::{Counts, Fault, Faults};
use super::objects::Kind;
use super::request::Request;
use super::rest::State;
use super::status::{self, Reply};
use super::store::{JournalLine, Key, Store};
use super::watch::too_old;

/// The first word of the server's command line.
pub(super) const FIRST_WORD: &str = "elect-kubernetes";
/// The socket for commands, in the server's folder.
pub(super) const SOCKET: &str = "steer.sock";
/// The journal in the server's folder, from which a restart restores its state.
const JOURNAL: &str = "journal";
/// The most that it reads of one request, in bytes.
const LIMIT: usize = 3 << 20;
/// How long a read waits for a version that does not exist yet.
const FRESHNESS: Duration = Duration::from_secs(3);
/// The time between two bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// A test's command to the server.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Command {
    Fault(Fault),
    Counts,
    User { name: String, token: String, rules: Vec<Rule> },
    Expire { token: String },
    Namespace(String),
    Compact,
    Bookmark,
}

/// The state that requests wait for.
#[derive(Clone, Copy, Debug)]
struct Phase {
    etcd_answers: bool,
    listens: bool,
    /// How often all connections were ended.
    hang_ups: u64,
}

struct Server {
    state: Mutex<State>,
    phase: watch::Sender<Phase>,
    /// The cache's version. It is no part of the phase, because each connection waits for a phase,
    /// and a write should not wake them all.
    version: watch::Sender<u64>,
}

crate::entry::entry!(enter);

/// Becomes the server, if `words` are its command line.
fn enter(words: &[&str]) -> Option<i32> {
    let [FIRST_WORD, address, folder] = words else { return None };
    let Err(error) = serve(address.parse().ok()?, Path::new(folder));
    eprintln!("the API server ends: {error}");
    Some(93)
}

fn serve(address: SocketAddr, folder: &Path) -> io::Result<Infallible> {
    // Clients close connections at any time. Before `main`, Rust has not ignored SIGPIPE yet.
    [Signal::SIGPIPE].into_iter().collect::<SigSet>().thread_block()?;
    let (store, entries) = Store::open(&folder.join(JOURNAL))?;
    let mut users = Users::default();
    for entry in entries {
        match entry {
            JournalLine::User { name, token, rules } => users.add(&name, &token, rules),
            JournalLine::Expire { token } => users.expire(&token),
            JournalLine::Write { .. } | JournalLine::Compact { .. } => {}
        }
    }
    let version = store.version();
    let (faults, counts) = (Faults::default(), Counts::default());
    let state = State { store, users, faults, counts, etcd_down: None };
    let phase = Phase { etcd_answers: true, listens: true, hang_ups: 0 };
    let (phase, version) = (watch::Sender::new(phase), watch::Sender::new(version));
    let server = Arc::new(Server { state: Mutex::new(state), phase, version });
    let socket = folder.join(SOCKET);
    let _ = std::fs::remove_file(&socket);
    let hand = UnixListener::bind(socket)?;
    let steered = Arc::clone(&server);
    thread::spawn(move || steered.obey(&hand));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(server.listen(address))
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out the commands of tests, one line after another.
    fn obey(&self, hand: &UnixListener) {
        for stream in hand.incoming().flatten() {
            let answer = |stream: UnixStream| -> io::Result<()> {
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line)?;
                let counts = self.command(serde_json::from_str(&line)?);
                writeln!(&stream, "{}", serde_json::to_string(&counts)?)
            };
            if let Err(error) = answer(stream) {
                eprintln!("cannot obey: {error}");
            }
        }
    }

    fn command(&self, command: Command) -> Counts {
        let mut state = self.state();
        match command {
            Command::Fault(fault) => self.fault(&mut state, fault),
            Command::Counts => {}
            Command::User { name, token, rules } => {
                state.users.add(&name, &token, rules.clone());
                state.store.note(&JournalLine::User { name, token, rules });
            }
            Command::Expire { token } => {
                state.users.expire(&token);
                state.store.note(&JournalLine::Expire { token });
            }
            Command::Namespace(name) => {
                let key = Key { kind: Kind::Namespaces, namespace: String::new(), name };
                let object = json!({
                    "kind": "Namespace", "apiVersion": "v1", "metadata": {"name": key.name},
                    "spec": {}, "status": {"phase": "Active"},
                });
                if state.store.get(&key).is_none() {
                    state.store.write(&key, Some(object));
                }
            }
            Command::Compact => state.store.compact(),
            Command::Bookmark => state.store.watchers.bookmark(state.store.cached_version()),
        }
        self.tell_version(&state);
        state.counts.watches = state.store.watchers.count() as u64;
        state.counts.clone()
    }

    fn fault(&self, state: &mut State, fault: Fault) {
        let floor = state.store.cached_version();
        match fault {
            Fault::None => {
                state.faults.clear();
                state.etcd_down = None;
                state.store.lag(false);
                state.store.watchers.silence(false);
                self.phase.send_modify(|phase| (phase.etcd_answers, phase.listens) = (true, true));
            }
            Fault::EtcdDown(limit) => {
                state.etcd_down = Some(limit);
                self.phase.send_modify(|phase| phase.etcd_answers = false);
            }
            Fault::CacheLags => state.store.lag(true),
            Fault::SilentWatches => state.store.watchers.silence(true),
            Fault::EndWatches => state.store.watchers.end(None),
            Fault::ExpireWatches => {
                let message = format!("too old resource version: {floor} ({floor})");
                state.store.watchers.end(Some(&too_old(&message)));
            }
            Fault::Refuse => self.phase.send_modify(|phase| phase.listens = false),
            Fault::HangUp => self.phase.send_modify(|phase| phase.hang_ups += 1),
            other => state.faults.add(other),
        }
    }

    fn tell_version(&self, state: &State) {
        let version = state.store.cached_version();
        self.version.send_if_modified(|known| std::mem::replace(known, version) != version);
    }

    async fn listen(self: Arc<Self>, address: SocketAddr) -> io::Result<Infallible> {
        tokio::spawn(Arc::clone(&self).mark());
        let mut phase = self.phase.subscribe();
        loop {
            let _ = phase.wait_for(|phase| phase.listens).await;
            let listener = TcpListener::bind(address).await?;
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        // A connection that ended before it was accepted is skipped.
                        if let Ok((stream, _)) = accepted {
                            tokio::spawn(Arc::clone(&self).talk(stream));
                        }
                    }
                    _ = phase.wait_for(|phase| !phase.listens) => break,
                }
            }
        }
    }

    async fn mark(self: Arc<Self>) {
        loop {
            sleep(BOOKMARKS).await;
            self.command(Command::Bookmark);
        }
    }

    /// Serves all requests of one connection.
    async fn talk(self: Arc<Self>, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        self.state().counts.connections += 1;
        let mut phase = self.phase.subscribe();
        let before = phase.borrow_and_update().hang_ups;
        let service = service_fn(|request| Arc::clone(&self).answer(request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            _ = connection => {}
            _ = phase.wait_for(|phase| phase.hang_ups > before) => {}
        }
    }

    async fn answer(
        self: Arc<Self>,
        request: hyper::Request<Incoming>,
    ) -> Result<Response<Out>, Silence> {
        let (head, body) = request.into_parts();
        let mut request = Request::new(head.method.as_str(), head.uri.path(), head.uri.query());
        let header = head.headers.get("authorization").and_then(|value| value.to_str().ok());
        request.authorization = header.map(ToOwned::to_owned);
        let reply = match Limited::new(body, LIMIT).collect().await {
            Ok(body) => {
                request.body = body.to_bytes();
                Arc::clone(&self).reply(request).await?
            }
            Err(error) if error.is::<http_body_util::LengthLimitError>() => status::too_large(),
            Err(_) => return Err(Silence),
        };
        self.state().counts.answer(reply.status);
        Ok(response(reply))
    }

    /// Returns the reply to a complete request, or the fault that comes instead.
    async fn reply(self: Arc<Self>, request: Request) -> Result<Reply, Silence> {
        let (user, fault) = {
            let mut state = self.state();
            state.counts.request(&request);
            let user = state.users.named_by(request.authorization.as_deref());
            let fault = state.faults.meet(&request);
            state.counts.faults += u64::from(fault.is_some());
            (user, fault)
        };
        let Some(user) = user else { return Ok(status::unauthorized()) };
        let server = Arc::clone(&self);
        // A request is carried out even if its client goes away.
        let carry_out = async |after: Duration| {
            let task = tokio::spawn(async move {
                if !after.is_zero() {
                    sleep(after).await;
                }
                server.carry_out(user, request).await
            });
            task.await.map_err(|_| Silence)
        };
        match fault {
            None => carry_out(Duration::ZERO).await,
            Some(Fault::Throttle(_, retry_after)) => Ok(status::throttled(retry_after)),
            Some(Fault::Fail { status, done, .. }) => {
                if done {
                    carry_out(Duration::ZERO).await?;
                }
                Ok(status::broken(status))
            }
            Some(Fault::Hang { done, .. }) => {
                if done {
                    carry_out(Duration::ZERO).await?;
                }
                std::future::pending().await
            }
            Some(Fault::Drop { done, .. }) => {
                if done {
                    carry_out(Duration::ZERO).await?;
                }
                Err(Silence)
            }
            Some(Fault::Delay { by, done: false, .. }) => carry_out(by).await,
            Some(Fault::Delay { by, .. }) => {
                let reply = carry_out(Duration::ZERO).await;
                sleep(by).await;
                reply
            }
            Some(_) => Err(Silence),
        }
    }

    async fn carry_out(self: Arc<Self>, user: String, request: Request) -> Reply {
        let down = self.state().etcd_down;
        let needs_etcd = match request.verb() {
            "create" | "update" | "patch" | "delete" => true,
            "get" | "list" => {
                request.target.is_some() && request.parameter("resourceVersion").is_none()
            }
            _ => false,
        };
        let Some(limit) = down.filter(|_| needs_etcd) else {
            return self.handle(&user, &request).await;
        };
        let is_write = !matches!(request.verb(), "get" | "list");
        let server = Arc::clone(&self);
        let mut task = tokio::spawn(async move {
            let _ = server.phase.subscribe().wait_for(|phase| phase.etcd_answers).await;
            server.handle(&user, &request).await
        });
        match timeout(limit, &mut task).await {
            Ok(Ok(reply)) => reply,
            // The write is in etcd's queue.
            Err(_) if is_write => status::internal("context deadline exceeded"),
            _ => {
                task.abort();
                status::broken(500)
            }
        }
    }

    async fn handle(&self, user: &str, request: &Request) -> Reply {
        let waits = matches!(request.verb(), "get" | "list");
        if let Some(version) = request.version().ok().flatten().filter(|_| waits) {
            let mut known = self.version.subscribe();
            let fresh = known.wait_for(|known| *known >= version);
            if timeout(FRESHNESS, fresh).await.is_err() {
                return status::version_too_large(version, self.state().store.cached_version());
            }
        }
        let mut state = self.state();
        let reply = state.handle(user, request);
        self.tell_version(&state);
        reply
    }
}

/// The reason for a connection that ends without an answer.
#[derive(Debug)]
struct Silence;

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no answer")
    }
}

impl std::error::Error for Silence {}
