//! The programs that are measured: elect on its stores, and its peers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use elect_testkit::program::Elect;
use elect_testkit::servers::fetched;

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    Elect(Store),
    Peer(Store),
    /// A second peer on a database: a row with the time until which it is locked, as ShedLock keeps one.
    Row(Store),
}

impl Store {
    pub(crate) const ALL: [Self; 5] =
        [Self::File, Self::Etcd, Self::ZooKeeper, Self::MariaDb, Self::Postgres];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Etcd => "etcd",
            Self::ZooKeeper => "zookeeper",
            Self::MariaDb => "mariadb",
            Self::Postgres => "postgresql",
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
        all.extend(store.database().map(|_| Self::Row(store)));
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
            Self::Row(_) => "row",
        }
    }

    const fn store(self) -> Store {
        match self {
            Self::Elect(store) | Self::Peer(store) | Self::Row(store) => store,
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
            Self::Row(store) => store.database().expect("it has rows").row(place, name),
        };
        command.args(words);
        quiet(command)
    }

    pub(crate) fn start(self, stage: &Stage, name: &str, words: &[OsString]) -> Child {
        spawn(self.command(stage, name, words))
    }
}

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
