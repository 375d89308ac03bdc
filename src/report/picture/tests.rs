//! The texts of small pictures, to the character; and laws that hold for pictures of anything.

use std::time::Duration;

use super::drawing::{LETTER, NARROW, STYLE, Size, WIDE};
use super::markup::count;
use super::{
    Distribution, Frontier, Lane, Mark, Point, Quantiles, Report, Role, Section, Shape, Span,
    State, Timeline,
};
use crate::report::Table;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn shape(width: usize, is_unicode: bool) -> Shape {
    Shape { width, is_unicode, has_colour: false }
}

fn span(state: State, from: u64, until: u64) -> Span {
    Span { from: ms(from), until: ms(until), state, token: None }
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

/// A leader dies, and the next one is cut off from the store.
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

/// Two run at the same time.
fn overlap() -> Timeline {
    Timeline {
        title: "A hypervisor's pause of 20 s".to_owned(),
        end: ms(30_000),
        lanes: vec![
            lane("a", Role::Candidate, vec![led(1, 0, 20_000)]),
            lane("b", Role::Candidate, vec![led(2, 15_000, 30_000)]),
        ],
        marks: vec![mark(2_000, "a's machine paused"), mark(2_100, "nobody saw it")],
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
    let row = |label: &str, [p5, median, p95, p99, max]: [u64; 5]| Quantiles {
        label: label.to_owned(),
        p5: ms(p5),
        median: ms(median),
        p95: ms(p95),
        p99: ms(p99),
        max: ms(max),
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

/// A picture of anything: many spans, of any length, also such as end before they begin.
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
        row.median = ms(random.u64(..1_000_000));
        row.max = Duration::from_nanos(random.u64(..));
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

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut random = fastrand::Rng::with_seed(7);
    for width in (1..=200).chain([1, 2, 3, 40, 80]) {
        let report = hostile(&mut random);
        for is_unicode in [false, true] {
            let text = report.text(shape(width, is_unicode));
            let lines: Vec<&str> = text.lines().collect();
            for line in &lines[..lines.len() - 1] {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
                assert_eq!(line.trim_end(), *line);
                assert!(!line.contains('\u{1b}'), "{line:?}");
            }
            let coloured = report.text(Shape { has_colour: true, ..shape(width, is_unicode) });
            assert_eq!(unstyled(&coloured), text, "colours change nothing but the colour");
        }
    }
}

#[test]
fn a_terminal_without_unicode_gets_none() {
    let text = report().text(shape(80, false));
    assert!(text.is_ascii(), "{text}");
}

fn unstyled(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or(part, |it| it.1)).collect::<String>()
}

#[test]
fn a_hand_over_never_looks_like_an_overlap() {
    let mut random = fastrand::Rng::with_seed(8);
    for _ in 0..300 {
        let (mut at, mut lanes) = (0, vec![Vec::new(); 3]);
        while at < 10_000 {
            let until = at + random.u64(1..2_000);
            lanes[random.usize(..3)].push(span(State::Runs, at, until));
            at = until + [0, random.u64(..900)][random.usize(..2)];
        }
        let lanes = lanes.into_iter().map(|spans| lane("n", Role::Candidate, spans)).collect();
        let line = Timeline { end: ms(10_000), lanes, ..Timeline::default() };
        assert_eq!(line.overlaps(), []);
        let text = line.text(shape(random.usize(20..120), false));
        let rows: Vec<&[u8]> =
            text.lines().filter(|row| row.starts_with("n ")).map(str::as_bytes).collect();
        let most = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        for column in 0..most {
            let runs = rows.iter().filter(|row| row.get(column) == Some(&b'#')).count();
            assert!(runs <= 1, "column {column} of\n{text}");
        }
        assert!(!text.contains("OVERLAP") && text.contains("No two commands ran"), "{text}");
    }
}

#[test]
fn an_overlap_of_a_nanosecond_is_seen() {
    let mut line = overlap();
    line.lanes[0].spans[0].until = line.lanes[1].spans[0].from + Duration::from_nanos(1);
    for width in [20, 40, 200] {
        assert_eq!(line.text(shape(width, false)).matches('!').count(), 1);
    }
    let report = Report { sections: vec![Section::Timeline(line)], ..report() };
    assert!(report.svg().contains("class=\"overlap\"") && report.html().contains("OVERLAP: two"));
    // A store's members are no commands.
    let mut line = overlap();
    line.lanes[1].role = Role::Store;
    assert_eq!(line.overlaps(), []);
}

#[test]
fn pages_and_drawings_are_well_formed_whatever_is_in_them() {
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..100 {
        let report = hostile(&mut random);
        let (svg, html) = (report.svg(), report.html());
        assert_well_formed(&svg);
        assert_well_formed(html.strip_prefix("<!DOCTYPE html>\n").expect("a page"));
        for text in [svg, html] {
            assert!(
                !text.contains("<script") && !text.contains(['\u{1b}', '\u{ffff}', '\u{202e}'])
            );
            assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
        }
    }
}

#[test]
fn pages_and_drawings_ask_nobody_for_anything() {
    let report = report();
    for text in [report.svg(), report.html()] {
        let text = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        for word in ["://", "src=", "href=", "@import", "<script", "javascript"] {
            assert!(!text.contains(word), "{word}");
        }
        assert!(text.contains("--seed 42") && text.contains("<desc>"));
    }
}

/// Each tag ends where it should, each value has quotes, and no character of markup stands in a text.
fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.trim_end();
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!open.is_empty() || before.is_empty(), "text beside the root: {before:?}");
        assert_text(before);
        let (tag, behind) = after.split_once('>').expect("the end of a tag");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let values: Vec<&str> = attributes.trim_end_matches('/').split('"').collect();
            assert!(values.len() % 2 == 1, "{tag}");
            for pair in values.chunks_exact(2) {
                let key = pair[0].trim().strip_suffix('=').expect("a value");
                assert!(
                    key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
                    "{tag}"
                );
                assert_text(pair[1]);
            }
            if !tag.ends_with('/') {
                open.push(name.trim_end_matches('/'));
            }
        }
        rest = behind;
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} {rest:?}");
}

fn assert_text(text: &str) {
    for part in text.split('&').skip(1) {
        let entities = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(entities.iter().any(|entity| part.starts_with(entity)), "{text:?}");
    }
}

/// The texts of the drawings of one class: their classes, their words, and how far they reach: left, top, right, bottom.
fn texts(html: &str, size: Size) -> Vec<(String, String, [f64; 4])> {
    let class = format!("<svg class=\"{}\"", size.class);
    let drawings = html.split("<svg ").map(|it| format!("<svg {it}"));
    let drawings: Vec<String> = drawings.filter(|it| it.starts_with(&class)).collect();
    let elements = drawings.iter().flat_map(|it| it.split("<text ").skip(1));
    let texts = elements.map(|element| {
        let value = |key: &str| {
            let (_, rest) = element.split_once(&format!("{key}=\""))?;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        let length = |key| value(key).and_then(|it| it.parse::<f64>().ok()).expect("a length");
        let (_, text) = element.split_once('>').expect("the end of a tag");
        let (text, _) = text.split_once("</text>").expect("an end");
        let class = element.split_once('>').filter(|it| it.0.contains("class")).and(value("class"));
        let class = class.unwrap_or_default();
        let wide = LETTER * count(text.chars().count());
        let before = match class.as_str() {
            class if class.ends_with("end") => wide,
            class if class.contains("middle") => wide / 2.0,
            _ => 0.0,
        };
        let (left, base) = (length("x") - before, length("y"));
        (class, text.to_owned(), [left, base - 10.0, left + wide, base + 3.0])
    });
    texts.collect()
}

fn meet(one: [f64; 4], other: [f64; 4]) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

/// As `ttl` asks for them: six whose rate is the same within 12 s, and one far away.
fn crowded(random: &mut fastrand::Rng) -> Frontier {
    let seconds = [4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 45, 60, 90, 120, 180];
    let points = seconds.iter().map(|ttl| Point {
        x: ms(ttl * 900 + random.u64(..300)),
        y: match ttl {
            4 => 64.0,
            5..20 => 4.37,
            20..180 => 0.08,
            _ => 0.0,
        },
        label: format!("{ttl}s"),
        is_advised: *ttl == 20,
    });
    Frontier { points: points.collect(), ..frontier() }
}

#[test]
fn labels_of_a_frontier_cover_no_other_one_and_none_is_left_out() {
    let mut random = fastrand::Rng::with_seed(10);
    for number in 0..50 {
        let mut frontier = crowded(&mut random);
        if number > 0 {
            let y = |point: &mut Point| point.y = f64::from(random.u32(..1_000)) / 100.0;
            frontier.points.iter_mut().for_each(y);
        }
        let html = Report { sections: vec![Section::Frontier(frontier)], ..report() }.html();
        for size in [WIDE, NARROW] {
            let texts = texts(&html, size);
            let is_label = |class: &str| class.starts_with("label");
            let labels = texts.iter().filter(|(class, ..)| is_label(class)).count();
            assert!(labels == 15 || number > 0, "{labels}: {texts:?}");
            for (number, (class, text, area)) in texts.iter().enumerate() {
                let mut others = texts[number + 1..].iter();
                let covers = others.find(|other| is_label(&other.0) && meet(*area, other.2));
                assert_eq!(covers, None, "{class} {text} {area:?}");
            }
        }
    }
}

#[test]
fn pictures_of_a_page_have_all_text_within_them_on_any_screen() {
    let mut random = fastrand::Rng::with_seed(11);
    let crowd = Section::Frontier(crowded(&mut random));
    let mut far = frontier();
    far.points.truncate(1);
    far.points.extend([Point { x: ms(3_000_000), ..far.points[0].clone() }]);
    let mut report = report();
    report.sections.extend([crowd, Section::Frontier(far)]);
    let html = report.html();
    for size in [WIDE, NARROW] {
        let texts = texts(&html, size);
        assert!(texts.len() > 100, "{}", texts.len());
        for (class, text, area) in texts {
            assert!(area[0] >= 0.0 && area[2] <= size.width, "{class} {text} {area:?}");
        }
    }
    // A table scrolls, and what stands above it does not.
    let caption = html.find("<p class=\"caption\">What each TTL gives and costs</p>");
    assert!(caption < html.find("class=\"scrolls\"") && caption.is_some(), "{html}");
}

/// On paper without colours, too: what is not plain has a pattern of its own.
#[test]
fn states_are_told_apart_without_colours() {
    let mut patterns = std::collections::BTreeSet::new();
    for class in ["serves", "stopped", "cut-off", "dead"] {
        let (_, rule) = STYLE.split_once(&format!("\n.{class} {{ fill: url(#")).expect(class);
        let (name, _) = rule.split_once(')').expect("an end");
        assert!(patterns.insert(name) && report().svg().contains(&format!("id=\"{name}\"")));
    }
}

const KILL_40: &str = "\
Kill of the leader, then a cut of its
successor
          1   2         3   4
web1    █1████××××××××××××××××××××××××××
web2    ░░░░░░░░░░░░░░█2███████╌╌╌╌╌░░░░
web3    ░░‖‖‖░░░░░░░░░░░░░░░░░░░░░█3████
etcd-0  ▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬××××××××××××××××
etcd-1                   ▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬
etcd-2
        ┴───────┴───────┴───────┴──────┴
        0s      15s     30s     45s   1m
█ command runs   ░ waits   ▬ leads the
store   ‖ paused   ╌ cut off   × dead
number in a bar: token
1  4s  web3 paused for 5 s
2  12s  web1 killed
3  30s  etcd-0 killed
4  38s  web2 cut off from the store
No two commands ran at the same time.
";

const KILL_80: &str = "\
Kill of the leader, then a cut of its successor
            1         2                     3        4
web1    #1############xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
web2    ...............................#2####################~~~~~~~~~..........
web3    .....||||||...............................................#3############
etcd-0  ====================================xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
etcd-1                                       ===================================
etcd-2
        +-----+-----+-----+-----+-----+-----+-----+-----+-----+-----+-----+----+
        0s    5s    10s   15s   20s   25s   30s   35s   40s   45s   50s   55s 1m
# command runs   . waits   = leads the store   | paused   ~ cut off   x dead
number in a bar: token
1  4s  web3 paused for 5 s
2  12s  web1 killed
3  30s  etcd-0 killed
4  38s  web2 cut off from the store
No two commands ran at the same time.
";

const OVERLAP_120: &str = "\
A hypervisor's pause of 20 s
                1
                2
a        █1████████████████████████████████████████████████████████████████████████
b                                                               █2██████████████████████████████████████████████████████
OVERLAP                                                         !!!!!!!!!!!!!!!!!!!
         ┴──────┴──────┴───────┴──────┴───────┴──────┴──────┴───────┴──────┴───────┴──────┴──────┴───────┴──────┴──────┴
         0s     2s     4s      6s     8s      10s    12s    14s     16s    18s     20s    22s    24s     26s    28s  30s
█ command runs   number in a bar: token
1  2s  a's machine paused
2  2.1s  nobody saw it
OVERLAP: two commands ran at the same time, for 5s from 15s on.
";

const FRONTIER_40: &str = "\
Which TTL
1000 +
     | o 2s
 100 +
     |
  10 +  o 5s
     |
   1 +    o 10s
 0.1 +
     |
0.01 +      @ 15s
     |
   0 +           o 30s      o 1m
     ++----------+----------+----------+
      0s         30s        1m     1m30s
Across: fail-over time, 99th percentile.
Up: leaderships lost for nothing per
month (logarithmic).
@ advised: 15s
";

const DISTRIBUTION_80: &str = "\
Fail-over
elect, on a queue                                                      ▐┃▌
Raft                                ▐▒▒▒┃▒▒▒▒▌───┤      ○
Raft, pre-vote                       ▐▒▒┃▒▒▒▒▌───┤      ○
Bully                 ▐▒▒▒▒▒▒┃▒▌┤ ○
                  └───────┴────────────────────┴─────────────────────┴──────────
                          100ms                1s                    10s
Logarithmic. ▐▒ 5th to 95th percentile   ┃ median   ─ to the 99th   ○ longest
";

#[test]
fn pictures_for_a_terminal() {
    assert_eq!(kill().text(shape(40, true)), KILL_40);
    assert_eq!(kill().text(shape(80, false)), KILL_80);
    assert_eq!(overlap().text(shape(120, true)), OVERLAP_120);
    assert_eq!(frontier().text(shape(40, false)), FRONTIER_40);
    assert_eq!(distribution().text(shape(80, true)), DISTRIBUTION_80);
}
