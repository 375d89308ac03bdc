//! A real Prometheus scrapes a real elect on a real etcd, and notices when there is no leader.

use elect_testkit::servers::{Place, Process};

use super::client::{address, get, try_get, wait_for_leader};
use super::dashboard::dashboard;
use crate::prelude::*;

/// Looks twice a second, and does not wait long before it says something.
fn prometheus(folder: &TempDir, targets: &[SocketAddr]) -> (Process, SocketAddr) {
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("elect.yaml"), dashboard(&["alerts", "--for", "1s"])).expect("written");
    let targets: Vec<String> = targets.iter().map(|target| format!("\"{target}\"")).collect();
    let settings = format!(
        "global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}\n\
         rule_files: [elect.yaml]\n\
         scrape_configs: [{{job_name: elect, static_configs: [{{targets: [{}]}}]}}]\n",
        targets.join(", ")
    );
    fs::write(path("prometheus.yml"), settings).expect("written");
    let server = address();
    let command = [
        "prometheus",
        &format!("--config.file={}", path("prometheus.yml")),
        &format!("--storage.tsdb.path={}", path("data")),
        &format!("--web.listen-address={server}"),
        "--log.level=warn",
    ];
    let process =
        Process::start(&command, &Place::here(), &folder.path().join("log"), "prometheus");
    eventually("Prometheus to serve", || (try_get(server, "/-/ready")?.code == 200).then_some(()));
    (process, server)
}

/// The values of a query by their label `instance`.
fn query(prometheus: SocketAddr, query: &str) -> Vec<(String, String)> {
    let answer = get(prometheus, &format!("/api/v1/query?query={query}"));
    let body = unchunked(&answer.body);
    let found: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    let series = found["data"]["result"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    series.iter().map(|one| (text(&one["metric"]["instance"]), text(&one["value"][1]))).collect()
}

/// Prometheus sends what is long in chunks: the object is between the first and the last brace.
fn unchunked(body: &str) -> String {
    let lines: Vec<&str> = body.split("\r\n").collect();
    if lines.len() < 3 {
        return body.to_owned();
    }
    lines.iter().skip(1).step_by(2).copied().collect()
}

/// The alerts that go off, by name and election.
fn firing(prometheus: SocketAddr) -> Vec<(String, String)> {
    let found: Value = serde_json::from_str(&unchunked(&get(prometheus, "/api/v1/alerts").body))
        .unwrap_or(Value::Null);
    let alerts = found["data"]["alerts"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    alerts
        .iter()
        .filter(|alert| alert["state"] == "firing")
        .map(|alert| (text(&alert["labels"]["alertname"]), text(&alert["labels"]["election"])))
        .collect()
}

#[test]
fn prometheus_scrapes_and_the_alert_goes_off_when_the_store_is_stopped() {
    let etcd = Etcd::start(1);
    let servers = [address(), address()];
    let candidate = |server: SocketAddr| {
        let (url, http) = (etcd.url(), server.to_string());
        let flags = [
            "run",
            "-b",
            &url,
            "-e",
            "job",
            "--ttl",
            "8s",
            "--after-loss",
            "campaign",
            "--http",
            &http,
        ];
        Elect::new(ELECT).args(flags).args(["sleep", "3600"]).spawn()
    };
    let _leader = candidate(servers[0]);
    wait_for_leader(servers[0]);
    let _waiter = candidate(servers[1]);
    let folder = TempDir::new().expect("a temporary folder");
    let (_process, prometheus) = prometheus(&folder, &servers);
    let instances = servers.map(|server| server.to_string());
    let expected = [(instances[0].clone(), "1".to_owned()), (instances[1].clone(), "0".to_owned())];
    eventually("both to be scraped", || {
        let mut found = query(prometheus, "elect_is_leader");
        found.sort_by_key(|(instance, _)| *instance != instances[0]);
        (found == expected).then_some(())
    });
    // It may have been, before the leader was scraped.
    let is_off = || !firing(prometheus).iter().any(|(alert, _)| alert == "ElectNoLeader");
    eventually("no alert", || is_off().then_some(()));

    let stopped = etcd.stop();
    let alerts = eventually("the alert to go off", || {
        let firing = firing(prometheus);
        firing.contains(&("ElectNoLeader".into(), "job".into())).then_some(firing)
    });
    println!("with the store stopped: {alerts:?}");
    drop(stopped);
    eventually("the alert to end", || is_off().then_some(()));
    let won = query(
        prometheus,
        "sum(elect_leadership_changes_total{reason=\"won\"})".replace('"', "%22").as_str(),
    );
    println!("won: {won:?}");
}
