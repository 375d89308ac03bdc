//! Counts of the requests and writes that a server has handled, as the server tells them.

use elect_testkit::servers::{DatabaseServer as _, Etcd, MariaDb, Postgres, Redis, ZooKeeper};

use crate::databases::{MARIADB, POSTGRESQL};

/// So much has been asked of a server since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// Messages of clients. ZooKeeper counts its pings with them, etcd does not count those of HTTP/2.
    pub(crate) requests: u64,
    /// The entries written to its log; on databases the statements that write.
    pub(crate) writes: u64,
}

impl Asked {
    pub(crate) fn of_etcd(etcd: &Etcd) -> Self {
        Self {
            requests: etcd.counted("grpc_server_msg_received_total"),
            writes: etcd.counted("etcd_server_proposals_committed_total"),
        }
    }

    /// As this was asked so many times, this time included.
    pub(crate) fn of_zookeeper(zookeeper: &ZooKeeper, looks: u64) -> Self {
        let page = zookeeper.ask(0, "srvr").expect("ZooKeeper tells of itself");
        let told = |name| page.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        let received: u64 = told("Received: ").parse().expect("a count");
        let writes = u64::from_str_radix(told("Zxid: 0x"), 16).expect("a number");
        Self { requests: received.saturating_sub(looks), writes }
    }

    pub(crate) fn of_mariadb(mariadb: &MariaDb) -> Self {
        let told = mariadb.ask(MARIADB.counts);
        let counts = told.lines().filter_map(|line| line.split_once('\t'));
        let sum = |is_wanted: fn(&str) -> bool| -> u64 {
            let wanted = counts.clone().filter(|(name, _)| is_wanted(name));
            wanted.map(|(_, count)| count.parse::<u64>().expect("a count")).sum()
        };
        Self { requests: sum(|_| true), writes: sum(|name| name != "Com_select") }
    }

    pub(crate) fn of_postgres(postgres: &Postgres) -> Self {
        let told = postgres.ask(POSTGRESQL.counts);
        let mut counts = told.split('|').map(|count| count.parse().expect("a count"));
        let mut next = || counts.next().expect("two counts");
        Self { requests: next(), writes: next() }
    }

    /// Scripts write by HSET and HDEL.
    pub(crate) fn of_redis(redis: &Redis) -> Self {
        let told = redis.ask("INFO commandstats");
        let calls = |name: &str| -> u64 {
            let start = format!("cmdstat_{name}:calls=");
            let count = told.lines().find_map(|line| line.strip_prefix(&start)?.split(',').next());
            count.map_or(0, |count| count.parse().expect("a count"))
        };
        let sum = |names: &[&str]| names.iter().map(|name| calls(name)).sum();
        Self {
            requests: sum(&["eval", "ping", "subscribe", "unsubscribe"]),
            writes: sum(&["hset", "hdel"]),
        }
    }

    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self { requests: self.requests - earlier.requests, writes: self.writes - earlier.writes }
    }
}
