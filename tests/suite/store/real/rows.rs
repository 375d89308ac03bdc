//! The faults that stores of rows have, beside those of any server.

use elect_record::table::Table as _;
use elect_testkit::fault::{Disk, Mode};
use elect_testkit::run;
use elect_testkit::servers::redis_nodes::{RedisNodes, give_rows, move_rows, offer_rows};
use elect_testkit::servers::{DatabaseServer, DatabaseSetup, Place, Process, Redis, Sentinel};

use super::case::{Case, Ending, case};
use super::cases::{ALONE, ROOMY};
use super::cluster::{Brand, Cluster};
use super::duel::{Duel, Route, Setting};
use crate::prelude::*;
use crate::support::WallClock;

/// The server of a store of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Plain,
    /// Its wall clock is what the test makes it.
    WrongClock,
    /// Its disk can be filled up.
    SmallDisk,
    /// It has a replica that has each write before it is acknowledged.
    SynchronousReplica,
    /// It has a replica that may lack the newest writes.
    Replica,
    /// It has a replica that has received nothing since there were candidates.
    ReplicaBehind,
    /// There is a backup of before there were candidates.
    BackUp,
    /// It saves nothing, as Redis can be told.
    Forgetful,
    /// It has a replica, which a Sentinel promotes when it is gone.
    Sentinel,
    /// Nodes of Redis, one of which has all rows.
    Nodes,
}

/// How often connections are cut.
const CUTS: usize = 5;
/// At most so many bytes of what is sent over a connection arrive: less than it takes to log in and to write once.
const PASSED: u64 = 2000;
/// In KiB: some more than an empty server takes.
const ROOM: u32 = 100_000;

/// Redis saves nothing.
const NOTHING: &str = "--appendonly no";

const BETWEEN: Setting = Setting { route: Route::Between, ..ALONE };
const ROOMY_BETWEEN: Setting = Setting { route: Route::Between, ..ROOMY };
const ROOMY_PROXY: Setting = Setting { route: Route::Proxy, ..ROOMY };

const fn with(server: Server) -> Setting {
    Setting { server, ..ROOMY }
}

pub(crate) const ROWS: &[Case] = &[
    case(
        "server_stopped",
        "45 server stopped, for longer than the lease",
        ALONE,
        Ending::Outlasts,
        |duel| {
            duel.rows().primary.stop(true);
        },
    )
    .of_rows(),
    case(
        "between_killed",
        "48 pgbouncer or Consul's agent killed, for longer than the lease",
        BETWEEN,
        Ending::Expires,
        |duel| duel.between().kill(),
    )
    .of_those_between(),
    case(
        "synchronous_replica_promoted",
        "50 primary killed, its synchronous replica promoted",
        with(Server::SynchronousReplica),
        Ending::Rides,
        |duel| duel.rows().fail_over(),
    )
    .of_rows(),
    case(
        "server_started_again",
        "45 server killed, and started again at once",
        ROOMY,
        Ending::Rides,
        |duel| {
            duel.rows().primary.kill();
            duel.rows().primary.revive();
        },
    )
    .of_rows(),
    case(
        "server_stopped_for_a_moment",
        "45 server stopped, and continued after 3 s",
        ROOMY,
        Ending::Rides,
        |duel| {
            duel.rows().primary.stop(true);
            let since = now();
            eventually("a while", || (now().since(since) > Duration::from_secs(3)).then_some(()));
            duel.rows().primary.stop(false);
        },
    )
    .of_rows(),
    case(
        "server_clock_stepped",
        "46 wall clock of the server an hour ahead, then behind",
        with(Server::WrongClock),
        Ending::Rides,
        |duel| duel.rows().step_the_clock(),
    )
    .of_rows(),
    case(
        "connections_cut_within_requests",
        "47 connections cut within requests",
        ROOMY_PROXY,
        Ending::Rides,
        cut_within_requests,
    )
    .of_rows(),
    case(
        "connections_cut_before_answers",
        "47 connections cut between a write and its answer",
        ROOMY_PROXY,
        Ending::Rides,
        cut_before_answers,
    )
    .of_rows(),
    case(
        "between_started_again",
        "48 pgbouncer or Consul's agent killed, and started again at once",
        ROOMY_BETWEEN,
        Ending::Rides,
        |duel| {
            duel.between().kill();
            duel.between().revive();
        },
    )
    .of_those_between(),
    case(
        "replica_promoted",
        "50 primary killed, its replica promoted without the renewals of a TTL",
        with(Server::Replica),
        Ending::Rides,
        |duel| {
            duel.rows().replica().fall_behind();
            duel.oracle.wait_for_stamps("A", duel.ttl);
            duel.rows().fail_over();
        },
    )
    .of_rows(),
    case(
        "server_killed",
        "45 server killed, and started again after the lease",
        ALONE,
        Ending::Outlasts,
        |duel| {
            duel.rows().primary.kill();
        },
    )
    .of_rows(),
    case(
        "server_without_room",
        "49 disk of the server full, for longer than the lease",
        Setting { server: Server::SmallDisk, ..ALONE },
        Ending::Outlasts,
        |duel| duel.rows().fill_the_disk(),
    )
    .of_rows(),
    case(
        "replica_promoted_without_the_win",
        "50 primary killed, its replica promoted without the win",
        Setting { server: Server::ReplicaBehind, ..ALONE },
        Ending::Forgotten,
        |duel| duel.rows().fail_over(),
    )
    .of_rows(),
    case(
        "backup_put_back",
        "51 backup of before the win put back",
        Setting { server: Server::BackUp, ..ALONE },
        Ending::Forgotten,
        |duel| duel.rows().go_back(),
    )
    .of_rows(),
    case(
        "sentinel_promotes",
        "50 primary killed, its replica promoted by a Sentinel",
        with(Server::Sentinel),
        Ending::Rides,
        |duel| duel.rows().primary.kill(),
    )
    .of_redis(),
    case(
        "slot_moved",
        "55 slot of the rows moved to another node",
        with(Server::Nodes),
        Ending::Rides,
        |duel| duel.rows().move_slot(),
    )
    .of_redis(),
    case("flushed", "53 FLUSHALL", ALONE, Ending::Forgotten, |duel| {
        duel.rows().primary.ask("FLUSHALL");
    })
    .of_redis(),
    case(
        "server_started_again_with_nothing",
        "54 server killed, and started again at once with nothing saved",
        with(Server::Forgetful),
        Ending::Forgotten,
        |duel| {
            duel.rows().primary.kill();
            duel.rows().primary.revive();
        },
    )
    .of_redis(),
];

/// Of what A sends, a part arrives, and then nothing more on that connection.
fn cut_within_requests(duel: &mut Duel) {
    let proxy = duel.proxy();
    for _ in 0..CUTS {
        let end = proxy.traffic().requests.passed + fastrand::u64(1..PASSED);
        proxy.requests(Mode::Until(end));
        eventually("a part of what A sends", || {
            (proxy.traffic().requests.passed >= end).then_some(())
        });
        proxy.cut();
        proxy.requests(Mode::Pass);
    }
}

/// The server has answered, and A does not hear it.
fn cut_before_answers(duel: &mut Duel) {
    let proxy = duel.proxy();
    for _ in 0..CUTS {
        let before = proxy.traffic().replies.chunks;
        proxy.replies(Mode::Swallow);
        eventually("an answer to A", || (proxy.traffic().replies.chunks > before).then_some(()));
        proxy.cut();
        proxy.replies(Mode::Pass);
    }
}

/// A store of rows.
pub(crate) struct Rows {
    pub(crate) brand: Brand,
    pub(crate) primary: Box<dyn DatabaseServer>,
    replica: Option<Box<dyn DatabaseServer>>,
    sentinel: Option<Sentinel>,
    /// All nodes but the primary, which has the rows.
    nodes: Vec<Redis>,
    /// The name of a copy of the primary's data.
    backup: String,
    clock: Option<WallClock>,
    // It is unmounted after the server's end.
    disk: Option<Disk>,
}

impl Rows {
    pub(crate) fn start(brand: Brand, server: Server, place: &Place) -> Self {
        if server == Server::Nodes {
            let RedisNodes { home, others } = RedisNodes::start();
            return Self { nodes: others, ..Self::of(brand, Box::new(home)) };
        }
        let clock = (server == Server::WrongClock).then(WallClock::new);
        let disk = (server == Server::SmallDisk).then(|| Disk::of_kib(ROOM));
        let under = clock.as_ref().map(|clock| {
            clock.put_ahead(3600);
            clock.words()
        });
        let primary = brand.database(&DatabaseSetup {
            place: place.clone(),
            under: under.unwrap_or_default(),
            disk: disk.as_ref().map(|disk| disk.path().to_owned()),
            has_log: !matches!(server, Server::Plain | Server::WrongClock),
            settings: if server == Server::Forgetful {
                vec![NOTHING.to_owned()]
            } else {
                Vec::new()
            },
        });
        let mut rows = Self { clock, disk, ..Self::of(brand, primary) };
        match server {
            Server::Plain
            | Server::WrongClock
            | Server::SmallDisk
            | Server::Forgetful
            | Server::Nodes => {}
            Server::Replica => rows.replica = Some(rows.primary.replica()),
            Server::SynchronousReplica => {
                rows.replica = Some(rows.primary.replica());
                rows.primary.wait_for_replica();
            }
            Server::ReplicaBehind => {
                rows.make_table();
                rows.replica.insert(rows.primary.replica()).fall_behind();
            }
            Server::BackUp => {
                rows.make_table();
                rows.backup = rows.primary.back_up();
            }
            Server::Sentinel => {
                rows.replica = Some(rows.primary.replica());
                rows.sentinel = Some(Sentinel::start(rows.primary.address(), 1));
            }
        }
        rows
    }

    fn of(brand: Brand, primary: Box<dyn DatabaseServer>) -> Self {
        Self {
            brand,
            primary,
            replica: None,
            sentinel: None,
            nodes: Vec::new(),
            backup: String::new(),
            clock: None,
            disk: None,
        }
    }

    /// Returns the URL for a candidate that reaches the servers at these addresses.
    pub(crate) fn url(&self, addresses: &[SocketAddr]) -> String {
        match &self.sentinel {
            Some(sentinel) => format!("{}?sentinel=jobs", self.brand.url(&[sentinel.address()])),
            None => self.brand.url(addresses),
        }
    }

    fn make_table(&self) {
        let url = self.brand.url(&[self.primary.address()]);
        let made = run("a table", async {
            match self.brand {
                Brand::MariaDb => elect_mariadb::table(&url)?.prepare().await,
                Brand::Redis => elect_redis::table(&url)?.prepare().await,
                _ => elect_postgresql::table(&url)?.prepare().await,
            }
        });
        made.expect("the right to make it");
    }

    pub(crate) fn replica(&self) -> &dyn DatabaseServer {
        &**self.replica.as_ref().expect("a replica")
    }

    /// The primary is gone, and the replica takes over.
    pub(crate) fn fail_over(&mut self) {
        self.primary.kill();
        self.replica().promote();
    }

    /// Another node gets the rows.
    fn move_slot(&self) {
        let [to, other] = [&self.nodes[0], &self.nodes[1]];
        offer_rows(&*self.primary, to);
        move_rows(&*self.primary, to);
        give_rows(to, &[to, &*self.primary, other]);
    }

    fn go_back(&mut self) {
        self.primary.restore(&self.backup);
    }

    fn step_the_clock(&self) {
        let before = self.primary.hour();
        self.clock.as_ref().expect("a clock").put_ahead(-3600);
        assert_eq!((before + 22) % 24, self.primary.hour(), "the clock is not in use");
    }

    /// Nothing can be written any more, not even what the server writes ahead.
    fn fill_the_disk(&mut self) {
        self.disk.as_ref().expect("a disk").fill();
        self.primary.run_out_of_room();
    }
}

impl Cluster for Rows {
    fn addresses(&self) -> Vec<SocketAddr> {
        let servers = [&self.primary].into_iter().chain(&self.replica);
        let nodes = self.nodes.iter().map(Redis::address);
        servers.map(|server| server.address()).chain(nodes).collect()
    }

    fn member(&mut self, _: usize) -> &mut Process {
        self.primary.process()
    }

    fn leader(&self) -> usize {
        0
    }

    fn heal(&mut self) {
        if self.replica.is_some() {
            // An old primary must not come back.
            return;
        }
        if let Some(disk) = &self.disk {
            disk.free();
        }
        if self.primary.process().is_alive() {
            self.primary.stop(false);
        } else {
            self.primary.revive();
        }
    }
}
