//! An application gets only true answers about its leadership, at any fault of the sidecar.

use elect_testkit::program::state;

use super::application::{Pods, Store};
use super::witness::Witness;
use crate::prelude::*;

const GRACE: Duration = Duration::from_millis(500);

#[test]
fn a_stopped_sidecar_leads_no_longer_than_its_lease() {
    let pods = Pods::with_leases("4s");
    let (mut one, two) = pods.two();
    let witness = Witness::of(&pods, &["one", "two"]);
    one.signal(Signal::SIGSTOP);
    let pid = one.pid();
    eventually("the stop", || (state(pid) == Some('T')).then_some(()));
    pods.check("one").exits(0);
    // No process is left to write that the leadership is over.
    pods.wait_until_leads_no_more("one");
    pods.wait_until_leads("two");
    one.signal(Signal::SIGCONT);
    pods.wait_for_queue(&["one"]);
    pods.check("one").exits(1);
    witness.assert_apart(GRACE);
    one.ended_by(Signal::SIGTERM).exits(0).says("leadership is lost");
    drop(two);
}

#[test]
fn a_killed_sidecar_is_told_to_lead_no_more() {
    let pods = Pods::with_leases("4s");
    let (one, two) = pods.two();
    let witness = Witness::of(&pods, &["one", "two"]);
    let killed = now();
    one.ended_by(Signal::SIGKILL);
    pods.check("one").exits(1).prints("leadership has ended\n");
    pods.wait_until_leads("two");
    // An application that was told so a moment before may go on for the grace. Nothing cuts that short.
    assert!(now().since(killed) >= GRACE);
    witness.assert_apart(GRACE);
    drop(two);
}

#[test]
fn a_silent_store_ends_leadership_and_not_the_sidecar() {
    let pods = Pods::with_leases("4s");
    let mut one = pods.beside_an_application("one").spawn();
    pods.wait_until_leads("one");
    let Store::Etcd(etcd) = &pods.store else { unreachable!("it is on etcd") };
    let stopped = etcd.stop();
    pods.wait_until_leads_no_more("one");
    assert!(one.is_running());
    drop(stopped);
    pods.wait_until_leads("one");
    one.ended_by(Signal::SIGTERM).exits(0).says("leadership is lost");
}

#[test]
fn an_ended_sidecar_waits_for_its_grace_and_the_next_for_no_more() {
    // One of the stores grants leases so long that the test cannot wait for the next renewal.
    for pods in [Pods::on_disk(), Pods::with_leases("10h")] {
        for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
            let (mut one, two) = pods.two();
            let witness = Witness::of(&pods, &["one", "two"]);
            one.signal(signal);
            pods.wait_until_leads("two");
            one.wait().exits(0).prints("");
            pods.check("one").exits(1).prints("leadership has ended\n");
            witness.assert_apart(GRACE);
            two.ended_by(signal).exits(0).prints("");
        }
    }
}

#[test]
fn a_waiting_sidecar_leaves_at_once() {
    let pods = Pods::on_etcd();
    let (one, two) = pods.two();
    two.ended_by(Signal::SIGTERM).exits(0);
    assert!(pods.queue().is_empty());
    drop(one);
}

#[test]
fn an_evicted_sidecar_takes_part_again() {
    let pods = Pods::on_etcd();
    let (one, two) = pods.two();
    let Store::Etcd(etcd) = &pods.store else { unreachable!("it is on etcd") };
    // The oldest key leads.
    let keys = etcd.ctl(&["get", "elect/web/", "--prefix", "--keys-only", "--sort-by=CREATE"]);
    etcd.ctl(&["del", keys.lines().next().expect("a leader")]);
    pods.wait_until_leads("two");
    pods.wait_for_queue(&["one"]);
    drop((one, two));
}

#[test]
fn the_history_tells_how_a_sidecar_has_led() {
    let pods = Pods::on_disk();
    for (signal, words) in
        [(Signal::SIGTERM, "told to end by SIGTERM"), (Signal::SIGINT, "told to end by SIGINT")]
    {
        let one = pods.beside_an_application("one").spawn();
        pods.wait_until_leads("one");
        one.ended_by(signal).exits(0);
        let history = pods.elect("history").args(["--last", "1", "web"]).run().exits(0).stdout;
        assert!(history.trim_end().ends_with(words), "{history}");
    }
}
