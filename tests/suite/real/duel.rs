//! A leads and B waits; somebody watches A's entry in the store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use elect_testkit::fault::{Cgroup, Network, Outcome, TcpProxy};
use elect_testkit::oracle::{Flag, Oracle, Run};
use elect_testkit::program::{Elect, Running, eventually};
use elect_testkit::servers::Place;
use nix::sys::signal::Signal;

use super::cluster::{Brand, Cluster};
use super::witness::Witness;
use crate::stage::send_if_alive;

/// What lies between A and the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Nothing.
    Direct,
    /// A proxy.
    Proxy,
    /// A network: the store, A and B have a machine each.
    Network,
}

/// What A is in, so that it can be frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freezer {
    None,
    /// All of A, by cgroup v2.
    All,
    /// Its command, by cgroup v1.
    Command,
}

/// How a duel is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) members: usize,
    pub(crate) route: Route,
    pub(crate) freezer: Freezer,
    pub(crate) ttl: Duration,
}

pub(crate) struct Duel {
    pub(crate) oracle: Oracle,
    pub(crate) a: Running,
    pub(crate) b: Running,
    pub(crate) wrapper: i32,
    pub(crate) guardian: i32,
    pub(crate) end: Flag,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) proxy: Option<TcpProxy>,
    pub(crate) network: Option<Arc<Network>>,
    /// The member that A talks to, which leads the others.
    pub(crate) near: usize,
    pub(crate) witness: Witness,
    pub(crate) cluster: Box<dyn Cluster>,
}

const STORE: usize = 0;
const A: usize = 1;
const B: usize = 2;

impl Duel {
    pub(crate) fn start(brand: Brand, setting: &Setting) -> Self {
        let network = (setting.route == Route::Network).then(|| Arc::new(Network::new(3)));
        let place = network.as_ref().map_or_else(Place::here, |net| Place::on(net, STORE));
        let cluster = brand.start(setting.members, &place);
        let near = cluster.leader();
        let addresses = cluster.addresses();
        let proxy = (setting.route == Route::Proxy).then(|| TcpProxy::start(addresses[near]));
        let others = brand.url(&turned(&addresses, near + 1));
        let own = match &proxy {
            Some(proxy) => brand.url(&[proxy.address()]),
            None => brand.url(&turned(&addresses, near)),
        };
        let oracle = Oracle::new();
        let end = oracle.flag("end");
        let cgroup = match setting.freezer {
            Freezer::None => None,
            Freezer::All => Some(Cgroup::v2()),
            Freezer::Command => Some(Cgroup::v1()),
        };
        let tree = oracle.stamper("A").children(2).depth(2).deaf().until(&end);
        let mut leader = elect(&own, "A", setting.ttl, network.as_deref().map(|net| (net, A)));
        leader = match (&cgroup, setting.freezer) {
            (Some(cgroup), Freezer::All) => leader.under(cgroup.enter()).arg("--"),
            (Some(cgroup), _) => leader.arg("--").args(cgroup.enter()),
            (None, _) => leader.arg("--"),
        };
        let mut a = leader.args(tree.command()).spawn();
        oracle.wait_for_run("A");
        let next = oracle.stamper("B").children(1).lasting(Duration::from_millis(50));
        let on_b = network.as_deref().map(|net| (net, B));
        let b = elect(&others, "B", setting.ttl, on_b).arg("--").args(next.command()).spawn();
        wait_in_line(&others, "B-", on_b);
        let witness = Witness::of(&others, "A-", watching(network.clone()));
        witness.wait_for_entry();
        let (wrapper, guardian) = (a.pid(), a.guardian());
        Self {
            oracle,
            a,
            b,
            wrapper,
            guardian,
            end,
            cgroup,
            proxy,
            network,
            near,
            witness,
            cluster,
        }
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
        (self.near + 1) % self.cluster.addresses().len()
    }

    /// Ends what is stopped, frozen or cut off.
    pub(crate) fn heal(&mut self) {
        for index in 0..self.cluster.addresses().len() {
            if self.cluster.member(index).is_alive() {
                self.cluster.member(index).signal(Signal::SIGCONT);
            } else {
                self.cluster.member(index).restart();
            }
        }
        if let Some(network) = &self.network {
            network.heal(A);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.freeze(false);
        }
        for pid in [self.guardian, self.wrapper] {
            send_if_alive(pid, Signal::SIGCONT);
        }
    }

    /// Waits for B to lead and end. A is dead by then, and was dead before its entry was gone.
    #[track_caller]
    pub(crate) fn hand_over(&mut self) -> (Run, Outcome) {
        let b = std::mem::replace(&mut self.b, Running::idle());
        b.wait().exits(0);
        self.oracle.assert_sound();
        let run = self.oracle.newest("A").expect("A ran");
        assert!(!run.is_alive(), "{run} lives on");
        let sightings = self.witness.wait_for_end();
        let gone = sightings.gone.expect("an end");
        assert!(run.last < gone, "{run} ran when its entry was gone, at {gone:?}");
        let next = self.oracle.newest("B").map(|run| run.first);
        let outcome = Outcome { last: run.last, lease_end: sightings.alive, next };
        (run, outcome)
    }
}

/// `elect run` in the election "job"; the command is to be added.
pub(crate) fn elect(url: &str, id: &str, ttl: Duration, on: Option<(&Network, usize)>) -> Elect {
    let elect = Elect::new(env!("CARGO_BIN_EXE_elect"));
    let elect = match on {
        Some((network, machine)) => elect.under(network.enter(machine)),
        None => elect,
    };
    let ttl = format!("{}s", ttl.as_secs());
    elect.args([
        "run",
        "-b",
        url,
        "-e",
        "job",
        "--id",
        id,
        "--ttl",
        &ttl,
        "--stop-timeout",
        "500ms",
    ])
}

/// Waits until a candidate whose id begins like this has an entry.
#[track_caller]
pub(crate) fn wait_in_line(url: &str, id: &str, on: Option<(&Network, usize)>) {
    let status = Elect::new(env!("CARGO_BIN_EXE_elect"));
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
    turned.rotate_left(first % addresses.len());
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
