//! Arguments that `elect sidecar` refuses, the examples of the manual, and files of `--lease-file` that others keep.

use elect_testkit::servers::free_port;

use super::application::Pods;
use crate::cli::manual::blocks;
use crate::prelude::*;
use crate::web::{Application, WELL};

#[test]
fn a_sidecar_that_cannot_work_is_refused_with_a_way_out() {
    let pods = Pods::on_disk();
    let elect = pods.elect("sidecar");
    elect.run().exits(125).prints("").says("use -e NAME");
    let web = elect.args(["-e", "web"]);
    let refused = |flags: &[&str], text: &str| {
        web.clone().args(flags).run().exits(125).prints("").says(text);
    };
    refused(&["--health-http", "https://127.0.0.1/"], "write http://127.0.0.1:8080/healthz");
    refused(&["--health-cmd", "curl -f localhost || exit 1"], "sh -c '...'");
    refused(&["--health-cmd", "echo 'a"], "is open");
    refused(&["--health-threshold", "0"], "0");
    refused(&["--health-interval", "0"], "less than 10ms");
    refused(&["--ttl", "15s"], "--ttl");
    refused(&["--lease-file", "/nonexistent/lease"], "cannot keep the lease in /nonexistent/lease");
    refused(&["--lease-file", "/"], "cannot keep the lease in /");
    refused(&["true"], "unexpected argument");
    refused(&["--after-loss", "exit"], "--after-loss");
    let etcd = Elect::new(ELECT).args(["sidecar", "-e", "web", "-b", "etcd://127.0.0.1:1"]);
    etcd.args(["--grace", "10s"]).run().exits(125).says("a grace of at most 5s 100ms");
}

#[test]
fn two_do_not_keep_one_file() {
    let pods = Pods::on_disk();
    let one = pods.sidecar("one").spawn();
    pods.wait_until_leads("one");
    let lease = pods.lease("one");
    let other = pods.elect("sidecar").args(["-e", "other", "--lease-file"]).arg(&lease);
    other.run().exits(125).says("another candidate keeps it");
    pods.check("one").exits(0);
    drop(one);
    // Nor is anything else replaced, or waited for.
    let precious = pods.path().join("precious");
    fs::write(&precious, "precious").expect("a file");
    let pipe = pods.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    for path in [&precious, &pipe] {
        let elect = pods.elect("sidecar").args(["-e", "other", "--lease-file"]).arg(path);
        elect.run().exits(125).says("and no lease file: name another path");
        let check = Elect::new(ELECT).args(["check", "--lease-file"]).arg(path).run();
        assert_ne!(check.code(), 0);
    }
    assert_eq!(fs::read_to_string(&precious).expect("the file"), "precious");
    pods.elect("run")
        .args(["-e", "x", "--lease-file", "no/such", "true"])
        .run()
        .exits(125)
        .says("no folder no");
    // No process keeps the file now.
    let other = other.spawn();
    pods.wait_until_leads("one");
    other.ended_by(Signal::SIGTERM).exits(0);
}

#[test]
fn a_command_and_its_lease_file_end_together() {
    let pods = Pods::on_disk();
    let lease = pods.lease("one");
    let script = "env | grep -c ELECT_LEASE_FILE >\"$D/count\"; \
                  until [ -e \"$D/go\" ]; do sleep 0.01; done";
    let elect = pods.elect("run").env("D", pods.path()).env("ELECT_LEASE_FILE", &lease);
    let elect = elect.args(["-e", "web"]).sh(script);
    let run = elect.spawn();
    pods.wait_until_leads("one");
    pods.check("one").exits(0).prints("leading, no time limit\n");
    Elect::new(ELECT).arg("check").env("ELECT_LEASE_FILE", &lease).run().exits(0);
    Elect::new(ELECT).arg("check").env("ELECT_LEASE", &lease).run().exits(0);
    let count = eventually("a count", || {
        fs::read_to_string(pods.path().join("count")).ok().filter(|text| !text.is_empty())
    });
    assert_eq!(count, "0\n", "an elect in it would overwrite the file");
    fs::write(pods.path().join("go"), "").expect("a file");
    run.wait().exits(0);
    pods.check("one").exits(1).prints("leadership has ended\n");
    let mut killed = pods.elect("run").args(["-e", "web", "--lease-file"]).arg(&lease);
    killed = killed.args(["sleep", "3600"]);
    let killed = killed.spawn();
    pods.wait_until_leads("one");
    killed.ended_by(Signal::SIGKILL);
    pods.check("one").exits(1).prints("leadership has ended\n");
}

#[test]
fn a_lease_file_has_the_deadline_of_the_kill() {
    let pods = Pods::on_etcd();
    let lease = pods.lease("one");
    let elect = pods.elect("run").args(["-e", "web", "--ttl", "6s", "--lease-file"]).arg(&lease);
    let mut run = elect.args(["sleep", "3600"]).spawn();
    pods.wait_until_leads("one");
    let check = |flags: &[&str]| {
        Elect::new(ELECT).args(["check", "--lease-file"]).arg(&lease).args(flags).run()
    };
    assert!(check(&[]).stdout.ends_with("s left\n"));
    check(&["--remaining", "2s"]).exits(0);
    check(&["--remaining", "6s"]).exits(1);
    run.signal(Signal::SIGSTOP);
    eventually("the deadline", || (check(&[]).code() == 1).then_some(()));
    run.ended_by(Signal::SIGCONT).exits(124);
}

#[test]
fn it_works_as_the_manual_shows_it() {
    let pods = Pods::on_disk();
    let application = Application::start(WELL);
    let port = free_port().to_string();
    let shown: Vec<String> = blocks("sidecar", "Sidecar", "console");
    let here = |line: &str| {
        let line = line.replace("/run/web", &pods.path().display().to_string());
        let line = line.replace("127.0.0.1:8080", &application.address().to_string());
        line.replace("9090", &port).replace("$ elect", "exec $ELECT").replace("$ curl", "exec curl")
    };
    let sh = |line: &str| {
        let state = pods.path().join("state");
        Elect::new("sh").env("ELECT", ELECT).env("STATE_DIRECTORY", state).args(["-c", &here(line)])
    };
    let sidecar = sh(&shown[0]).spawn();
    let mut answers = shown[1].lines();
    let (curl, check) = (answers.next().expect("a line"), answers.next().expect("a line"));
    eventually("a leader", || (sh(check).run().code() == 0).then_some(()));
    sh(check).run().exits(0).prints(&format!("{}\n", answers.next().expect("an answer")));
    let leads = || sh(curl).run().code() == 0;
    eventually("the same over HTTP", || leads().then_some(()));
    sidecar.ended_by(Signal::SIGTERM).exits(0);
    assert!(!leads());
}

/// Instants mean something else there.
#[test]
fn a_lease_is_not_read_in_another_time_namespace() {
    let pods = Pods::on_disk();
    let one = pods.sidecar("one").spawn();
    pods.wait_until_leads("one");
    let check = Elect::new(ELECT).args(["check", "--lease-file"]).arg(pods.lease("one"));
    check.run().exits(0);
    check.under(["unshare", "--time", "--boottime", "-1", "--"]).run().exits(1);
    drop(one);
}
