//! Tests of text pictures: small ones compared to the character, and properties of random ones.

use std::time::Duration;

use super::{distribution, frontier, hostile, kill, lane, ms, overlap, report, shape, span};
use crate::simulate::picture::{Report, Role, Section, Shape, State, Timeline};

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
    // Members of the store have no commands.
    let mut line = overlap();
    line.lanes[1].role = Role::Store;
    assert_eq!(line.overlaps(), []);
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
2  2.1s  it was not seen
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
