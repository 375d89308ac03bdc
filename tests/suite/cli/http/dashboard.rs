//! The output of `elect dashboard`, compared with the manual and with the metrics that exist.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use elect_testkit::servers::ZooKeeperSetup;

use super::client::{address, get, sample, wait_for_leader};
use crate::cli::see::{Arena, Ground, on_each_table};
use crate::prelude::*;

const PACKAGE: &str = "apt-get install prometheus";

pub(super) fn dashboard(words: &[&str]) -> String {
    Elect::new(ELECT).arg("dashboard").args(words).run().exits(0).is_quiet().stdout
}

/// `promtool`, which is content.
#[track_caller]
fn promtool(words: &[&str], stdin: &str) -> String {
    use std::io::Write as _;
    let mut child = Command::new("promtool")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
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
        Elect::new(ELECT).args(flags).args(["sleep", "3600"]).spawn()
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

on_each_table! {
    a_leader_shows_its_renewals_and_their_requests
}

fn a_leader_shows_its_renewals_and_their_requests(arena: &Arena) {
    let server = address();
    let http = server.to_string();
    let _leader = arena.candidate_with("one", 8, |elect| elect.args(["--http", &http]));
    wait_for_leader(server);
    let after = |renewals: f64| {
        eventually("a renewal", || {
            let page = get(server, "/metrics").body;
            let seen = sample(&page, "elect_renewal_duration_seconds_count")?;
            let trips =
                page.lines().filter(|line| line.starts_with("elect_store_round_trips_total{"));
            let trips = trips.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
            (seen > renewals).then(|| (seen, trips.sum::<f64>()))
        })
    };
    let (renewals, trips) = after(0.0);
    let (more_renewals, more_trips) = after(renewals);
    assert!(more_trips - trips >= more_renewals - renewals, "{trips}, then {more_trips}");
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
fn requests_to_zookeeper_are_counted_too() {
    let zookeeper = ZooKeeper::start(&ZooKeeperSetup::default());
    let server = address();
    let (url, http) = (format!("zk://{}", zookeeper.address(0)), server.to_string());
    let flags = ["run", "-b", &url, "-e", "job", "--ttl", "10s", "--http", &http];
    let _elect = Elect::new(ELECT).args(flags).args(["sleep", "60"]).spawn();
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
        fs::write(&path, text).expect("written");
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

/// What the rules that are printed with these words say of these series, by `promtool test rules`.
#[track_caller]
fn judge(words: &[&str], tests: &str) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let rules = dashboard(&[&["alerts"], words].concat());
    fs::write(path("elect.yaml"), rules).expect("written");
    let interval = tests.split("interval: ").nth(1).and_then(|rest| rest.lines().next());
    let interval = interval.expect("the one of the series");
    let head = format!("rule_files: [elect.yaml]\nevaluation_interval: {interval}\ntests:\n");
    fs::write(path("test.yaml"), format!("{head}{tests}")).expect("written");
    let test = path("test.yaml");
    assert!(promtool(&["test", "rules", test.to_str().expect("a path")], "").contains("SUCCESS"));
}

/// Each is a file of series, and of the alerts that come of them.
macro_rules! judged {
    ($($name:ident $words:expr;)*) => {
        $(#[test] fn $name() {
            judge(&$words, include_str!(concat!("alerts/", stringify!($name), ".yaml")));
        })*
    };
}

judged! {
    the_alert_of_a_suspected_leader_goes_off_at_8 [];
    a_pause_sends_no_page [];
    a_long_pause_is_recalled [];
    a_leader_without_a_standby_is_warned_of [];
    a_leader_whose_command_does_not_run_pages [];
    elections_of_one_name_in_different_stores_are_different_ones [];
    a_candidate_without_an_answer_is_no_election_of_its_own [];
    labels_that_people_name_tell_elections_apart ["--by", "cluster"];
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
        let ended = Elect::new(ELECT).args(words).run().exits(125);
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
        let _elect = Elect::new(ELECT).args(flags).spawn();
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
