//! A Lease of another program: for how long `-n` and `-w` look at it, and what they say.

use crate::prelude::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";

/// A Lease that another program holds, and does not renew.
fn held(spec: &Value) -> ApiServer {
    let server = ApiServer::start();
    let mut all = json!({"holderIdentity": "other", "leaseTransitions": 1});
    all.as_object_mut().expect("an object").extend(spec.as_object().expect("an object").clone());
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "job"}, "spec": all});
    let (status, said) = server.call("POST", LEASES, Some(&lease));
    assert_eq!(status, 201, "{said}");
    server
}

/// `elect run` at such a lease, and how long it took.
fn run(server: &ApiServer, ttl: &str, flags: &[&str]) -> (Ended, Duration) {
    let began = now();
    let elect = Elect::new(ELECT).args(["run", "-b", &server.url("elect"), "-e", "job"]);
    let ended = elect.args(["--ttl", ttl]).args(flags).args(["--", "echo", "ran"]).run();
    (ended, now().since(began))
}

/// The second that is given, and what a busy machine needs.
const BOUND: Duration = Duration::from_secs(5);

#[test]
fn a_long_foreign_lease_does_not_delay_a_run_that_does_not_wait() {
    let renewed = "2026-01-02T03:04:05.000000Z";
    for (duration, end) in [
        (i32::MAX, "may last"),
        (270, "of 4m 30s seems to be over: elect follows once it has looked on for so long"),
    ] {
        let server = held(&json!({"leaseDurationSeconds": duration, "renewTime": renewed}));
        for flags in [&["-n"][..], &["-w", "1s"]] {
            let (ended, took) = run(&server, "6s", flags);
            let ended = ended.exits(75).prints("");
            ended.says(&format!(
                "it is not known whether the leader lives: other; it has not renewed since 2026-01-02T03:04:05Z; its \
                 lease {end}"
            ));
            assert!(took < BOUND, "{flags:?} took {took:?}");
        }
    }
    let server = held(&json!({}));
    let (ended, took) = run(&server, "6s", &["-n"]);
    ended.exits(75).says("other; it does not say when it has renewed its lease of 1m");
    assert!(took < BOUND, "it took {took:?}");
    let (ended, _) = run(&server, "6s", &["-n", "-E", "0"]);
    assert_eq!(ended.exits(0).stderr, "");
    // This holds however long our own lease is.
    let server = held(&json!({"leaseDurationSeconds": 1000, "renewTime": renewed}));
    let (ended, took) = run(&server, "5m", &["-w", "1s"]);
    ended.exits(75).says("it is not known whether the leader lives: other");
    assert!(took < BOUND, "it took {took:?}");
}

/// The purpose of `-n`: a job that cron starts follows one that died.
#[test]
fn a_run_without_wait_follows_a_leader_that_died_with_an_equal_lease() {
    let server = held(&json!({"leaseDurationSeconds": 6}));
    for flags in [&["-n"][..], &["-w", "1s"]] {
        let (ended, _) = run(&server, "6s", flags);
        ended.exits(0).prints("ran\n");
    }
}

#[test]
fn a_leader_that_does_not_say_since_when_it_leads_leads_since_no_time() {
    let server = held(&json!({"leaseDurationSeconds": 60}));
    let status = |format| {
        let status =
            Elect::new(ELECT).args(["status", "-b", &server.url("elect"), "-o", format, "job"]);
        // A living holder would renew while it is looked at.
        status.run().exits(2).stdout
    };
    let report: Value = serde_json::from_str(&status("json")).expect("JSON");
    let leader = &report["elections"][0]["unproven"];
    assert_eq!((&leader["id"], &leader["since"]), (&json!("other"), &Value::Null), "{report:#}");
    assert!(
        !report.to_string().contains("1970") && !status("table").contains("1970"),
        "{report:#}"
    );
}
