//! The stores and the names that contenders share.

use std::cell::{Cell, OnceCell};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use elect_testkit::servers::{
    Consul, DatabaseServer as _, DatabaseSetup, Etcd, MariaDb, Postgres, Redis, ZooKeeper,
    ZooKeeperSetup,
};
use serde_json::json;
use tempfile::TempDir;

use crate::asked::Asked;
use crate::contender::Store;
use crate::databases::{MARIADB, POSTGRESQL};

/// Of ZooKeeper's; a session ends with one.
const TICK: Duration = Duration::from_secs(1);
/// So that a crowd need not renew while it is looked at: 100 minutes.
const LONGEST_SESSION: &str = "maxSessionTimeout=6000000";

/// Durable, as people have it. A crowd needs a connection for each of its members.
const MARIADB_SETTINGS: [&str; 4] = [
    "--debug-no-sync=OFF",
    "--innodb-flush-method=O_DIRECT",
    "--innodb-doublewrite=ON",
    "--max-connections=1200",
];
/// The same. The count of statements needs an extension.
const POSTGRES_SETTINGS: [&str; 4] = [
    "fsync=on",
    "autovacuum=on",
    "max_connections=1200",
    "shared_preload_libraries=pg_stat_statements",
];

/// A server of each store that is asked for, and a folder.
pub(crate) struct Stage {
    folder: TempDir,
    etcd: OnceCell<Etcd>,
    zookeeper: OnceCell<ZooKeeper>,
    mariadb: OnceCell<MariaDb>,
    postgres: OnceCell<Postgres>,
    redis: OnceCell<Redis>,
    consul: OnceCell<Consul>,
    next: Cell<u32>,
    /// The number of times that ZooKeeper was asked for its count of requests.
    looks: Cell<u64>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        fs::create_dir(folder.path().join("state")).expect("a folder");
        Self {
            folder,
            etcd: OnceCell::new(),
            zookeeper: OnceCell::new(),
            mariadb: OnceCell::new(),
            postgres: OnceCell::new(),
            redis: OnceCell::new(),
            consul: OnceCell::new(),
            next: Cell::new(0),
            looks: Cell::new(0),
        }
    }

    pub(crate) fn etcd(&self) -> &Etcd {
        self.etcd.get_or_init(|| Etcd::start_own(1))
    }

    pub(crate) fn zookeeper(&self) -> &ZooKeeper {
        self.zookeeper.get_or_init(|| {
            ZooKeeper::start(&ZooKeeperSetup {
                tick: TICK,
                lines: vec![LONGEST_SESSION.to_owned()],
                ..ZooKeeperSetup::default()
            })
        })
    }

    fn mariadb(&self) -> &MariaDb {
        self.mariadb.get_or_init(|| {
            let server = MariaDb::start_with(&MARIADB_SETTINGS);
            server.ask(MARIADB.tables);
            server
        })
    }

    fn postgres(&self) -> &Postgres {
        self.postgres.get_or_init(|| {
            let server = Postgres::start_with(&POSTGRES_SETTINGS);
            server.ask(POSTGRESQL.tables);
            server
        })
    }

    fn redis(&self) -> &Redis {
        self.redis.get_or_init(|| {
            let server = Redis::start();
            server.begin_here();
            server
        })
    }

    fn consul(&self) -> &Consul {
        self.consul.get_or_init(|| {
            let crowd = json!({"limits": {"http_max_conns_per_client": 5000}});
            Consul::start_as(1, &DatabaseSetup::default(), &crowd)
        })
    }

    /// A name that nothing else has.
    pub(crate) fn fresh(&self, what: &str) -> String {
        let number = self.next.get();
        self.next.set(number + 1);
        format!("{what}-{number}")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the place of a store: a folder, or HOST:PORT.
    pub(crate) fn place(&self, store: Store) -> String {
        match store {
            Store::File => self.path("state").display().to_string(),
            Store::Etcd => self.etcd().endpoints()[0].to_string(),
            Store::ZooKeeper => self.zookeeper().address(0).to_string(),
            Store::MariaDb => self.mariadb().address().to_string(),
            Store::Postgres => self.postgres().address().to_string(),
            Store::Redis => self.redis().address().to_string(),
            Store::Consul => self.consul().address().to_string(),
        }
    }

    /// Returns the counts of a store's server, without these questions. They are zero for the local disk.
    pub(crate) fn asked(&self, store: Store) -> Asked {
        match store {
            // Consul counts only over the last seconds.
            Store::File | Store::Consul => Asked::default(),
            Store::Etcd => Asked::of_etcd(self.etcd()),
            Store::ZooKeeper => {
                self.looks.set(self.looks.get() + 1);
                Asked::of_zookeeper(self.zookeeper(), self.looks.get())
            }
            Store::MariaDb => Asked::of_mariadb(self.mariadb()),
            Store::Postgres => Asked::of_postgres(self.postgres()),
            Store::Redis => Asked::of_redis(self.redis()),
        }
    }
}
