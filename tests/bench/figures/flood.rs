//! (k) The most memory that who leads, and who looks, take of a store in bad hands: its replies have no end, or its
//! entries are as large as it takes them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;

use elect_testkit::fault::{Flood, Frames, Torrent};
use elect_testkit::program::{Elect, peak_memory};
use elect_testkit::servers::{ApiServer, free_port};
use serde_json::json;

use crate::contender::{Store, python, quiet, spawn};
use crate::hold::Hold;
use crate::order::Order;
use crate::process::megabytes;
use crate::release;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

/// The number of large entries, and the size of each in bytes. An entry is smaller than the limit of a request, and all
/// together are smaller than the server's own memory.
const ETCD: (usize, usize) = (40, 1_400_000);
const ZOOKEEPER: (usize, usize) = (16, 1_000_000);
/// Somewhat less than a list of Leases may have.
const LEASES: (usize, usize) = (30, 240_000);
/// It has no contender of its own: its server is started for this figure.
const KUBERNETES: &str = "kubernetes";

/// Makes entries behind those of candidates.
const KAZOO: &str = "
import sys
from kazoo.client import KazooClient
server, parent, count, size = sys.argv[1:]
client = KazooClient(hosts=server)
client.start()
for _ in range(int(count)):
    name = f'{parent}/_c_00000000-0000-0000-0000-000000000000-latch-'
    client.create(name, b'x' * int(size), sequence=True)
client.stop()
";

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    // Kubernetes is no store of the other figures.
    if order.stores() != Store::ALL {
        return;
    }
    let etcd = Store::Etcd;
    let way = Flood::before(stage.place(etcd).parse().expect("an address"), Frames::Grpc);
    without_end(stage, &way, &etcd.url(&way.address().to_string()), (etcd.name(), report));
    for store in [Store::Etcd, Store::ZooKeeper] {
        let size = if store == Store::Etcd { ETCD } else { ZOOKEEPER };
        let url = store.url(&stage.place(store));
        let write = |election: &str| write(stage, store, election, size);
        large(stage, &url, write, (store.name(), report));
    }
    let server = ApiServer::start();
    let way = Flood::before(server.address(), Frames::Http);
    without_end(stage, &way, &url_through(stage, &server, &way), (KUBERNETES, report));
    large(stage, &server.url("elect"), |election| lease(&server, election), (KUBERNETES, report));
}

/// An API server's, by this way.
fn url_through(stage: &Stage, server: &ApiServer, way: &Flood) -> String {
    let [there, here] = [server.address(), way.address()].map(|address| address.to_string());
    let text = fs::read_to_string(server.kubeconfig()).expect("a kubeconfig");
    let config = stage.path(&stage.fresh("config"));
    fs::write(&config, text.replace(&there, &here)).expect("a file");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).expect("ours");
    ApiServer::url_with("elect", &config)
}

/// Makes Leases beside those of candidates.
fn lease(server: &ApiServer, election: &str) {
    let (count, size) = LEASES;
    for number in 0..count {
        let metadata = json!({"name": format!("{election}.{number:016x}"),
            "labels": {"elect/election": election}, "annotations": {"x": "x".repeat(size)}});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": metadata, "spec": {}});
        let path = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";
        let (status, said) = server.call("POST", path, Some(&lease));
        assert_eq!(status, 201, "{said}");
    }
}

fn without_end(stage: &Stage, way: &Flood, url: &str, tells: (&str, &mut Report)) {
    let leader = Leader::start(stage, url);
    way.begin(Torrent::Endless);
    way.end();
    let leading = leader.end();
    way.begin(Torrent::Endless);
    let looking = look(url, &stage.fresh("flood"));
    way.end();
    tell(tells, "a reply without end", [leading, looking]);
}

fn large(stage: &Stage, url: &str, write: impl Fn(&str), tells: (&str, &mut Report)) {
    let leader = Leader::start(stage, url);
    write(&leader.election);
    leader.ask();
    let looking = look(url, &leader.election);
    tell(tells, "entries as large as it takes", [leader.end(), looking]);
}

fn tell((store, report): (&str, &mut Report), what: &str, [leading, looking]: [u64; 2]) {
    let figure = report.figure("flood", &format!("{store}, {what}"), Unit::Megabytes);
    let sample = |kib| Sample::once(megabytes(kib));
    figure.of("elect", sample(leading.max(looking)));
    figure.of("leading", sample(leading)).of("elect status", sample(looking));
}

/// Others who write where the candidates do.
fn write(stage: &Stage, store: Store, election: &str, (count, size): (usize, usize)) {
    let place = stage.place(store);
    match store {
        Store::File | Store::MariaDb | Store::Postgres | Store::Redis | Store::Consul => {}
        Store::Etcd => {
            let value = stage.path(&stage.fresh("value"));
            fs::write(&value, vec![b'x'; size]).expect("a file");
            for number in 0..count {
                let mut etcdctl = Command::new("etcdctl");
                etcdctl.env("ETCDCTL_API", "3").arg(format!("--endpoints=http://{place}"));
                etcdctl.args(["put", &format!("elect/{election}/{:x}", 0x10000 + number)]);
                let value = fs::File::open(&value).expect("a file");
                succeed(quiet(etcdctl).stdin(value));
            }
        }
        Store::ZooKeeper => {
            let mut kazoo = Command::new(python());
            kazoo.args(["-c", KAZOO, &place, &format!("/elect/{election}")]);
            succeed(quiet(kazoo).args([count, size].map(|number| number.to_string())));
        }
    }
}

fn succeed(command: &mut Command) {
    let status = command.status().expect("it can be started");
    assert!(status.success(), "{command:?}: {status}");
}

/// The most that `elect status` had until its end, in KiB.
fn look(url: &str, election: &str) -> u64 {
    let status = Elect::new(release::path()).args(["status", "-b", url, election]);
    let mut status = quiet(status.command());
    status.stderr(Stdio::null());
    let mut child = spawn(status);
    let mut most = 0;
    while child.try_wait().expect("a child").is_none() {
        most = peak_memory(id(&child)).map_or(most, |peak| most.max(peak));
        thread::yield_now();
    }
    most
}

fn id(child: &Child) -> i32 {
    child.id().cast_signed()
}

struct Leader {
    election: String,
    hold: Hold,
    child: Child,
    port: u16,
}

impl Leader {
    fn start(stage: &Stage, url: &str) -> Self {
        let election = stage.fresh("flood");
        let (hold, port) = (Hold::new(stage.path(&stage.fresh("hold"))), free_port());
        let flags = ["--ttl", "30s", "--http", &format!("{}:{port}", Ipv4Addr::LOCALHOST)];
        let elect = Elect::new(release::path()).args(["run", "-b", url, "-e", &election]);
        let elect = elect.args(flags).arg("--").args(hold.command());
        let child = spawn(quiet(elect.command()));
        hold.started();
        Self { election, hold, child, port }
    }

    /// Asks the server as a person does who wants to know the leader.
    fn ask(&self) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("a server");
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("a connection");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }

    /// The most that it had so far, in KiB.
    fn end(mut self) -> u64 {
        let most = peak_memory(id(&self.child)).expect("it leads");
        self.hold.go();
        self.child.wait().expect("a child");
        most
    }
}
