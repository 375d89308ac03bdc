//! Processes that stop and continue, and Leases that are deleted: the tests see how long each leader goes on.

use std::time::Duration;

use elect_testkit::oracle::{Fault, Run, now};
use elect_testkit::program::{Running, eventually};
use elect_testkit::servers::kubernetes::{ClientGo, GoElector};
use nix::sys::signal::Signal;

use super::scene::{Candidate, DEADLINE, Fate, Program, RETRY, Scene, TTL};
use crate::stage::send_if_alive;

const ELECT: &str = "elect";
const GO: &str = "go";

/// elect leads, and a Go program waits.
fn elect_leads(scene: &Scene, ttl: Duration, client: ClientGo) -> [Candidate; 2] {
    let command = scene.oracle.stamper(ELECT).children(2);
    let elect = scene.elect_candidate(ELECT, ttl, &command);
    scene.wait_for_run(&elect);
    let mut go = scene.go_candidate(GO, client, &scene.oracle.stamper(GO));
    scene.wait_in_line(&mut go, ELECT);
    [elect, go]
}

/// A Go program leads, and elect waits.
fn go_leads(scene: &Scene) -> [Candidate; 2] {
    let go = scene.go_candidate(GO, ClientGo::Current, &scene.oracle.stamper(GO));
    scene.wait_for_run(&go);
    let mut elect = scene.elect_candidate(ELECT, TTL, &scene.oracle.stamper(ELECT).children(2));
    scene.wait_in_line(&mut elect, GO);
    [go, elect]
}

fn as_elect(candidate: &mut Candidate) -> &mut Running {
    let Program::Elect(elect) = &mut candidate.program else { panic!("a Go program") };
    elect
}

fn as_go(candidate: &mut Candidate) -> &mut GoElector {
    let Program::Go(go) = &mut candidate.program else { panic!("elect") };
    go
}

/// For how long the first of these ran beside the second.
fn beside(first: &Run, second: &Run) -> Duration {
    first.last.since(second.first)
}

fn stopped_elect(name: &str, stop: impl FnOnce(&mut Running) -> Vec<i32>) {
    let scene = Scene::new();
    let [mut elect, go] = elect_leads(&scene, TTL, ClientGo::Current);
    let began = now();
    let pids = stop(as_elect(&mut elect));
    for &pid in &pids {
        send_if_alive(pid, Signal::SIGSTOP);
    }
    let run = scene.wait_for_run(&go);
    scene.oracle.assert_sound();
    for &pid in &pids {
        send_if_alive(pid, Signal::SIGCONT);
    }
    scene.oracle.wait_for_stamps(GO, Duration::from_secs(2));
    scene.oracle.assert_sound();
    let elect = scene.oracle.newest(ELECT).expect("it ran");
    assert!(!elect.is_alive(), "{elect}");
    println!(
        "{name} of elect stopped: its command is dead after {:.2?}, {:.2?} before Go leads",
        elect.last.since(began),
        run.first.since(elect.last),
    );
}

#[test]
fn go_follows_an_elect_whose_wrapper_is_stopped() {
    stopped_elect("the wrapper", |elect| vec![elect.pid()]);
}

#[test]
fn go_follows_an_elect_whose_guardian_is_stopped() {
    stopped_elect("the guardian", |elect| vec![elect.guardian()]);
}

#[test]
fn go_follows_an_elect_that_is_stopped() {
    stopped_elect("wrapper and guardian", |elect| vec![elect.pid(), elect.guardian()]);
}

/// It ran, and stood still until elect led. It thinks that it leads until it has failed to renew for its
/// `RenewDeadline`.
fn go_goes_on(name: &str, meanwhile: impl FnOnce(&Scene)) {
    let scene = Scene::new();
    let [mut go, elect] = go_leads(&scene);
    let began = now();
    as_go(&mut go).signal_all(Signal::SIGSTOP);
    meanwhile(&scene);
    let run = scene.wait_for_run(&elect);
    let led = run.first.since(began);
    let resumed = now();
    as_go(&mut go).signal_all(Signal::SIGCONT);
    let end = as_go(&mut go).wait_for("lost");
    let go_run = scene.oracle.wait_for_end(GO);
    println!(
        "{name}: elect leads {led:.2?} after the stop; going on, Go leads for {:.2?}, {:.2?} of it beside elect; it says \
         that it has lost after {:.2?}",
        go_run.last.since(resumed),
        beside(&go_run, &run),
        end.since(resumed),
    );
    let most = DEADLINE + RETRY.mul_f64(2.2) + Duration::from_secs(1);
    assert!(go_run.last.since(resumed) < most, "longer than its RenewDeadline: {go_run}");
    // elect is the one that leads, and nothing else is wrong.
    let run = scene.oracle.wait_for_stamps(ELECT, Duration::from_secs(1));
    assert!(run.is_alive(), "{run}");
    let faults = scene.oracle.verdict().faults;
    let is_it = |fault: &&Fault| {
        matches!(
            fault,
            Fault::Overlap(go, elect, _) | Fault::Beside(elect, _, go, _)
                if go.tag == GO && elect.tag == ELECT
        )
    };
    let others = faults.iter().filter(|fault| !is_it(fault)).map(ToString::to_string);
    let others: Vec<String> = others.collect();
    assert!(others.is_empty() && !faults.is_empty(), "{others:#?}");
}

#[test]
fn a_go_program_that_was_stopped_leads_on_beside_elect() {
    go_goes_on("a Go program was stopped", |_| {});
}

#[test]
fn a_go_program_that_was_stopped_as_its_lease_was_deleted_leads_on_beside_elect() {
    go_goes_on("a Go program was stopped, and its Lease deleted", Scene::delete_lease);
}

/// A Go program writes the Lease anew as it renews, and elect waits for that.
#[test]
fn elect_does_not_take_a_lease_that_is_deleted_under_a_go_program() {
    let scene = Scene::new();
    let [mut go, elect] = go_leads(&scene);
    for _ in 0..3 {
        let deleted = now();
        scene.delete_lease();
        let holder = eventually("the Lease", || {
            Some(scene.lease()?["spec"]["holderIdentity"].as_str()?.to_owned())
        });
        println!(
            "{holder} has written the Lease {:.2?} after it was deleted",
            now().since(deleted)
        );
        assert_eq!(holder, GO);
        let run = scene.oracle.wait_for_stamps(GO, TTL);
        assert!(run.is_alive(), "{run}");
    }
    go.end(Fate::Told);
    scene.wait_for_run(&elect);
    scene.oracle.assert_sound();
}

/// A loss like any other that the store tells of: the command is killed at once.
#[test]
fn elect_has_lost_a_lease_that_is_deleted() {
    let scene = Scene::new();
    let [elect, go] = elect_leads(&scene, TTL, ClientGo::Current);
    let deleted = now();
    scene.delete_lease();
    let run = scene.wait_for_run(&go);
    scene.oracle.assert_sound();
    let old = scene.oracle.wait_for_end(ELECT);
    println!(
        "elect's command is dead {:.2?} after its Lease was deleted, {:.2?} before Go leads",
        old.last.since(deleted),
        run.first.since(old.last),
    );
    elect.wait();
}

/// Long enough that its holder renews less often than a Go program has patience.
const LONG: Duration = Duration::from_secs(90);

/// It does not ask for how long the holder has the lease, and so breaks the promise: the manual says so.
#[test]
fn an_old_client_go_takes_a_living_lease() {
    let scene = Scene::new();
    let [elect, go] = elect_leads(&scene, LONG, ClientGo::Old);
    let run = scene.wait_for_run(&go);
    let old = scene.oracle.wait_for_end(ELECT);
    println!(
        "client-go 0.20 takes a lease of {:?}, {:.2?} after elect got it, and leads beside elect's command for {:.2?}",
        LONG,
        run.first.since(old.first),
        beside(&old, &run),
    );
    elect.wait();
}

#[test]
fn a_current_client_go_does_not_take_a_living_lease() {
    let scene = Scene::new();
    let [_elect, _go] = elect_leads(&scene, LONG, ClientGo::Current);
    let run = scene.oracle.wait_for_stamps(ELECT, LONG / 2);
    assert!(run.is_alive() && scene.oracle.newest(GO).is_none(), "{run}");
    scene.oracle.assert_sound();
}
