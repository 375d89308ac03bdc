//! A check that hangs, on real stores: it is in no renewal's way, and dead before anybody else leads.

use std::ffi::OsString;

use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::Place;

use super::duel::{elect, wait_in_line};
use super::store::{Ground, Store};
use super::{ETCD, KUBERNETES, ZOOKEEPER};
use crate::prelude::*;
use crate::stage::{send_if_alive, stop};

const TTL: Duration = Duration::from_secs(6);

/// As `--health-cmd` wants it.
fn in_one_text(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_str().expect("a text"));
    shlex::try_join(words).expect("no NUL")
}

/// A leads with a check that hangs, and B waits.
struct Scene {
    proxy: TcpProxy,
    oracle: Oracle,
    checks: Oracle,
    a: Running,
    b: Running,
    _ground: Ground,
}

impl Scene {
    fn start(store: Store, lasting: Duration) -> Self {
        let (oracle, checks) = (Oracle::new(), Oracle::new());
        let ground = Ground::start(store, 1, &Place::here());
        let addresses = ground.addresses();
        let proxy = TcpProxy::start(addresses[0]);
        let check = checks.stamper("check").token(1).children(1).daemons(1).deaf();
        let tree = oracle.stamper("A").deaf().lasting(lasting);
        let a = elect(&ground.url(&[proxy.address()]), "A", TTL, None)
            .args(["--health-interval", "50ms", "--health-timeout", "1h"])
            .args(["--health-cmd", &in_one_text(&check.command()), "--"])
            .args(tree.command())
            .spawn();
        oracle.wait_for_run("A");
        checks.wait_for_run("check");
        let url = ground.url(&addresses);
        let next = oracle.stamper("B").lasting(Duration::from_millis(50));
        let b = elect(&url, "B", TTL, None).arg("--").args(next.command()).spawn();
        wait_in_line(&url, "B-", None);
        Self { proxy, oracle, checks, a, b, _ground: ground }
    }

    /// B leads once nothing of A and of its check is left; A ends like this.
    #[track_caller]
    fn hand_over(mut self, code: i32) {
        self.b.wait().exits(0);
        self.oracle.assert_sound();
        let (check, next) = (self.checks.newest("check"), self.oracle.newest("B"));
        let (check, next) = (check.expect("it ran"), next.expect("B ran"));
        assert!(!check.is_alive() && check.last < next.first, "{check}, then {next}");
        send_if_alive(self.a.pid(), Signal::SIGCONT);
        self.a.wait().exits(code);
    }
}

const FOR_EVER: Duration = Duration::from_secs(3600);

#[track_caller]
fn it_ends_with_a_lease_that_is_cut_off(store: Store) {
    let scene = Scene::start(store, FOR_EVER);
    scene.proxy.both(Mode::Swallow);
    scene.hand_over(124);
}

#[track_caller]
fn it_ends_with_the_lease_of_a_wrapper_that_is_stopped(store: Store) {
    let mut scene = Scene::start(store, FOR_EVER);
    stop(scene.a.pid());
    scene.hand_over(124);
}

/// It takes longer than the lease.
#[track_caller]
fn it_is_in_no_renewals_way(store: Store) {
    Scene::start(store, TTL * 2).hand_over(0);
}

macro_rules! checks {
    ($($store:ident: $value:expr;)+) => {
        $(mod $store {
            #[test] fn it_ends_with_a_lease_that_is_cut_off() {
                super::it_ends_with_a_lease_that_is_cut_off($value);
            }
            #[test] fn it_ends_with_the_lease_of_a_wrapper_that_is_stopped() {
                super::it_ends_with_the_lease_of_a_wrapper_that_is_stopped($value);
            }
            #[test] fn it_is_in_no_renewals_way() {
                super::it_is_in_no_renewals_way($value);
            }
        })+
    };
}

checks! {
    etcd: super::ETCD;
    zookeeper: super::ZOOKEEPER;
    kubernetes: super::KUBERNETES;
}
