//! The output of `elect dashboard`, compared with the manual and with the metrics that exist.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::Command;

use elect_testkit::program::{Elect, eventually};
use elect_testkit::servers::{Etcd, ZooKeeper, ZooKeeperSetup};
use serde_json::Value;
use tempfile::TempDir;

use super::client::{address, get, sample, wait_for_leader};

const PACKAGE: &str = "apt-get install prometheus";

pub(super) fn dashboard(words: &[&str]) -> String {
    let ended = Elect::new(env!("CARGO_BIN_EXE_elect")).arg("dashboard").args(words).run();
    ended.exits(0).is_quiet().stdout
}

/// `promtool`, which is content.
#[track_caller]
fn promtool(words: &[&str], stdin: &str) -> String {
    use std::io::Write as _;
    let mut child = Command::new("promtool")
        .args(words)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap_or_else(|_| panic!("promtool is missing: {PACKAGE}"));
    child.stdin.take().expect("a pipe").write_all(stdin.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("promtool runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "promtool {words:?}: {said}");
    println!("promtool {words:?}: {said}");
    said
}

/// Returns the pages of a leader that has renewed its lease, and of the next in line, which has seen that. Together
/// they show every metric.
fn full_pages() -> [String; 2] {
    let (etcd, server, other) = (Etcd::start(1), address(), address());
    let candidate = |server: SocketAddr| {
        let (url, http) = (etcd.url(), server.to_string());
        let flags = ["run", "-b", &url, "-e", "job", "--ttl", "8s", "--http", &http];
        Elect::new(env!("CARGO_BIN_EXE_elect")).args(flags).args(["sleep", "3600"]).spawn()
    };
    let _leader = candidate(server);
    wait_for_leader(server);
    let _next = candidate(other);
    let next = eventually("a leader that is known", || {
        let page = get(other, "/metrics").body;
        sample(&page, "elect_leader_suspicion")?;
        Some(page)
    });
    let leader = eventually("a renewal", || {
        let page = get(server, "/metrics").body;
        let renewals = sample(&page, "elect_renewal_duration_seconds_count")?;
        let trips = sample(&page, "elect_store_round_trips_total{operation=\"lease_keep_alive\"")?;
        (renewals > 0.0 && trips >= renewals).then_some(page)
    });
    [leader, next]
}

/// The names of all metrics of a page.
fn families(page: &str) -> BTreeSet<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Returns all words of a text that look like a metric of elect, without the endings of histograms.
fn mentioned(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("elect_"));
    let ending = |name: &str| {
        let endings = ["_bucket", "_sum", "_count"];
        endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_owned()
    };
    names.map(ending).collect()
}

/// The questions that a dashboard asks.
fn questions(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    targets.map(|target| target["expr"].as_str().expect("a question").to_owned()).collect()
}

#[test]
fn all_that_is_mentioned_exists_and_all_that_exists_is_documented() {
    let pages = full_pages();
    let there: BTreeSet<String> = pages.iter().flat_map(|page| families(page)).collect();
    for page in pages {
        promtool(&["check", "metrics"], &page);
    }
    let (alerts, grafana) = (dashboard(&["alerts"]), dashboard(&["grafana"]));
    let manual = crate::cli::manual::page("metrics");
    for (what, text) in [("alerts", &*alerts), ("grafana", &*grafana), ("the manual", &*manual)] {
        let unknown: Vec<String> = mentioned(text).difference(&there).cloned().collect();
        assert_eq!(unknown, [""; 0], "{what}");
    }
    assert_eq!(mentioned(&manual), there);
    assert_eq!(mentioned(&grafana), there, "each has its panel");
}

#[test]
fn what_zookeeper_is_asked_is_counted_too() {
    let zookeeper = ZooKeeper::start(&ZooKeeperSetup::default());
    let server = address();
    let (url, http) = (format!("zk://{}", zookeeper.address(0)), server.to_string());
    let flags = ["run", "-b", &url, "-e", "job", "--ttl", "10s", "--http", &http];
    let _elect = Elect::new(env!("CARGO_BIN_EXE_elect")).args(flags).args(["sleep", "60"]).spawn();
    for operation in ["connect", "create", "sync", "get_children", "multi"] {
        let begin = format!("elect_store_round_trips_total{{operation=\"{operation}\"");
        eventually(operation, || {
            (sample(&get(server, "/metrics").body, &begin)? > 0.0).then_some(())
        });
    }
}

#[test]
fn the_rules_are_good_ones() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("elect.yaml");
    let check = |text: &str| {
        std::fs::write(&path, text).expect("written");
        promtool(
            &["check", "rules", "--lint=all", "--lint-fatal", path.to_str().expect("a path")],
            "",
        )
    };
    assert!(check(&dashboard(&["alerts"])).contains("SUCCESS: 12 rules found"));
    assert!(dashboard(&["alerts"]).contains("for: 60s\n"));
    let quick = dashboard(&["alerts", "--for", "1500ms"]);
    assert!(quick.contains("for: 1500ms\n") && !quick.contains('@'), "{quick}");
    check(&quick);
    check(&dashboard(&["alerts", "--by", "cluster,namespace"]));
    // A dashboard's questions as rules: their grammar is the same.
    let grafana = dashboard(&["grafana", "--by", "cluster,namespace"]);
    let dashboard: Value = serde_json::from_str(&grafana).expect("JSON");
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    let names = variables.iter().map(|variable| variable["name"].as_str().expect("a name"));
    let names: Vec<_> = names.collect();
    assert_eq!(names, ["source", "election", "store_id", "cluster", "namespace"]);
    assert!(questions(&dashboard).iter().all(|question| {
        names[1..].iter().all(|name| question.contains(&format!("{name}=~\"${name}\"")))
    }));
    let mut rules = "groups: [{name: elect, rules: [\n".to_owned();
    for (number, question) in questions(&dashboard).iter().enumerate() {
        let question = Value::from(question.replace(['$', '@'], ""));
        writeln!(rules, "{{record: \"job:rule{number}\", expr: {question}}},").expect("a string");
    }
    check(&(rules + "]}]\n"));
}

/// Checks what the rules say of these series, by `promtool test rules`.
#[track_caller]
fn judge(tests: &str) {
    judge_by(&[], tests);
}

/// Checks the same of the rules that are printed with these words.
#[track_caller]
fn judge_by(words: &[&str], tests: &str) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let rules = dashboard(&[&["alerts"], words].concat());
    std::fs::write(path("elect.yaml"), rules).expect("written");
    let head = "rule_files: [elect.yaml]\nevaluation_interval: 5s\ntests:\n";
    std::fs::write(path("test.yaml"), format!("{head}{tests}")).expect("written");
    let test = path("test.yaml");
    assert!(promtool(&["test", "rules", test.to_str().expect("a path")], "").contains("SUCCESS"));
}

/// Both sides of the threshold, by the very rules; and it is still seen when the rules are evaluated a minute later.
#[test]
fn the_alert_of_a_suspected_leader_goes_off_at_8() {
    judge(
        r#"
  - interval: 5s
    input_series:
      - {series: 'elect_leader_suspicion{election="job", store_id="a1", instance="two"}', values: '0.1 7.99 8 stale'}
    alert_rule_test:
      - {eval_time: 5s, alertname: ElectLeaderSuspected, exp_alerts: []}
      - eval_time: 10s
        alertname: ElectLeaderSuspected
        exp_alerts: &suspected
          - exp_labels: {election: job, store_id: a1, severity: warning}
            exp_annotations:
              summary: The leader of job did not renew its lease as it did before.
              description: Within the last five minutes it hung, died, or lost its way to the store. Unless it came back, the next candidate leads once the lease has ended.
      - {eval_time: 70s, alertname: ElectLeaderSuspected, exp_alerts: *suspected}
      - {eval_time: 315s, alertname: ElectLeaderSuspected, exp_alerts: []}
"#,
    );
}

/// One election is paused, the other is not, and an older elect, which knows no such metric, is in a third.
#[test]
fn a_pause_pages_nobody() {
    judge(
        r#"
  - interval: 5s
    input_series:
      - {series: 'elect_is_leader{election="paused", store_id="a1", instance="one"}', values: '0x30'}
      - {series: 'elect_paused{election="paused", store_id="a1", instance="one"}', values: '1x30'}
      - {series: 'elect_is_leader{election="vacant", store_id="a1", instance="one"}', values: '0x30'}
      - {series: 'elect_paused{election="vacant", store_id="a1", instance="one"}', values: '0x30'}
      - {series: 'elect_is_leader{election="older", instance="one"}', values: '0x30'}
    alert_rule_test:
      - eval_time: 120s
        alertname: ElectNoLeader
        exp_alerts:
          - exp_labels: {election: older, severity: critical}
            exp_annotations:
              summary: Nobody leads older.
              description: Candidates are up, but none leads. Look at the store, and at what the candidates say on stderr.
          - exp_labels: {election: vacant, store_id: a1, severity: critical}
            exp_annotations:
              summary: Nobody leads vacant.
              description: Candidates are up, but none leads. Look at the store, and at what the candidates say on stderr.
  - interval: 5s
    input_series:
      - {series: 'elect_is_leader{election="paused", store_id="a1", instance="one"}', values: '1 0x11 stale'}
      - {series: 'elect_paused{election="paused", store_id="a1", instance="one"}', values: '0 1x11 stale'}
      - {series: 'elect_is_leader{election="gone", store_id="a1", instance="one"}', values: '1 0x11 stale'}
      - {series: 'elect_paused{election="gone", store_id="a1", instance="one"}', values: '0 0x11 stale'}
      - {series: 'elect_is_leader{election="resumed", store_id="a1", instance="one"}', values: '0x6 stale'}
      - {series: 'elect_paused{election="resumed", store_id="a1", instance="one"}', values: '1x6 stale'}
      - {series: 'elect_is_leader{election="resumed", store_id="a1", instance="two"}', values: '0x11 stale'}
      - {series: 'elect_paused{election="resumed", store_id="a1", instance="two"}', values: '1x8 0x3 stale'}
    alert_rule_test:
      - eval_time: 180s
        alertname: ElectNoCandidates
        exp_alerts: &gone
          - exp_labels: {election: gone, store_id: a1, severity: critical}
            exp_annotations:
              summary: No candidate of gone is up any more.
              description: &description Nothing leads, and nothing stands by. Look at the hosts. This alert ends a day after the last candidate.
          - exp_labels: {election: resumed, store_id: a1, severity: critical}
            exp_annotations:
              summary: No candidate of resumed is up any more.
              description: *description
      - {eval_time: 2h, alertname: ElectNoCandidates, exp_alerts: *gone}
"#,
    );
}

/// A pause of four hours; the other election was resumed after three.
#[test]
fn a_long_pause_is_recalled() {
    judge(
        r#"
  - interval: 1m
    input_series:
      - {series: 'elect_paused{election="forgotten", store_id="a1", instance="one"}', values: '1x250'}
      - {series: 'elect_paused{election="resumed", store_id="a1", instance="one"}', values: '1x180 0x70'}
    alert_rule_test:
      - {eval_time: 235m, alertname: ElectPausedLong, exp_alerts: []}
      - eval_time: 245m
        alertname: ElectPausedLong
        exp_alerts:
          - exp_labels: {election: forgotten, store_id: a1, severity: warning}
            exp_annotations:
              summary: The election forgotten has been paused for more than four hours.
              description: Nobody leads. `elect status forgotten` shows who paused it, and until when. `elect resume forgotten` ends the pause.
"#,
    );
}

/// Each election but `both` has one candidate. The local disk's is on the one machine that there is.
#[test]
fn a_leader_without_a_standby_is_warned_of() {
    judge(
        r#"
  - interval: 5s
    input_series:
      - {series: 'elect_is_leader{election="alone", store_id="a1", instance="one"}', values: '1x30'}
      - {series: 'elect_candidate_info{election="alone", store_id="a1", instance="one", store="etcd"}', values: '1x30'}
      - {series: 'elect_is_leader{election="both", store_id="a1", instance="one"}', values: '1x30'}
      - {series: 'elect_is_leader{election="both", store_id="a1", instance="two"}', values: '0x30'}
      - {series: 'elect_is_leader{election="local", store_id="file://one/x", instance="one"}', values: '1x30'}
      - {series: 'elect_candidate_info{election="local", store_id="file://one/x", instance="one", store="file"}', values: '1x30'}
    alert_rule_test:
      - {eval_time: 30s, alertname: ElectNoStandby, exp_alerts: []}
      - eval_time: 120s
        alertname: ElectNoStandby
        exp_alerts:
          - exp_labels: {election: alone, store_id: a1, severity: warning}
            exp_annotations:
              summary: Nobody stands by for alone.
              description: One candidate is up. If it goes, nobody leads. Look at the other hosts.
"#,
    );
}

/// A candidate that waits runs nothing either, and a sidecar has no command.
#[test]
fn a_leader_whose_command_does_not_run_pages() {
    judge(
        r#"
  - interval: 5s
    input_series:
      - {series: 'elect_is_leader{election="job", store_id="a1", instance="idle"}', values: '1x30'}
      - {series: 'elect_command_running{election="job", store_id="a1", instance="idle"}', values: '1 0x29'}
      - {series: 'elect_is_leader{election="job", store_id="a1", instance="waiting"}', values: '0x30'}
      - {series: 'elect_command_running{election="job", store_id="a1", instance="waiting"}', values: '0x30'}
      - {series: 'elect_is_leader{election="job", store_id="a1", instance="busy"}', values: '1x30'}
      - {series: 'elect_command_running{election="job", store_id="a1", instance="busy"}', values: '1x30'}
      - {series: 'elect_is_leader{election="job", store_id="a1", instance="sidecar"}', values: '1x30'}
    alert_rule_test:
      - {eval_time: 30s, alertname: ElectCommandNotRunning, exp_alerts: []}
      - eval_time: 120s
        alertname: ElectCommandNotRunning
        exp_alerts:
          - exp_labels: {election: job, store_id: a1, instance: idle, severity: critical}
            exp_annotations:
              summary: The leader of job runs nothing.
              description: Its command has ended, and is to be started again, or --hold keeps the lease. Look at what idle says on stderr.
"#,
    );
}

/// Elections of one name in two namespaces, each with its leader but one. They are in two clusters with one etcd each,
/// and on the disks of two hosts, one of which is gone.
#[test]
fn elections_of_one_name_in_different_stores_are_different_ones() {
    judge(
        r#"
  - interval: 5s
    input_series:
      - {series: 'elect_is_leader{election="worker", store_id="kubernetes:///prod", instance="one"}', values: '1x11 0x60'}
      - {series: 'elect_is_leader{election="worker", store_id="kubernetes:///prod", instance="two"}', values: '0x72'}
      - {series: 'elect_is_leader{election="worker", store_id="kubernetes:///staging", instance="three"}', values: '1x72'}
      - {series: 'elect_paused{election="worker", store_id="kubernetes:///staging", instance="three"}', values: '1x72'}
      - {series: 'elect_is_leader{election="job", store_id="00000000000000a1", instance="four"}', values: '1x72'}
      - {series: 'elect_is_leader{election="job", store_id="00000000000000b2", instance="five"}', values: '1x72'}
      - {series: 'elect_is_leader{election="cron", store_id="file://a/var/lib/elect", instance="six"}', values: '1x11 stale'}
      - {series: 'elect_is_leader{election="cron", store_id="file://b/var/lib/elect", instance="seven"}', values: '1x72'}
    alert_rule_test:
      - {eval_time: 300s, alertname: ElectTwoLeaders, exp_alerts: []}
      - {eval_time: 55s, alertname: ElectNoLeader, exp_alerts: []}
      - eval_time: 150s
        alertname: ElectNoLeader
        exp_alerts:
          - exp_labels: {election: worker, store_id: "kubernetes:///prod", severity: critical}
            exp_annotations:
              summary: Nobody leads worker.
              description: Candidates are up, but none leads. Look at the store, and at what the candidates say on stderr.
      - {eval_time: 300s, alertname: ElectNoCandidates, exp_alerts: []}
      - eval_time: 300s
        alertname: ElectSeveralStores
        exp_alerts:
          - exp_labels: {election: job, severity: warning}
            exp_annotations:
              summary: Leaders of job are in different stores.
              description: Name one store with store-id in all URLs. If these are different elections, give `elect dashboard alerts` the label that tells them apart with --by.
"#,
    );
}

/// One store, and candidates that do not know yet which one it is, or never will, as their version is older.
#[test]
fn who_has_not_heard_of_its_store_is_no_election_of_its_own() {
    judge(
        r#"
  - interval: 5s
    input_series:
      - {series: 'elect_is_leader{election="led", store_id="a1", instance="one"}', values: '1x72'}
      - {series: 'elect_is_leader{election="led", instance="two"}', values: '0x72'}
      - {series: 'elect_is_leader{election="older", store_id="a1", instance="one"}', values: '0x72'}
      - {series: 'elect_is_leader{election="older", instance="two"}', values: '1x72'}
      - {series: 'elect_is_leader{election="joined", store_id="a1", instance="one"}', values: '_ 1x72'}
      - {series: 'elect_is_leader{election="joined", instance="one"}', values: '0 stale'}
      - {series: 'elect_is_leader{election="unheard", instance="one"}', values: '0x72'}
    alert_rule_test:
      - {eval_time: 300s, alertname: ElectNoCandidates, exp_alerts: []}
      - {eval_time: 300s, alertname: ElectTwoLeaders, exp_alerts: []}
      - eval_time: 300s
        alertname: ElectNoLeader
        exp_alerts:
          - exp_labels: {election: unheard, severity: critical}
            exp_annotations:
              summary: Nobody leads unheard.
              description: Candidates are up, but none leads. Look at the store, and at what the candidates say on stderr.
"#,
    );
}

/// One store for two teams, and one Prometheus for two clusters.
#[test]
fn labels_that_people_name_tell_elections_apart() {
    judge_by(
        &["--by", "cluster"],
        r#"
  - interval: 5s
    input_series:
      - {series: 'elect_is_leader{election="job", store_id="kubernetes:///jobs", cluster="eu", instance="one"}', values: '1x72'}
      - {series: 'elect_is_leader{election="job", store_id="kubernetes:///jobs", cluster="us", instance="two"}', values: '0x72'}
      - {series: 'elect_is_leader{election="twice", store_id="00000000000000a1", cluster="eu", instance="one"}', values: '1x72'}
      - {series: 'elect_is_leader{election="twice", store_id="00000000000000b2", cluster="us", instance="two"}', values: '1x72'}
    alert_rule_test:
      - {eval_time: 300s, alertname: ElectTwoLeaders, exp_alerts: []}
      - {eval_time: 300s, alertname: ElectSeveralStores, exp_alerts: []}
      - eval_time: 300s
        alertname: ElectNoLeader
        exp_alerts:
          - exp_labels: {election: job, store_id: "kubernetes:///jobs", cluster: us, severity: critical}
            exp_annotations:
              summary: Nobody leads job.
              description: Candidates are up, but none leads. Look at the store, and at what the candidates say on stderr.
"#,
    );
}

#[test]
fn a_label_that_tells_no_elections_apart_is_refused() {
    for (label, why) in [
        ("store_id", "in any case"),
        ("instance", "each candidate has its own"),
        ("a-b", "letters, digits and _"),
        ("cluster,", "letters, digits and _"),
    ] {
        let words = ["dashboard", "alerts", "--by", label];
        let ended = Elect::new(env!("CARGO_BIN_EXE_elect")).args(words).run().exits(125);
        assert!(ended.stderr.contains(why), "{label}: {ended:?}");
    }
}

/// The same for all candidates, however they spell the place: an id, a namespace, or a disk of a host.
#[test]
fn metrics_have_the_identity_of_the_store_once_it_has_answered() {
    let of = |url: &str| {
        let server = address();
        let http = server.to_string();
        let flags = ["run", "-b", url, "-e", "job", "--http", &http, "sleep", "3600"];
        let _elect = Elect::new(env!("CARGO_BIN_EXE_elect")).args(flags).spawn();
        eventually("a store", || {
            let page = get(server, "/metrics").body;
            let begin = "elect_is_leader{election=\"job\",store_id=\"";
            let id = page.split_once(begin)?.1.split_once('"')?.0.to_owned();
            let series = page.lines().filter(|line| !line.starts_with('#'));
            let label = format!(",store_id=\"{id}\"");
            series.clone().for_each(|line| assert!(line.contains(&label), "{line}"));
            Some(id)
        })
    };
    let etcd = Etcd::start(1);
    let plain = etcd.url();
    let id = of(&plain);
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    assert_eq!(of(&plain.replace("127.0.0.1", "localhost")), id);
    assert_ne!(of(&format!("{}/other", plain.trim_end_matches('/'))), id);
    let folder = TempDir::new().expect("a temporary folder");
    let disk = of(&format!("file://{}", folder.path().display()));
    let host = elect::config::host_name();
    assert_eq!(disk, format!("file://{host}{}", folder.path().display()));
}
