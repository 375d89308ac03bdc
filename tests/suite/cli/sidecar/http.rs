//! Applications that are asked over HTTP, and sidecars that answer.

use elect_testkit::servers::free_port;

use super::application::Pods;
use crate::prelude::*;
use crate::web::{Application, BUSY, WELL, get};

#[test]
fn an_application_is_well_while_it_answers_with_success() {
    let pods = Pods::on_disk();
    let application = Application::start(WELL);
    let url = format!("http://{}/healthz?full=1", application.address());
    let elect = pods.sidecar("one").args(["--health-timeout", "200ms", "--health-http", &url]);
    let one = elect.spawn();
    pods.wait_until_leads("one");
    let asked = application.asked().to_lowercase();
    assert!(asked.starts_with("get /healthz?full=1 http/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("host: {}\r\n", application.address())), "{asked}");
    for sick in [
        BUSY,
        b"HTTP/1.1 301 Moved Permanently\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"",
    ] {
        application.answers(sick);
        pods.wait_until_leads_no_more("one");
        application.answers(WELL);
        pods.wait_until_leads("one");
    }
    let ended = one.ended_by(Signal::SIGTERM).exits(0).says("answered 503 Service Unavailable");
    ended.says("answered 301").says("no proper answer").says("did not answer within 200ms");
}

#[test]
fn an_application_that_is_not_there_is_not_well() {
    let pods = Pods::on_disk();
    let url = format!("http://127.0.0.1:{}/secret-path?token=hush", free_port());
    let one = pods.sidecar("one").args(["--health-http", &url]).spawn();
    eventually("a lease file", || (pods.check("one").code() == 1).then_some(()));
    // No candidate holds up another meanwhile.
    pods.elect("run").args(["-n", "-e", "web", "true"]).run().exits(0);
    let ended = one
        .ended_by(Signal::SIGTERM)
        .exits(0)
        .prints("")
        .says("cannot connect")
        .says("/secret-path");
    assert!(!ended.stderr.contains("hush"), "{}", ended.stderr);
}

#[test]
fn both_checks_have_to_pass() {
    let pods = Pods::on_disk();
    let application = Application::start(WELL);
    let url = format!("http://{}/", application.address());
    let one = pods.beside_an_application("one").args(["--health-http", &url]).spawn();
    pods.wait_until_leads("one");
    pods.set_well("one", false);
    pods.wait_until_leads_no_more("one");
    application.answers(BUSY);
    pods.set_well("one", true);
    let others = pods.elect("run").args(["-e", "web", "true"]);
    others.run().exits(0);
    pods.check("one").exits(1);
    application.answers(WELL);
    pods.wait_until_leads("one");
    drop(one);
}

#[test]
fn a_sidecar_reports_over_http_as_check_does() {
    for pods in [Pods::on_disk(), Pods::on_etcd()] {
        let address = format!("127.0.0.1:{}", free_port());
        let elect = pods.beside_an_application("one").args(["--http", &address]);
        pods.set_well("one", false);
        let one = elect.spawn();
        let status = |path: &str| get(&address, path).map_or(0, |(status, _)| status);
        eventually("a server", || (status("/healthz") == 200).then_some(()));
        assert_eq!((status("/leader"), status("/readyz")), (503, 503), "it takes no part yet");
        pods.set_well("one", true);
        pods.wait_until_leads("one");
        eventually("the lead", || (status("/leader") == 200).then_some(()));
        assert_eq!(status("/readyz"), 200);
        let (_, body) = get(&address, "/").expect("an answer");
        let page: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((&page["name"], &page["is_leader"]), (&"web".into(), &true.into()));
        assert_eq!(page["valid_for_ms"], 500, "{page}");

        pods.set_well("one", false);
        eventually("the end", || (status("/leader") == 503).then_some(()));
        pods.wait_until_leads_no_more("one");
        eventually("the rest", || (status("/readyz") == 503).then_some(()));
        assert_eq!(status("/healthz"), 200);
        pods.set_well("one", true);
        eventually("the next lead", || (status("/leader") == 200).then_some(()));
        let (_, metrics) = get(&address, "/metrics").expect("an answer");
        let ended = "reason=\"stepped_down\"";
        assert!(
            metrics.lines().any(|line| line.contains(ended) && line.ends_with(" 1")),
            "{metrics}"
        );
        one.ended_by(Signal::SIGTERM).exits(0);
    }
}
