//! The application's health decides which candidate leads.

use super::application::Pods;
use super::witness::Witness;
use crate::prelude::*;

const GRACE: Duration = Duration::from_millis(500);

fn stores() -> [Pods; 2] {
    [Pods::on_disk(), Pods::on_etcd()]
}

#[test]
fn leadership_follows_the_applications() {
    for pods in stores() {
        let (one, two) = pods.two();
        pods.check("one").exits(0).prints("leading, 0.500s left\n");
        pods.check("two").exits(1).prints("not leading\n");
        let witness = Witness::of(&pods, &["one", "two"]);

        pods.set_well("one", false);
        pods.wait_until_leads("two");
        pods.check("one").exits(1).prints("leadership has ended\n");
        pods.wait_for_queue(&[]);

        pods.set_well("one", true);
        pods.wait_for_queue(&["one"]);
        pods.check("two").exits(0);

        pods.set_well("two", false);
        pods.wait_until_leads("one");
        witness.assert_apart(GRACE);
        for sidecar in [one, two] {
            let ended = sidecar.ended_by(Signal::SIGTERM).exits(0).prints("");
            ended
                .says("giving leadership up: the application is not well: test exited with code 1");
        }
    }
}

#[test]
fn a_sidecar_that_is_not_well_delays_no_other() {
    for pods in stores() {
        let (one, two) = pods.two();
        pods.set_well("two", false);
        pods.wait_for_queue(&[]);
        let three = pods.beside_an_application("three").spawn();
        pods.wait_for_queue(&["three"]);
        // It comes back behind the others, and as often as it likes.
        pods.set_well("two", true);
        pods.wait_for_queue(&["three", "two"]);
        pods.set_well("two", false);
        pods.wait_for_queue(&["three"]);
        two.ended_by(Signal::SIGTERM).exits(0).says("the application is not well");
        drop((one, three));
    }
}

#[test]
fn no_sidecar_leads_before_its_first_check_has_passed() {
    let pods = Pods::on_disk();
    let elect = pods.beside_an_application("one");
    pods.set_well("one", false);
    let sidecar = elect.spawn();
    eventually("a lease file", || pods.lease("one").exists().then_some(()));
    let others = pods.elect("run").args(["-n", "-e", "web", "true"]);
    others.run().exits(0);
    pods.check("one").exits(1).prints("not leading\n");
    pods.set_well("one", true);
    pods.wait_until_leads("one");
    others.run().exits(75);
    sidecar.ended_by(Signal::SIGTERM).exits(0);
}

#[test]
fn it_shares_elections_with_commands() {
    let pods = Pods::on_etcd();
    let sidecar = pods.beside_an_application("one").spawn();
    pods.wait_until_leads("one");
    let run = pods.elect("run").args(["--ttl", "4s", "-e", "web", "--id", "job", "true"]).spawn();
    pods.wait_for_queue(&["job"]);
    pods.set_well("one", false);
    run.wait().exits(0);
    pods.set_well("one", true);
    pods.wait_until_leads("one");
    sidecar.ended_by(Signal::SIGTERM).exits(0);
}
