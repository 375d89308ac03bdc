//! Certificates, passwords and tokens of candidates and stores are renewed while candidates lead, wait and start. Or
//! the store has no free connection for a while. The leader goes on, and all others are there afterwards.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, sleep};

use elect_testkit::fault::{Outcome, TcpProxy};
use elect_testkit::oracle::Flag;
use elect_testkit::run;
use elect_testkit::servers::kubernetes::Rule;
use elect_testkit::servers::{Authority, Pem, ZooKeeperSetup, free_port};
use zookeeper_client::{Acl, AuthId, Client, Permission};

use super::cluster::Cluster;
use super::duel::{elect, wait_in_line};
use super::store::Store;
use super::{ETCD, KUBERNETES, ZOOKEEPER, report};
use crate::heard::{Heard, all_say};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(15);
/// Within it a lease is renewed.
const PACE: Duration = Duration::from_secs(5);
const REFUSED: &str = "trying again";
const BACK: &str = "the store answers again";
/// The verbs of the manual's Role for candidates that queue.
const VERBS: [&str; 6] = ["get", "list", "watch", "create", "update", "delete"];

/// Whose credentials are renewed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    File,
    Server,
}

impl First {
    /// For the table.
    const fn words(self) -> &'static str {
        match self {
            Self::File => "its file first",
            Self::Server => "the server first",
        }
    }
}

/// A leads, and B waits.
struct Scene {
    url: String,
    oracle: Oracle,
    end: Flag,
    folder: TempDir,
    all: Vec<Heard>,
}

impl Scene {
    /// At a store with this URL, whose files are in this folder.
    fn start(url: String, folder: TempDir) -> Self {
        let oracle = Oracle::new();
        let end = oracle.flag("end");
        let mut scene = Self { url, oracle, end, folder, all: Vec::new() };
        scene.join("A");
        eventually("all processes of A", || {
            scene.all[0].assert_is_running();
            scene.oracle.newest("A")?.is_complete().then_some(())
        });
        scene.join("B");
        wait_in_line(&scene.url, "B-", None);
        scene
    }

    /// Another candidate.
    fn join(&mut self, id: &str) {
        let stamper = self.oracle.stamper(id);
        let tree = match id {
            "A" => stamper.children(2).depth(2).deaf().until(&self.end),
            _ => stamper.children(1).lasting(Duration::from_millis(50)),
        };
        let elect = elect(&self.url, id, TTL, None).arg("-v").arg("--").args(tree.command());
        self.all.push(Heard::spawn(elect, self.folder.path().join(format!("{id}-said"))));
    }

    /// Another candidate, whom the store refuses: that is final at the start. It comes again later.
    #[track_caller]
    fn join_in_vain(&mut self) {
        self.join("C");
        self.all.pop().expect("C").exits(125);
    }

    /// Only what all say from now on counts.
    fn listen(&mut self) {
        self.all.iter_mut().for_each(Heard::listen);
    }

    /// A leads on for longer than an unrenewed lease lasts, and the others take their turns after it.
    #[track_caller]
    fn goes_on(mut self, fault: &str, store: Store) {
        if self.all.len() < 3 {
            self.join("C");
        }
        for id in ["B-", "C-"] {
            wait_in_line(&self.url, id, None);
        }
        self.oracle.wait_for_stamps("A", TTL + Duration::from_secs(1));
        self.end.raise();
        let mut all = self.all.into_iter();
        let (code, said) = all.next().expect("A").code();
        all.for_each(|candidate| drop(candidate.exits(0)));
        let runs = self.oracle.assert_sound();
        let tags: Vec<_> = runs.iter().map(|run| &*run.tag).collect();
        let (kept, next) = (Some(code == 0), Some(runs[1].first));
        let outcome = Outcome { last: runs[0].last, lease_end: None, next, kept };
        report(fault, store, &outcome);
        assert_eq!(code, 0, "A has lost its leadership: {said}");
        assert_eq!(tags, ["A", "B", "C"]);
    }
}

/// As those who renew files do: there is never half of one.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).expect("a file");
    fs::set_permissions(&new, Permissions::from_mode(0o600)).expect("our own");
    fs::rename(new, path).expect("a file in its place");
}

fn copy(folder: &Path, files: &[(&Path, &str)]) {
    for (from, to) in files {
        replace(&folder.join(to), &fs::read_to_string(from).expect("a file of the authority"));
    }
}

/// Writes a member's certificate, and the authority of the clients that it accepts.
fn serve_by(folder: &Path, authority: &Authority, member: usize) {
    let Pem { cert, key } = authority.server(&["127.0.0.1", &tls_address(member).to_string()]);
    let at = |name: &str| format!("{member}-{name}");
    let ca = authority.ca();
    copy(folder, &[(&cert, &at("cert")), (&key, &at("key")), (&ca, &at("clients"))]);
    let [cert, key] = [cert, key].map(|path| fs::read_to_string(path).expect("a file"));
    // ZooKeeper knows the form of a file by its end.
    replace(&folder.join(at("both.pem")), &(cert + &key));
    copy(folder, &[(&ca, &at("clients.pem"))]);
}

/// Writes the candidates' certificate, and the authority that they trust.
fn know_by(folder: &Path, authority: &Authority) {
    let Pem { cert, key } = authority.client("me");
    copy(folder, &[(&cert, "cert"), (&key, "key"), (&authority.ca(), "ca")]);
}

/// All members get an authority, certificates and keys that are new, one after the other. Candidates get theirs when
/// so many members have.
fn renew_certificates<C: Cluster>(
    store: Store,
    ours_after: usize,
    start: impl FnOnce(&str) -> (C, Vec<SocketAddr>),
    serves: impl Fn(&mut C, usize),
) {
    let (old, new) = (Authority::new(), Authority::new());
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().to_owned();
    (0..3).for_each(|member| serve_by(&path, &old, member));
    know_by(&path, &old);
    let (mut cluster, addresses) = start(&path.display().to_string());
    let files = ["ca", "cert", "key"].map(|it| format!("{it}={}", path.join(it).display()));
    let Store::Remote(brand) = store else { panic!("a store with members") };
    let url = brand.url(&addresses).replace("://", "+tls://");
    let mut scene = Scene::start(format!("{url}?{}", files.join("&")), folder);
    for member in 0..3 {
        if member == ours_after {
            know_by(&path, &new);
        }
        // As roll-outs do, and as leases want it: each goes on once all is well after the one before.
        scene.oracle.wait_for_stamps("A", PACE);
        scene.listen();
        cluster.member(member).kill();
        serve_by(&path, &new, member);
        cluster.member(member).restart();
        if member < 2 {
            serves(&mut cluster, member);
        }
        if member == 0 {
            scene.join("C");
            wait_in_line(&scene.url, "C-", None);
        }
    }
    let mut fault = "42 certificates of three members renewed, those of candidates before the last";
    if ours_after == 3 {
        all_say(&mut scene.all, 1, REFUSED);
        know_by(&path, &new);
        fault = "42 certificates of three members renewed, then those of candidates";
    }
    scene.goes_on(fault, store);
}

fn etcd_over_tls(folder: &str) -> (Etcd, Vec<SocketAddr>) {
    let file = |name: &str| format!("{folder}/{{member}}-{name}");
    let files = ["cert", "key", "clients"].map(file);
    let [cert, key, clients] = &files;
    let flags = [
        format!("--cert-file={cert}"),
        format!("--key-file={key}"),
        "--client-cert-auth".to_owned(),
        format!("--trusted-ca-file={clients}"),
    ];
    let etcd = Etcd::start_with(3, &flags.each_ref().map(String::as_str));
    let addresses = etcd.endpoints();
    (etcd, addresses)
}

/// Returns the address at which a member of ZooKeeper speaks TLS. All use one port, as they share their configuration.
const fn tls_address(member: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, [10, 11, 12][member])
}

fn zookeeper_over_tls(folder: &str) -> (ZooKeeper, Vec<SocketAddr>) {
    let port = free_port();
    let lines = vec![
        "maxSessionTimeout=15000".into(),
        "syncLimit=2".into(),
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory".into(),
        format!("secureClientPort={port}"),
        "secureClientPortAddress=127.0.0.1{member}".into(),
        "ssl.keyStore.type=PEM".into(),
        format!("ssl.keyStore.location={folder}/{{member}}-both.pem"),
        "ssl.trustStore.type=PEM".into(),
        format!("ssl.trustStore.location={folder}/{{member}}-clients.pem"),
        "ssl.clientAuth=need".into(),
    ];
    let servers =
        ZooKeeper::start(&ZooKeeperSetup { members: 3, lines, ..ZooKeeperSetup::default() });
    let addresses = (0..3).map(|member| SocketAddr::from((tls_address(member), port)));
    (servers, addresses.collect())
}

#[test]
fn certificates_of_all_members_of_etcd() {
    renew_certificates(ETCD, 3, etcd_over_tls, |etcd, _| etcd.wait_until_it_serves());
}

#[test]
fn certificates_of_all_members_of_zookeeper() {
    // A leader of ZooKeeper rides out some 4 s at this TTL: less than all say that they are refused.
    renew_certificates(ZOOKEEPER, 2, zookeeper_over_tls, ZooKeeper::wait_until_serving);
}

/// The password in a file is `one` at first, and `change` sets the server's to `two`. The old password still serves
/// those that `log_out` makes log in anew.
pub(super) fn renew_password<C>(
    store: Store,
    first: First,
    cluster: C,
    url: &str,
    log_out: impl FnOnce(&mut C, &mut [Heard]),
    change: impl FnOnce(&C),
) {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("password");
    replace(&file, "one\n");
    let url = format!("{}?password-file={}", url.replace("://", "://me@"), file.display());
    let scene = Scene::start(url, folder);
    let ours = || replace(&file, "two\n");
    renew(scene, ("43 password", store), first, cluster, ours, log_out, change);
}

/// One server and its candidates get an authority, certificates and keys that are new. `reload` has the server read its
/// files, and ends all sessions. The old certificates still serve those that `log_out` makes log in anew.
pub(super) fn renew_both_certificates<C>(
    store: Store,
    first: First,
    start: impl FnOnce(&str) -> (C, String),
    log_out: impl FnOnce(&mut C, &mut [Heard]),
    reload: impl FnOnce(&C),
) {
    let (old, new) = (Authority::new(), Authority::new());
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().to_owned();
    serve_by(&path, &old, 0);
    know_by(&path, &old);
    let (server, url) = start(&path.display().to_string());
    let scene = Scene::start(url, folder);
    let ours = || know_by(&path, &new);
    let theirs = |server: &C| {
        serve_by(&path, &new, 0);
        reload(server);
    };
    renew(scene, ("42 certificates", store), first, server, ours, log_out, theirs);
}

/// `ours` renews what candidates have in files, and `theirs` what the server has. Those that `log_out` makes log in
/// between go on with what they had before.
fn renew<C>(
    mut scene: Scene,
    (what, store): (&str, Store),
    first: First,
    mut cluster: C,
    ours: impl FnOnce(),
    log_out: impl FnOnce(&mut C, &mut [Heard]),
    theirs: impl FnOnce(&C),
) {
    scene.listen();
    match first {
        First::File => {
            ours();
            log_out(&mut cluster, &mut scene.all);
            scene.join_in_vain();
            theirs(&cluster);
        }
        First::Server => {
            theirs(&cluster);
            all_say(&mut scene.all, 1, REFUSED);
            scene.join_in_vain();
            ours();
        }
    }
    scene.goes_on(&format!("{what} renewed, {}", first.words()), store);
}

fn renew_password_in_etcd(first: First) {
    let etcd = Etcd::start(1);
    etcd.demand_logins(&[("me", "one", &["readwrite elect/"])]);
    let url = etcd.url();
    let log_out = |etcd: &mut Etcd, all: &mut [Heard]| {
        etcd.member(0).kill();
        all_say(all, 1, REFUSED);
        etcd.member(0).restart();
        all_say(all, 1, BACK);
    };
    let change = |etcd: &Etcd| etcd.change_password("me", "two");
    renew_password(ETCD, first, etcd, &url, log_out, change);
}

fn renew_password_in_zookeeper(first: First) {
    let lines = vec!["maxSessionTimeout=15000".into()];
    let servers = ZooKeeper::start(&ZooKeeperSetup { lines, ..ZooKeeperSetup::default() });
    // A session that is resumed comes with what the file has by now.
    let log_out = |servers: &mut ZooKeeper, _: &mut [Heard]| {
        servers.member(0).kill();
        servers.member(0).restart();
        servers.wait_until_serving(0);
    };
    let change = |servers: &ZooKeeper| {
        let address = servers.address(0).to_string();
        run("a change of rights", async move { hand_over(&address).await });
    };
    let url = format!("zk://{}", servers.address(0));
    renew_password(ZOOKEEPER, first, servers, &url, log_out, change);
}

/// To ZooKeeper another password is another user: all that there is becomes that one's.
async fn hand_over(address: &str) {
    /// The user `me` with the password `two`, as rights name it.
    const TWO: &str = "me:aHNtON+NCRZpXDf9xXrUVtfVZes=";
    let both = Client::connector().with_auth("digest", b"me:one").with_auth("digest", b"me:two");
    let both = both.connect(address).await.expect("a session");
    let rights = [Acl::new(Permission::ALL, AuthId::new("digest", TWO))];
    let mut paths = vec!["/elect".to_owned()];
    while let Some(path) = paths.pop() {
        let children = both.list_children(&path).await.expect("children");
        paths.extend(children.iter().map(|child| format!("{path}/{child}")));
        both.set_acl(&path, &rights, None).await.expect("rights");
    }
}

#[test]
fn a_password_that_the_file_has_before_etcd() {
    renew_password_in_etcd(First::File);
}

#[test]
fn a_password_that_etcd_has_before_the_file() {
    renew_password_in_etcd(First::Server);
}

#[test]
fn a_password_that_the_file_has_before_zookeeper() {
    renew_password_in_zookeeper(First::File);
}

#[test]
fn a_password_that_zookeeper_has_before_the_file() {
    renew_password_in_zookeeper(First::Server);
}

/// A kubeconfig in a folder, with its token in a file beside it.
fn kubeconfig(server: &ApiServer, user: &Path, folder: &Path) -> PathBuf {
    let token = folder.join("token");
    replace(&token, &server.token(user));
    let text = fs::read_to_string(user).expect("a kubeconfig");
    let inline = format!("token: {}", server.token(user));
    let own = folder.join("kubeconfig");
    replace(&own, &text.replace(&inline, &format!("tokenFile: {}", token.display())));
    own
}

fn renew_token(first: First) {
    let server = ApiServer::start();
    let folder = TempDir::new().expect("a folder");
    let user = server.kubeconfig_of(&[Rule::leases("elect", &VERBS)]);
    let own = kubeconfig(&server, &user, folder.path());
    let file = folder.path().join("token");
    let mut scene = Scene::start(ApiServer::url_with("elect", &own), folder);
    scene.listen();
    let old = server.token(&user);
    match first {
        First::File => {
            server.renew_token(&user);
            replace(&file, &server.token(&user));
            scene.join("C");
            wait_in_line(&scene.url, "C-", None);
            server.expire(&old);
        }
        First::Server => {
            server.expire(&old);
            all_say(&mut scene.all, 1, REFUSED);
            scene.join_in_vain();
            server.renew_token(&user);
            replace(&file, &server.token(&user));
        }
    }
    scene.goes_on(&format!("43 token renewed, {}", first.words()), KUBERNETES);
}

#[test]
fn a_token_that_the_file_has_before_kubernetes() {
    renew_token(First::File);
}

#[test]
fn a_token_that_kubernetes_has_before_the_file() {
    renew_token(First::Server);
}

/// As many connections as a server takes from one address.
pub(super) const LIMIT: usize = 20;
/// Connections of candidates that try again and again.
const TRIES: u64 = 20;
/// Between two looks whether there is room.
const PAUSE: Duration = Duration::from_millis(20);

/// Others, who take each connection that there is, until this is dropped.
struct Others {
    held: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Others {
    fn at(server: SocketAddr) -> Self {
        let (held, over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let thread = thread::spawn({
            let (held, over) = (Arc::clone(&held), Arc::clone(&over));
            move || {
                let mut streams: Vec<TcpStream> = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    streams.retain(is_open);
                    held.store(streams.len(), Ordering::Relaxed);
                    streams.extend(TcpStream::connect(server));
                    sleep(PAUSE);
                }
            }
        });
        Self { held, over, thread: Some(thread) }
    }

    #[track_caller]
    fn wait_for_all(&self) {
        let held = || self.held.load(Ordering::Relaxed);
        eventually("others to hold all connections", || (held() >= LIMIT).then_some(()));
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A server that hangs up has something to read: an end.
fn is_open(stream: &TcpStream) -> bool {
    let look = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    look.map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |length| length > 0)
}

/// All lose their connections to a server that lets in only so many, and others are faster than they.
pub(super) fn crowd_out(store: Store, server: SocketAddr) {
    let Store::Remote(brand) = store else { panic!("a store with servers") };
    let way = TcpProxy::start(server);
    let folder = TempDir::new().expect("a folder");
    let mut scene = Scene::start(brand.url(&[way.address()]), folder);
    way.refuse(true);
    let others = Others::at(server);
    way.cut();
    others.wait_for_all();
    scene.listen();
    let before = way.traffic().connections;
    way.refuse(false);
    scene.join("C");
    let tries = || way.traffic().connections >= before + TRIES;
    eventually("candidates that try again", || tries().then_some(()));
    assert!(others.held.load(Ordering::Relaxed) >= LIMIT, "there was room");
    drop(others);
    scene.goes_on("44 no connection left beside those of others, for a while", store);
}

#[test]
fn others_have_all_connections_to_etcd() {
    let etcd = Etcd::start(1);
    let balancer = TcpProxy::start(etcd.endpoints()[0]);
    balancer.limit(LIMIT);
    crowd_out(ETCD, balancer.address());
}

#[test]
fn others_have_all_connections_to_zookeeper() {
    let lines = vec![format!("maxClientCnxns={LIMIT}"), "maxSessionTimeout=15000".into()];
    let servers = ZooKeeper::start(&ZooKeeperSetup { lines, ..ZooKeeperSetup::default() });
    crowd_out(ZOOKEEPER, servers.address(0));
}

#[test]
fn others_have_all_connections_to_kubernetes() {
    let server = ApiServer::start();
    let balancer = TcpProxy::start(server.address());
    balancer.limit(LIMIT);
    crowd_out(KUBERNETES, balancer.address());
}
