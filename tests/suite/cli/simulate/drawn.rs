//! The marks in a time line: candidates without a way to a majority of the store, dead ones, and waiting ones.

use std::fs;

use super::simulate;
use crate::support::Ground;

/// Returns the marks in each line of the time line, from candidate 1 on, in a run with these faults, and its page.
fn drawn(faults: &str) -> (Vec<String>, String) {
    let ground = Ground::new();
    let page = ground.path().join("page.html");
    let words = format!("what-if --runs 1 {faults} --html {}", page.display());
    let shown = simulate(&words).run().exits(0).is_quiet().stdout;
    let lanes = shown.lines().skip_while(|line| !line.starts_with("1 ")).take(6);
    (lanes.map(str::to_owned).collect(), fs::read_to_string(page).expect("a page"))
}

#[test]
fn a_node_without_a_way_to_a_majority_is_drawn_as_cut_off() {
    for (faults, cut_off) in [
        ("--split 1,s1/2,3,s2,s3@20s..60s", &["1", "s1"][..]),
        ("--split 2,s2,s3/1,3,s1@20s..60s", &["1", "3", "s1"]),
        ("--split s3/s1,s2@20s..60s", &["s3"]),
        ("--isolate leader@20s..60s", &["1"]),
        ("--isolate s1@20s..40s --isolate 3@20s..40s", &["3", "s1"]),
        ("--one-way 1:s1@20s..60s", &[]),
        ("--one-way 1:s1@20s..60s --one-way s2:1@20s..60s --one-way s3:1@20s..60s", &["1"]),
        ("--members 1 --split 2/s1@20s..60s", &["2"]),
    ] {
        let (lanes, page) = drawn(faults);
        for lane in lanes {
            let Some((name, shown)) = lane.split_once(' ') else { continue };
            if !["1", "2", "3", "s1", "s2", "s3"].contains(&name) {
                continue;
            }
            let is_cut_off = cut_off.contains(&name);
            assert_eq!(shown.contains(['~', '╌']), is_cut_off, "{faults}: {lane}");
            assert_eq!(page.contains(&format!(">{name}: cut off, 2")), is_cut_off, "{faults}");
        }
    }
}

/// One that dies while it is cut off is drawn as dead.
#[test]
fn the_dead_are_drawn_as_dead() {
    let (lanes, _) = drawn("--isolate 2@20s..60s --kill 2@30s..50s");
    let signs: Vec<char> = lanes[1].chars().skip(1).collect();
    let first = |signs: &[char], these: [char; 2]| signs.iter().position(|it| these.contains(it));
    let cut = first(&signs, ['~', '╌']).expect("cut off");
    let dead = first(&signs, ['x', '×']).expect("dead");
    let again = first(&signs[dead..], ['~', '╌']).expect("cut off again");
    assert!(cut < dead && again > 5, "{lanes:#?}");
}

/// A candidate waits until its command runs, and no longer.
#[test]
fn a_candidate_that_runs_the_command_is_not_drawn_as_waiting() {
    let (_, page) = drawn("--kill leader@20s");
    let spans: Vec<&str> =
        page.split("<title>").filter_map(|it| Some(it.split_once('<')?.0)).collect();
    for name in ["1", "2"] {
        let span = |state: &str| {
            let head = format!("{name}: {state}, ");
            let span = spans.iter().find_map(|span| span.strip_prefix(&head));
            let (from, rest) = span.and_then(|span| span.split_once(" to ")).expect(&head);
            (from, rest.split(',').next().unwrap_or_default())
        };
        assert_eq!(span("waits").1, span("command runs").0, "{spans:?}");
    }
}

/// As people redirect it.
#[test]
fn a_picture_for_stdout_stands_there_alone() {
    let ground = Ground::new();
    let drawn = |name: &str| {
        let words = format!("ttl --runs 1 --svg {name}");
        simulate(&words).run().exits(0).is_quiet().stdout
    };
    let file = ground.path().join("picture.svg");
    drawn(&file.display().to_string());
    let picture = fs::read_to_string(file).expect("a picture");
    let end = picture.find("elect simulate").expect("the line that repeats it");
    for name in ["-", "/dev/stdout"] {
        let stdout = drawn(name);
        assert_eq!(stdout[..end], picture[..end]);
        assert!(stdout.ends_with("</svg>\n"), "{stdout}");
    }
}
