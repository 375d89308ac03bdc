//! A real API server answers as the fake one does, on which all other tests run, and the laws hold on it.

use std::thread;

use elect_testkit::program::eventually;
use elect_testkit::servers::Place;
use elect_testkit::servers::kubernetes::cases::{
    self, Caller, NAMESPACE, admit, ask_by, check, check_all,
};
use elect_testkit::servers::kubernetes::{ApiServer, Ask};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::laws;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";

/// The version of a new Lease `a`.
fn make_lease(server: &ApiServer) -> String {
    let lease = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15}});
    let (status, made) = server.call("POST", LEASES, Some(&lease));
    assert_eq!(status, 201, "{made}");
    made["metadata"]["resourceVersion"].as_str().expect("a version").to_owned()
}

#[test]
fn answers_are_those_of_the_fake() {
    check_all(&ApiServer::real(), &cases::cases());
    println!("{} cases", cases::cases().len());
}

#[test]
fn answers_after_a_compaction_are_those_of_the_fake() {
    let mut server = ApiServer::real();
    let version = make_lease(&server);
    server.etcd().ctl(&["compaction", &version]);
    server.kill();
    server.restart();
    check_all(&server, &cases::compacted());
}

/// One request at a time, and one that etcd does not answer.
#[test]
fn answers_of_too_many_requests_are_those_of_the_fake() {
    let flags = ["--max-requests-inflight=1", "--feature-gates=APIPriorityAndFairness=false"];
    let mut server = ApiServer::real_at(&Place::here(), &flags);
    admit(&server);
    make_lease(&server);
    let stopped = server.etcd().stop();
    let get = |query: &str| {
        let path = format!("{LEASES}/a{query}");
        ask_by(&server, Caller::Seats, &Ask { path: &path, ..Ask::default() }).0
    };
    thread::scope(|scope| {
        let waits = scope.spawn(|| get(""));
        eventually("too many requests", || (get("?resourceVersion=0") == 429).then_some(()));
        for case in cases::throttled() {
            check(&case, NAMESPACE, &|caller, ask| ask_by(&server, caller, ask));
        }
        drop(stopped);
        assert_eq!(waits.join().expect("an answer"), 200);
    });
}

#[test]
fn answers_while_etcd_stands_still_are_those_of_the_fake() {
    let mut server = ApiServer::real();
    admit(&server);
    let etcd = Pid::from_raw(server.etcd().member(0).pid());
    let send = |signal| kill(etcd, signal).expect("etcd lives");
    let ask = |caller, ask: &Ask<'_>| ask_by(&server, caller, ask);
    let go_on = || {
        send(Signal::SIGCONT);
        eventually("an answer", || (server.call("GET", LEASES, None).0 == 200).then_some(()));
    };
    cases::while_etcd_stands_still(NAMESPACE, &ask, &|| send(Signal::SIGSTOP), &go_on);
}

#[test]
fn the_laws_hold() {
    laws::keep_all();
}
