//! The programs that are measured: elect on its stores, and its peers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use elect_testkit::program::Elect;
use elect_testkit::servers::{Consul, fetched};

use crate::databases::{Database, MARIADB, POSTGRESQL};
use crate::release;
use crate::stage::Stage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    File,
    Etcd,
    ZooKeeper,
    MariaDb,
    Postgres,
    Redis,
    Consul,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    Elect(Store),
    Peer(Store),
    /// A second peer: on a database a row with the time until which it is locked, as ShedLock keeps one; single-beat on
    /// Redis.
    Second(Store),
}

impl Store {
    pub(crate) const ALL: [Self; 7] = [
        Self::File,
        Self::Etcd,
        Self::ZooKeeper,
        Self::MariaDb,
        Self::Postgres,
        Self::Redis,
        Self::Consul,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Etcd => "etcd",
            Self::ZooKeeper => "zookeeper",
            Self::MariaDb => "mariadb",
            Self::Postgres => "postgresql",
            Self::Redis => "redis",
            Self::Consul => "consul",
        }
    }

    /// Returns elect's URL for a store at a place: a folder, or HOST:PORT.
    pub(crate) fn url(self, place: &str) -> String {
        match self {
            Self::File => format!("file://{place}"),
            Self::Etcd => format!("etcd://{place}"),
            Self::ZooKeeper => format!("zk://{place}"),
            Self::MariaDb => MARIADB.url(place),
            Self::Postgres => POSTGRESQL.url(place),
            Self::Redis => format!("redis://{place}"),
            Self::Consul => format!("consul://elect:{}@{place}", Consul::token("elect")),
        }
    }

    /// The database that it is.
    pub(crate) const fn database(self) -> Option<&'static Database> {
        match self {
            Self::MariaDb => Some(&MARIADB),
            Self::Postgres => Some(&POSTGRESQL),
            _ => None,
        }
    }

    /// `elect run` with flags.
    pub(crate) fn run(
        self,
        place: &str,
        election: &str,
        flags: &[&str],
        words: &[OsString],
    ) -> Command {
        let elect = Elect::new(release::path());
        let elect = elect.args(["run", "-b", &self.url(place), "-e", election]).args(flags);
        quiet(elect.arg("--").args(words).command())
    }
}

impl Contender {
    /// elect and its peers on a store, elect first.
    pub(crate) fn all(store: Store) -> Vec<Self> {
        let mut all = vec![Self::Elect(store), Self::Peer(store)];
        let has_second = store.database().is_some() || store == Store::Redis;
        all.extend(has_second.then_some(Self::Second(store)));
        all
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Elect(_) => "elect",
            Self::Peer(Store::File) => "flock",
            Self::Peer(Store::Etcd) => "etcdctl lock",
            Self::Peer(Store::ZooKeeper) => "kazoo",
            Self::Peer(Store::MariaDb) => "mariadb",
            Self::Peer(Store::Postgres) => "psql",
            Self::Peer(Store::Redis) => "redis-py",
            Self::Peer(Store::Consul) => "consul lock",
            Self::Second(Store::Redis) => "single-beat",
            Self::Second(_) => "row",
        }
    }

    const fn store(self) -> Store {
        match self {
            Self::Elect(store) | Self::Peer(store) | Self::Second(store) => store,
        }
    }

    /// One that runs a command under the lock or election of this name.
    pub(crate) fn command(self, stage: &Stage, name: &str, words: &[OsString]) -> Command {
        self.command_at(&stage.place(self.store()), name, words)
    }

    /// With a store at another place: a folder that is there, or HOST:PORT.
    pub(crate) fn command_at(self, place: &str, name: &str, words: &[OsString]) -> Command {
        let mut command = match self {
            Self::Elect(store) => return store.run(place, name, &[], words),
            Self::Peer(Store::File) => {
                let mut flock = Command::new("flock");
                flock.arg(Path::new(place).join(name));
                flock
            }
            Self::Peer(Store::Etcd) => {
                let mut etcdctl = Command::new("etcdctl");
                let endpoint = format!("--endpoints=http://{place}");
                etcdctl.env("ETCDCTL_API", "3").args([&endpoint, "lock", name]);
                etcdctl
            }
            Self::Peer(Store::ZooKeeper) => {
                let mut python = Command::new(python());
                let peer = Path::new(env!("CARGO_MANIFEST_DIR"));
                python.arg(peer.join("tests/suite/store/foreign/kazoo_peer.py")).arg("lock");
                // It takes part once, as the file that ends it is there.
                python.arg(place).arg(format!("/{name}")).args(["bench", "/"]);
                python
            }
            Self::Peer(Store::MariaDb) => return quiet(MARIADB.session(place, name, words)),
            Self::Peer(Store::Postgres) => return quiet(POSTGRESQL.session(place, name, words)),
            Self::Peer(Store::Redis) => {
                let mut python = Command::new(python());
                python.args(["-c", REDIS_LOCK, place, name]);
                python
            }
            Self::Peer(Store::Consul) => {
                let mut consul = Command::new(consul());
                consul.arg("lock").arg(format!("-http-addr={place}")).args(["-shell=false", name]);
                consul.env("CONSUL_HTTP_TOKEN", Consul::token("elect"));
                consul
            }
            Self::Second(Store::Redis) => {
                let mut single_beat = Command::new(python().with_file_name("single-beat"));
                single_beat.env("SINGLE_BEAT_REDIS_SERVER", format!("redis://{place}"));
                single_beat.env("SINGLE_BEAT_IDENTIFIER", name);
                single_beat
            }
            Self::Second(store) => store.database().expect("it has rows").row(place, name),
        };
        command.args(words);
        quiet(command)
    }

    pub(crate) fn start(self, stage: &Stage, name: &str, words: &[OsString]) -> Child {
        spawn(self.command(stage, name, words))
    }
}

/// Runs a command under the Lock of redis-py.
const REDIS_LOCK: &str = r#"
import subprocess, sys, redis
place, name, *words = sys.argv[1:]
host, port = place.split(':')
with redis.Redis(host, int(port)).lock(name, timeout=15):
    code = subprocess.call(words)
sys.exit(code)
"#;

/// Starts one of them.
pub(crate) fn spawn(mut command: Command) -> Child {
    command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"))
}

pub(crate) fn quiet(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Returns the path of the Python that has the packages from `PyPI`, as tests/run installed them.
pub(crate) fn python() -> PathBuf {
    fetched("python/bin/python").expect("kazoo: run tests/run setup")
}

/// Returns the path of Consul's program.
pub(crate) fn consul() -> PathBuf {
    fetched("consul/usr/bin/consul").expect("Consul: run tests/run setup")
}
