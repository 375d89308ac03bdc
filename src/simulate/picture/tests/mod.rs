//! Pictures for tests: small ones of each kind, and random ones.

mod pages;
mod terminal;

use std::time::Duration;

use super::{
    Distribution, Frontier, Lane, Mark, Point, Quantiles, Report, Role, Section, Shape, Span,
    State, Timeline,
};
use crate::report::Table;
use crate::simulate::report::{Ms, Percentiles};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn shape(width: usize, is_unicode: bool) -> Shape {
    Shape { width, is_unicode, has_colour: false }
}

fn span(state: State, from: u64, until: u64) -> Span {
    Span::new(ms(from), ms(until), state)
}

fn led(token: u64, from: u64, until: u64) -> Span {
    Span { token: Some(token), ..span(State::Runs, from, until) }
}

fn lane(label: &str, role: Role, spans: Vec<Span>) -> Lane {
    Lane { label: label.to_owned(), role, spans }
}

fn mark(at: u64, text: &str) -> Mark {
    Mark { at: ms(at), text: text.to_owned() }
}

/// Returns a time line in which a leader dies, and its successor is cut off from the store.
fn kill() -> Timeline {
    use State::{CutOff, Dead, Serves, Stopped, Waits};
    let candidate = |label, spans| lane(label, Role::Candidate, spans);
    let member = |label, spans| lane(label, Role::Store, spans);
    Timeline {
        title: "Kill of the leader, then a cut of its successor".to_owned(),
        end: ms(60_000),
        lanes: vec![
            candidate(
                "web1",
                vec![span(Waits, 0, 200), led(1, 200, 12_000), span(Dead, 12_000, 60_000)],
            ),
            candidate(
                "web2",
                vec![
                    span(Waits, 0, 26_100),
                    led(2, 26_100, 44_000),
                    span(CutOff, 44_000, 52_000),
                    span(Waits, 52_000, 60_000),
                ],
            ),
            candidate(
                "web3",
                vec![
                    span(Waits, 0, 4_000),
                    span(Stopped, 4_000, 9_000),
                    span(Waits, 9_000, 48_300),
                    led(3, 48_300, 60_000),
                ],
            ),
            member("etcd-0", vec![span(Serves, 0, 30_000), span(Dead, 30_000, 60_000)]),
            member("etcd-1", vec![span(Serves, 31_200, 60_000)]),
            member("etcd-2", vec![]),
        ],
        marks: vec![
            mark(4_000, "web3 paused for 5 s"),
            mark(12_000, "web1 killed"),
            mark(30_000, "etcd-0 killed"),
            mark(38_000, "web2 cut off from the store"),
        ],
    }
}

/// Returns a time line in which two commands run at the same time.
fn overlap() -> Timeline {
    Timeline {
        title: "A hypervisor's pause of 20 s".to_owned(),
        end: ms(30_000),
        lanes: vec![
            lane("a", Role::Candidate, vec![led(1, 0, 20_000)]),
            lane("b", Role::Candidate, vec![led(2, 15_000, 30_000)]),
        ],
        marks: vec![mark(2_000, "a's machine paused"), mark(2_100, "it was not seen")],
    }
}

fn frontier() -> Frontier {
    let point =
        |ttl: &str, x, y, is_advised| Point { x: ms(x), y, label: ttl.to_owned(), is_advised };
    Frontier {
        title: "Which TTL".to_owned(),
        x_title: "fail-over time, 99th percentile".to_owned(),
        y_title: "leaderships lost for nothing per month".to_owned(),
        points: vec![
            point("2s", 2_900, 410.0, false),
            point("5s", 5_700, 12.0, false),
            point("10s", 10_900, 0.4, false),
            point("15s", 15_700, 0.02, true),
            point("30s", 30_800, 0.0, false),
            point("1m", 60_900, 0.0, false),
        ],
    }
}

fn distribution() -> Distribution {
    let row = |label: &str, times: [u64; 5]| {
        let [p5, median, p95, p99, max] = times.map(|time| Ms(ms(time)));
        let times = Percentiles { p5, median, p95, p99, max, mean: median };
        Quantiles { label: label.to_owned(), times }
    };
    Distribution {
        title: "Fail-over".to_owned(),
        rows: vec![
            row("elect, on a queue", [12_700, 14_000, 15_300, 15_480, 15_500]),
            row("Raft", [310, 466, 790, 1_210, 2_640]),
            row("Raft, pre-vote", [330, 490, 800, 1_260, 2_700]),
            row("Bully", [70, 140, 180, 190, 240]),
        ],
    }
}

fn table() -> Table {
    let mut table = Table::new(&["TTL", "FAIL-OVER", "LOST FOR NOTHING", "NOTE"]);
    for row in [["10s", "10.9s", "0.4", ""], ["15s", "15.7s", "0.02", "advised"]] {
        table.row(row.map(str::to_owned));
    }
    table
}

fn report() -> Report {
    Report {
        title: "Which TTL for three regions, 80 ms apart".to_owned(),
        command_line: "elect simulate ttl --delay 'normal 80ms 12ms' --seed 42".to_owned(),
        seed: 42,
        sections: vec![
            Section::Text(
                "Take a TTL of 15 s. A fail-over then takes at most 15.7 s in 99 of 100 cases.\n\n\
                 A shorter TTL loses leaderships for nothing: the network stalls for longer than it allows."
                    .to_owned(),
            ),
            Section::Table("What each TTL gives and costs".to_owned(), table()),
            Section::Frontier(frontier()),
            Section::Timeline(kill()),
            Section::Timeline(overlap()),
            Section::Distribution(distribution()),
        ],
    }
}

/// Returns a random time line with many spans of any length. Some of them end before they begin.
fn anything(random: &mut fastrand::Rng) -> Timeline {
    let states = State::ALL;
    let marks = (0..random.usize(0..12)).map(|_| mark(random.u64(..9_000), HOSTILE)).collect();
    let end = ms(random.u64(..9_000));
    let lanes = (0..random.usize(0..6)).map(|number| {
        let spans = (0..random.usize(0..30)).map(|_| Span {
            token: random.bool().then(|| random.u64(..)),
            ..span(states[random.usize(..states.len())], random.u64(..9_000), random.u64(..9_000))
        });
        let spans = spans.collect();
        let role = if random.bool() { Role::Candidate } else { Role::Store };
        lane(&format!("node<{number}>\u{1b}").repeat(random.usize(0..4)), role, spans)
    });
    Timeline { title: HOSTILE.to_owned(), end, lanes: lanes.collect(), marks }
}

const HOSTILE: &str = "</text><script>alert(\"'&]]>--\u{1b}[2J\u{ffff}\u{202e}\nä";

fn hostile(random: &mut fastrand::Rng) -> Report {
    let mut report = report();
    report.title = HOSTILE.to_owned();
    report.command_line = HOSTILE.to_owned();
    let mut table = Table::new(&["A", "B"]);
    table.row([HOSTILE, HOSTILE].map(str::to_owned));
    let mut frontier = frontier();
    frontier.x_title = HOSTILE.to_owned();
    frontier.y_title = HOSTILE.to_owned();
    for point in &mut frontier.points {
        point.label = HOSTILE.to_owned();
        point.x = ms(random.u64(..100_000));
        point.y =
            [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200, random.f64()][random.usize(..7)];
    }
    let mut distribution = distribution();
    for row in &mut distribution.rows {
        row.label = HOSTILE.to_owned();
        row.times.median = Ms(ms(random.u64(..1_000_000)));
        row.times.max = Ms(Duration::from_nanos(random.u64(..)));
    }
    report.sections = vec![
        Section::Text(HOSTILE.to_owned()),
        Section::Table(HOSTILE.to_owned(), table),
        Section::Frontier(frontier),
        Section::Timeline(anything(random)),
        Section::Distribution(distribution),
        Section::Frontier(Frontier::default()),
        Section::Timeline(Timeline::default()),
        Section::Distribution(Distribution::default()),
    ];
    report
}
