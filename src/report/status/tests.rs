//! Tests of the status report: its keys, its table, and the manual's list of the keys.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use elect_api::{
    Cadence, Candidate, Division, Entry, Leader, Lease, Order, Profile, Survey, Token,
};

use super::{ElectionStatus, PauseStatus, StatusReport};
use crate::election::history::LeadershipRecord;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn entry(id: &str, joined: u64) -> Entry {
    let candidate = Candidate {
        id: id.to_owned(),
        host: "web".to_owned(),
        pid: 42,
        command: "./job".to_owned(),
        containment: "scan".to_owned(),
        priority: Candidate::USUAL_PRIORITY,
        division: Division::Whole,
        work: None,
    };
    Entry::new(candidate, Some(at(joined)), 0)
}

fn store(lease: Lease) -> Profile {
    Profile::new("file", "file:///x".into(), lease, Order::Queue)
}

fn timed() -> Profile {
    store(Lease::Timed(Cadence::LEASE))
}

fn report() -> StatusReport {
    let led = Survey {
        leader: Some(Leader { since: Some(at(8)), ..Leader::new(entry("a", 0), Token::new(7)) }),
        waiting: vec![entry("b\u{1b}[2J", 140)],
    };
    let (job, idle) = ("job".parse().unwrap(), "idle".parse().unwrap());
    StatusReport {
        elections: vec![
            ElectionStatus::new(&job, &store(Lease::Unlimited), &led),
            ElectionStatus::new(&idle, &store(Lease::Unlimited), &Survey::default()),
        ],
    }
}

#[test]
fn the_json_keys_are_stable() {
    let expected = r#"{"elections":[{"election":"job","backend":"file:///x","promise":"strong","leader":{"id":"a","host":"web","pid":42,"command":"./job","containment":"scan","priority":100,"token":7,"since":"1970-01-01T00:00:08.000Z","joined":"1970-01-01T00:00:00.000Z","remaining_ms":null,"stopped":false},"waiting":[{"place":1,"id":"b\\u{1b}[2J","host":"web","pid":42,"command":"./job","containment":"scan","priority":100,"joined":"1970-01-01T00:02:20.000Z","stopped":false}],"paused":null},{"election":"idle","backend":"file:///x","promise":"strong","leader":null,"waiting":[],"paused":null}]}"#;
    assert_eq!(serde_json::to_string(&report()).unwrap(), expected);
}

#[test]
fn yaml_has_the_same_keys() {
    let yaml = serde_yaml::to_string(&report()).unwrap();
    let back: serde_json::Value = serde_yaml::from_str(&yaml).unwrap();
    assert_eq!(back, serde_json::to_value(report()).unwrap());
}

#[test]
fn the_table_shows_one_candidate_a_line() {
    let text = report().table(at(200), None);
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[1],
        ["job", "leader", "-", "a", "web", "42", "./job", "3m12s", "7", "unlimited", "scan"]
    );
    assert_eq!(
        lines[2],
        ["job", "waiting", "1", "b\\u{1b}[2J", "web", "42", "./job", "1m", "-", "-", "scan"]
    );
    assert_eq!(lines[3], ["idle", "no-leader", "-", "-", "-", "-", "-", "-", "-", "-", "-"]);
    assert!(!text.contains("NOTE"), "there is nothing to note: {text}");
}

#[test]
fn priorities_are_shown_where_they_differ() {
    let mut survey = Survey { leader: None, waiting: vec![entry("a", 0), entry("b", 0)] };
    let table = |survey: &Survey| {
        let job = "job".parse().unwrap();
        let elections = vec![ElectionStatus::new(&job, &store(Lease::Unlimited), survey)];
        StatusReport { elections }.table(at(0), None)
    };
    assert!(!table(&survey).contains("PRIORITY"));
    survey.waiting[1].candidate.priority = 80;
    let table = table(&survey);
    let ends = table.lines().map(|line| line.split_whitespace().last().unwrap());
    assert_eq!(ends.collect::<Vec<_>>(), ["PRIORITY", "-", "100", "80"]);
}

#[test]
fn a_pause_shows_its_author_and_reason() {
    let mut report = report();
    let pause = PauseStatus::new("root@web1", Some(at(8)), Some("disk is full"));
    let idle = report.elections.pop().unwrap();
    report.elections.push(idle.paused(Some(pause)));
    let json = serde_json::to_string(&report.elections[1].paused).unwrap();
    let expected = r#"{"by":"root@web1","since":"1970-01-01T00:00:08.000Z","until":null,"reason":"disk is full"}"#;
    assert_eq!(json, expected);
    let table = report.table(at(200), None);
    let line = table.lines().last().unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[..8], ["idle", "paused", "-", "-", "-", "-", "-", "3m12s"], "{line}");
    assert!(line.ends_with("  paused by root@web1: disk is full"), "{line}");
    assert!(table.lines().next().is_some_and(|it| it.ends_with("  NOTE")), "{table}");
    assert!(!report.is_led());
}

#[test]
fn a_pause_is_shown_beside_a_leader_that_has_yet_to_hand_over() {
    let mut report = report();
    let led = report.elections.remove(0);
    report.elections = vec![led.paused(Some(PauseStatus::new("root@web1", Some(at(8)), None)))];
    let table = report.table(at(200), None);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert!(rows[1].contains(" leader ") && rows[3].contains(" waiting "), "{table}");
    assert!(rows[2].contains(" paused ") && rows[2].ends_with("paused by root@web1"), "{table}");
}

#[test]
fn unknown_fields_of_a_foreign_candidate_are_null() {
    let entry = Entry::new(Candidate::foreign("7c"), None, 0);
    let leader = Leader::new(entry, Token::new(7));
    let survey = Survey { leader: Some(leader), waiting: vec![] };
    let status = ElectionStatus::new(&"job".parse().unwrap(), &timed(), &survey);
    let json = serde_json::to_value(&status).unwrap();
    for key in
        ["host", "pid", "command", "containment", "priority", "since", "joined", "remaining_ms"]
    {
        assert!(json["leader"][key].is_null(), "{key} in {json}");
    }
    let table = StatusReport { elections: vec![status] }.table(at(0), None);
    let cells: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(cells, ["job", "leader", "-", "7c", "-", "-", "-", "-", "7", "-", "-"]);
}

#[test]
fn a_leader_with_a_limit_and_a_clock_ahead() {
    let mut survey = Survey {
        leader: Some(Leader { since: Some(at(900)), ..Leader::new(entry("a", 0), Token::new(7)) }),
        waiting: vec![],
    };
    survey.leader.as_mut().unwrap().remaining = Some(Duration::from_millis(7_340));
    let report = StatusReport {
        elections: vec![ElectionStatus::new(&"job".parse().unwrap(), &timed(), &survey)],
    };
    assert!(report.is_led());
    assert!(
        report.table(at(0), None).contains("0s     7      7.3s"),
        "{}",
        report.table(at(0), None)
    );
}

/// Returns all keys of a value, at any depth.
fn keys(value: &serde_json::Value) -> Vec<&str> {
    match value {
        serde_json::Value::Object(map) => {
            map.iter().flat_map(|(key, value)| [vec![key.as_str()], keys(value)].concat()).collect()
        }
        serde_json::Value::Array(values) => values.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_manual_explains_every_key() {
    let mut dead = Leader::new(entry("a", 0), Token::new(7));
    dead.entry.outlived_by = Some(vec![42]);
    let led = Survey { leader: Some(dead), waiting: vec![entry("b", 1)] };
    let of = |survey: &Survey| ElectionStatus::new(&"job".parse().unwrap(), &timed(), survey);
    let last: LeadershipRecord = serde_json::from_str(r#"{"token":1,"id":"x","start":1}"#).unwrap();
    let elections = vec![
        of(&led).paused(Some(PauseStatus::new("me", None, None))),
        of(&led).unproven(),
        of(&Survey::default()).after_last(Some(&last)),
        of(&led).divided(Division::Shards(2), &led, vec![of(&led), of(&led)]),
    ];
    let page = crate::manual::topic("status").unwrap().text;
    let report = serde_json::to_value(StatusReport { elections }).unwrap();
    let missing: Vec<_> =
        keys(&report).into_iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert_eq!(missing, Vec::<&str>::new());
    for key in ["unproven", "last", "outlived_by", "division"] {
        assert!(keys(&report).contains(&key), "{key}");
    }
}
