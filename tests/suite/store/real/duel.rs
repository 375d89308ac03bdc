//! A leads and B waits, and a witness watches A's entry in the store.

use elect_testkit::fault::{Cgroup, Network, Outcome, TcpProxy, Traced};
use elect_testkit::oracle::{Flag, Run};
use elect_testkit::program::children;
use elect_testkit::servers::{DatabaseServer, Place};

use super::between::Between;
use super::cluster::Cluster;
use super::rows::{Rows, Server};
use super::store::{Ground, Store};
use super::surroundings::{Surroundings, Tree, World};
use super::witness::Witness;
use crate::prelude::*;
use crate::stage::send_if_alive;

/// The route from A to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Nothing.
    Direct,
    /// A proxy.
    Proxy,
    /// A pooler of PostgreSQL, or an agent of Consul.
    Between,
    /// A network: the store, A and B have a machine each.
    Network,
}

/// The cgroup that A is in, so that it can be frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freezer {
    None,
    /// All of A, by cgroup v2.
    All,
    /// Its command, by cgroup v1.
    Command,
}

/// The set-up of a duel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) members: usize,
    /// The server of a store of rows.
    pub(crate) server: Server,
    pub(crate) route: Route,
    pub(crate) freezer: Freezer,
    /// The lease that A asks for. The store grants no shorter one.
    pub(crate) ttl: Duration,
    pub(crate) tree: Tree,
    pub(crate) surroundings: Surroundings,
    /// Guards of A's that are turned off.
    pub(crate) without: &'static str,
}

pub(crate) struct Duel {
    pub(crate) oracle: Oracle,
    pub(crate) ttl: Duration,
    pub(crate) a: Running,
    pub(crate) b: Running,
    pub(crate) wrapper: i32,
    pub(crate) guardian: i32,
    pub(crate) end: Flag,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) proxy: Option<TcpProxy>,
    pub(crate) between: Option<Between>,
    pub(crate) network: Option<Arc<Network>>,
    /// The member that A talks to, which leads the others.
    pub(crate) near: usize,
    pub(crate) witness: Witness,
    pub(crate) world: World,
    pub(crate) ground: Ground,
    /// Processes of A that a debugger holds.
    pub(crate) traced: Vec<Traced>,
}

/// As long as the next leader may take: a store that may have lost a leader is waited for.
pub(crate) const LONGEST: Duration = Duration::from_secs(120);

const STORE: usize = 0;
const A: usize = 1;
const B: usize = 2;

impl Duel {
    pub(crate) fn start(store: Store, setting: &Setting) -> Self {
        let network = (setting.route == Route::Network).then(|| Arc::new(Network::new(3)));
        let place = network.as_ref().map_or_else(Place::here, |net| Place::on(net, STORE));
        let ground = Ground::start_as(store, setting.members, setting.server, &place);
        let (near, addresses) = (ground.leader(), ground.addresses());
        let proxy = (setting.route == Route::Proxy).then(|| TcpProxy::start(addresses[near]));
        let between = (setting.route == Route::Between).then(|| ground.between());
        let others = ground.url(&turned(&addresses, near + 1));
        let way = proxy.as_ref().map(TcpProxy::address);
        let own = match way.or(between.as_ref().map(Between::address)) {
            Some(way) => ground.url(&[way]),
            None => ground.url(&turned(&addresses, near)),
        };
        let (world, ttl) = (World::new(setting.surroundings), store.grants(setting.ttl));
        let oracle = Oracle::new();
        let end = oracle.flag("end");
        let cgroup = match setting.freezer {
            Freezer::None => None,
            Freezer::All => Some(Cgroup::v2()),
            Freezer::Command => Some(Cgroup::v1()),
        };
        let tree = oracle.stamper("A").children(2).depth(2).deaf().until(&end);
        let on_a = network.as_deref().map(|net| (net, A));
        let leader = elect(&own, "A", ttl, on_a).env("ELECT_TEST_WITHOUT", setting.without);
        let mut leader = world.around(leader);
        leader = match (&cgroup, setting.freezer) {
            (Some(cgroup), Freezer::All) => leader.under(cgroup.enter()).arg("--"),
            (Some(cgroup), _) => leader.arg("--").args(cgroup.enter()),
            (None, _) => leader.arg("--"),
        };
        let mut a = leader.args(world.command(tree, setting.tree)).spawn();
        wait_for_command(&oracle, &mut a);
        let next = oracle.stamper("B").children(1).lasting(Duration::from_millis(50));
        let on_b = network.as_deref().map(|net| (net, B));
        let b = elect(&others, "B", ttl, on_b).arg("--").args(next.command()).spawn();
        wait_in_line(&others, "B-", on_b);
        let witness = Witness::of(&others, "A-", watching(network.clone()));
        witness.wait_for_entry();
        let (wrapper, guardian) = (a.pid(), a.guardian());
        Self {
            oracle,
            ttl,
            a,
            b,
            wrapper,
            guardian,
            end,
            cgroup,
            proxy,
            between,
            network,
            near,
            witness,
            world,
            ground,
            traced: Vec::new(),
        }
    }

    /// The members of the store.
    pub(crate) fn cluster(&mut self) -> &mut dyn Cluster {
        self.ground.cluster().expect("a store with members")
    }

    pub(crate) fn api_server(&mut self) -> &mut ApiServer {
        self.cluster().api_server()
    }

    /// The service in a cloud.
    pub(crate) fn cloud(&mut self) -> &dyn DatabaseServer {
        self.cluster().cloud()
    }

    pub(crate) fn rows(&mut self) -> &mut Rows {
        self.ground.rows()
    }

    pub(crate) fn between(&mut self) -> &mut Between {
        self.between.as_mut().expect("a process between A and the store")
    }

    pub(crate) fn proxy(&self) -> &TcpProxy {
        self.proxy.as_ref().expect("a proxy")
    }

    pub(crate) fn network(&self) -> &Network {
        self.network.as_ref().expect("a network")
    }

    pub(crate) fn freeze(&self, frozen: bool) {
        self.cgroup.as_ref().expect("A is in a freezer").freeze(frozen);
    }

    /// A's machine.
    pub(crate) const A: usize = A;

    /// A member that A does not talk to.
    pub(crate) fn far(&self) -> usize {
        (self.near + 1) % self.ground.addresses().len()
    }

    /// The processes of A's command that live.
    pub(crate) fn living(&self) -> Vec<i32> {
        let run = self.oracle.newest("A").expect("A ran");
        run.processes.iter().filter(|process| process.is_alive).map(|process| process.pid).collect()
    }

    /// A's command will not end when it is killed.
    pub(crate) fn keep_the_command(&mut self) {
        let command = children(self.guardian).into_iter().next().expect("A's command");
        self.traced.push(Traced::keep(command));
    }

    /// Ends what is stopped, frozen or cut off.
    pub(crate) fn heal(&mut self) {
        self.traced.clear();
        if let Some(cluster) = self.ground.cluster() {
            cluster.heal();
        }
        if let Some(between) = &mut self.between {
            between.revive();
        }
        if let Some(network) = &self.network {
            network.heal(A);
        }
        self.world.disperse();
        if let Some(cgroup) = &self.cgroup {
            cgroup.freeze(false);
        }
        for pid in self.living().into_iter().chain([self.guardian, self.wrapper]) {
            send_if_alive(pid, Signal::SIGCONT);
        }
    }

    /// Waits for B to lead and end. A is dead by then.
    #[track_caller]
    pub(crate) fn follow(&mut self) -> Run {
        let b = std::mem::replace(&mut self.b, Running::idle());
        b.wait_for(LONGEST).exits(0);
        self.oracle.assert_sound();
        let run = self.oracle.newest("A").expect("A ran");
        assert!(!run.is_alive(), "{run} lives on");
        run
    }

    /// The same, and A was dead before its entry was gone.
    #[track_caller]
    pub(crate) fn hand_over(&mut self) -> (Run, Outcome) {
        let run = self.follow();
        let sightings = self.witness.wait_for_end();
        let gone = sightings.gone.expect("an end");
        let last = self.world.last_of_the_others();
        let next = self.oracle.newest("B").expect("B ran").first;
        let is_in_time = last.is_none_or(|last| last < gone && last < next);
        assert!(
            is_in_time,
            "others than {run} ran until {last:?}; entry gone {gone:?}, next {next:?}"
        );
        assert!(run.last < gone, "{run} ran when its entry was gone, at {gone:?}");
        let next = self.oracle.newest("B").map(|run| run.first);
        let outcome = Outcome { last: run.last, lease_end: sightings.alive, next, kept: None };
        (run, outcome)
    }
}

/// The program that this candidate runs: where releases are mixed, another one than all others.
fn binary_of(id: &str) -> PathBuf {
    std::env::var_os(format!("ELECT_BINARY_{id}")).map_or_else(|| ELECT.into(), PathBuf::from)
}

/// Waits until all processes of A's command have stamped. One that ends before says why at once.
#[track_caller]
fn wait_for_command(oracle: &Oracle, a: &mut Running) {
    let is_there = eventually("all processes of A, or its end", || {
        let is_there = oracle.newest("A").is_some_and(|run| run.is_complete());
        (is_there || !a.is_running()).then_some(is_there)
    });
    assert!(is_there, "A has ended before all processes of its command were there");
}

/// Returns `elect run` in the election "job", without a command.
pub(crate) fn elect(url: &str, id: &str, ttl: Duration, on: Option<(&Network, usize)>) -> Elect {
    let elect = Elect::new(binary_of(id));
    let elect = match on {
        Some((network, machine)) => elect.under(network.enter(machine)),
        None => elect,
    };
    let elect = elect.args(["run", "-b", url, "-e", "job", "--id", id, "--stop-timeout", "500ms"]);
    if url.starts_with("file:") {
        // Its leases do not end by time.
        return elect;
    }
    elect.args(["--ttl", &format!("{}s", ttl.as_secs())])
}

/// Waits until a candidate whose id begins like this has an entry.
#[track_caller]
pub(crate) fn wait_in_line(url: &str, id: &str, on: Option<(&Network, usize)>) {
    let status = Elect::new(ELECT);
    let status = match on {
        Some((network, machine)) => status.under(network.enter(machine)),
        None => status,
    };
    let status = status.args(["status", "-b", url, "-o", "json", "job"]);
    let id = format!("\"{id}");
    eventually("an entry", || status.run().stdout.contains(&id).then_some(()));
}

/// The same addresses, from another one on.
fn turned(addresses: &[SocketAddr], first: usize) -> Vec<SocketAddr> {
    let mut turned = addresses.to_vec();
    turned.rotate_left(first % addresses.len().max(1));
    turned
}

/// The witness sits beside the store.
fn watching(
    network: Option<Arc<Network>>,
) -> impl FnOnce(&mut (dyn FnMut() + Send)) + Send + 'static {
    move |watch| match network {
        Some(network) => network.inside(STORE, watch),
        None => watch(),
    }
}
