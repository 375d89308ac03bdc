use elect_testkit::servers::ZooKeeperSetup;
use zookeeper_client::{Acls, Client, CreateMode};

use super::peer::Peer;
use super::programs::Programs;
use crate::prelude::*;

/// Below this elect has all elections of the server.
const PREFIX: &str = "mixed";
const NAME: &str = "job";
/// Long enough for the default TTL, which sessions of 20 ticks have to hold, and so for a busy machine:
/// no survivor is to lose the lease.
const TICK: Duration = Duration::from_secs(1);

/// For programs that would wait for ever once their server is gone; of util-linux. It turns into the
/// program: the process id stays.
pub(super) const DIES_WITH_THE_TEST: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];

/// A server, the programs that use it, and one election.
pub(crate) struct Arena {
    pub(crate) oracle: Oracle,
    pub(super) programs: Programs,
    server: Server,
    url: String,
    /// `HOST:PORT`, as peers are told of the server.
    pub(super) address: String,
    /// The election, as peers call it.
    pub(super) election: String,
}

/// It is only kept running, but for what etcd is asked.
enum Server {
    Etcd(Etcd),
    ZooKeeper { _running: ZooKeeper },
}

/// The name of a node of kazoo's.
const KAZOO: &str = "0123456789abcdef0123456789abcdef__lock__0000000000";

impl Arena {
    /// For an election that elect shares with these peers.
    #[track_caller]
    pub(crate) fn of(peers: &[Peer]) -> Self {
        match peers[0].layout() {
            None => Self::on_etcd(Etcd::start(1)),
            Some(layout) => {
                let setup = ZooKeeperSetup { tick: TICK, ..ZooKeeperSetup::default() };
                Self::on_zookeeper(ZooKeeper::start(&setup), layout)
            }
        }
    }

    fn on_etcd(etcd: Etcd) -> Self {
        Self {
            oracle: Oracle::new(),
            programs: Programs::default(),
            url: format!("{}/{PREFIX}", etcd.url()),
            address: etcd.endpoints()[0].to_string(),
            election: format!("{PREFIX}/{NAME}"),
            server: Server::Etcd(etcd),
        }
    }

    fn on_zookeeper(running: ZooKeeper, layout: &str) -> Self {
        Self {
            oracle: Oracle::new(),
            programs: Programs::default(),
            url: format!("{}/{PREFIX}?layout={layout}", running.url()),
            address: running.address(0).to_string(),
            election: format!("/{PREFIX}/{NAME}"),
            server: Server::ZooKeeper { _running: running },
        }
    }

    /// `elect run` of a stamper in the election.
    pub(crate) fn elect(&self, stamper: &Stamper) -> Elect {
        let elect = self.bare("run").under(DIES_WITH_THE_TEST);
        elect.args(["-e", NAME, "--"]).args(stamper.command())
    }

    /// Another subcommand of elect's about the election.
    pub(crate) fn about(&self, subcommand: &str) -> Elect {
        self.bare(subcommand).arg(NAME)
    }

    fn bare(&self, subcommand: &str) -> Elect {
        Elect::new(ELECT).args([subcommand, "-b", &self.url])
    }

    /// Returns the report of `elect status` on the election.
    pub(crate) fn status(&self) -> Value {
        let ended = self.about("status").args(["-o", "json"]).run();
        let mut report: Value = serde_json::from_str(&ended.stdout).expect("a report");
        report["elections"][0].take()
    }

    /// Makes an entry by hand that has no holder, and so no end.
    #[track_caller]
    pub(crate) fn plant(&self) {
        match &self.server {
            Server::Etcd(etcd) => {
                etcd.ctl(&["put", &format!("{}/1f", self.election), "hand"]);
            }
            Server::ZooKeeper { .. } => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(self.plant_node());
            }
        }
    }

    async fn plant_node(&self) {
        let client = Client::connect(&self.address).await.expect("a session");
        let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
        let election = self.election.as_str();
        let above = election.rsplit_once('/').expect("an absolute path").0;
        for path in [above, election, &format!("{election}/{KAZOO}")] {
            client.create(path, b"hand", &options).await.expect("a node");
        }
    }

    /// Revokes the lease of a dead `etcdctl elect`. Its leases last for a minute, which cannot be changed, and the test
    /// does not wait that long.
    #[track_caller]
    pub(super) fn revoke_lease_of(&self, tag: &str) {
        let Server::Etcd(etcd) = &self.server else { return };
        let value = format!("\"Value\" : \"{tag}\"");
        let keys = etcd.ctl(&["get", "--prefix", &format!("{}/", self.election), "-w", "fields"]);
        let mut lease = "";
        for line in keys.lines() {
            if let Some(key) = line.strip_prefix("\"Key\" : ") {
                lease = key.trim_matches('"').rsplit('/').next().unwrap_or_default();
            } else if line == value {
                etcd.ctl(&["lease", "revoke", lease]);
            }
        }
    }
}
