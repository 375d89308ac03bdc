//! The key of a period of a schedule: `--once-per`.

use std::fs;

use elect_testkit::program::{Elect, Ended};

use super::{BRIEF, STAY, Scene, was_done_already};
use crate::support::WallClock;

/// Zones whose dates differ for most of a day, and one with summer time.
const ZONES: [&str; 3] = ["Asia/Tokyo", "America/Los_Angeles", "Europe/Berlin"];

/// A job of this period, on a host in this zone.
fn scheduled(period: &str, scene: &Scene, clock: &WallClock, zone: &str) -> Elect {
    let run = scene.elect("run").args(["-e", "nightly", "--once-per", period]);
    clock.of(run.env("TZ", zone))
}

/// A nightly job that is started at 03:00 in UTC, on a host in this zone.
fn nightly(scene: &Scene, clock: &WallClock, zone: &str) -> Elect {
    scheduled("day@02:50", scene, clock, zone)
}

/// A run that ends at once, of a host at this time: whether its command ran.
#[track_caller]
fn has_run(scene: &Scene, clock: &WallClock, time: &str, job: Elect) -> bool {
    clock.set(time);
    let before = scene.word();
    let ended: Ended = job.sh(BRIEF).arg(time).run();
    ended.exits(0).is_silent();
    scene.word() != before
}

/// A nightly run that ends at once, of a host in this zone at this time: whether its command ran.
#[track_caller]
fn runs(scene: &Scene, clock: &WallClock, time: &str, zone: &str) -> bool {
    has_run(scene, clock, time, nightly(scene, clock, zone))
}

fn three_zones_do_it_once_a_day(scene: &Scene) {
    let clock = WallClock::new();
    // Whatever the date at each of them.
    for (time, does_it) in [
        ("2026-11-26T03:00:00Z", true),
        ("2026-11-26T16:00:00Z", false),
        ("2026-11-27T00:10:00Z", false),
        ("2026-11-27T03:00:00Z", true),
    ] {
        let ran = ZONES.map(|zone| runs(scene, &clock, time, zone));
        assert_eq!(ran, [does_it, false, false], "{time}");
    }
    let record = scene.elect("run").args(["-e", "nightly", "--once"]);
    for key in ["2026-11-26", "2026-11-27"] {
        was_done_already(record.clone().arg(key).sh(BRIEF).arg(key).run());
    }
}

/// A host that boots at 00:10 does the work that it missed at 03:00. The next time is not missed for that.
fn a_late_run_belongs_to_the_period_that_it_is_late_for(scene: &Scene) {
    let clock = WallClock::new();
    for (time, does_it) in [
        ("2026-11-26T00:10:00Z", true),
        ("2026-11-26T02:49:00Z", false),
        ("2026-11-26T02:59:30Z", true),
        ("2026-11-26T03:00:00Z", false),
    ] {
        assert_eq!(runs(scene, &clock, time, ZONES[0]), does_it, "{time}");
    }
}

/// A run that waits past the end of a period is still late for it, also if it starts over after a loss.
fn the_key_is_taken_at_the_start(scene: &Scene) {
    let clock = WallClock::new();
    clock.set("2026-11-26T02:40:00Z");
    let anew = nightly(scene, &clock, ZONES[1]).args(["--after-loss", "campaign"]);
    let first = anew.sh(STAY).arg("first").spawn();
    scene.awaits("first\n");
    clock.set("2026-11-26T02:45:00Z");
    let second = nightly(scene, &clock, ZONES[2]).sh(STAY).arg("second").spawn();
    scene.awaits_line(1);
    clock.set("2026-11-26T03:10:00Z");
    scene.elect("resign").arg("nightly").run().exits(0);
    scene.awaits("first\nsecond\n");
    scene.awaits_line(1);
    scene.raise("end");
    second.wait().exits(0);
    // It has stepped down, and finds it done.
    first.wait().exits(0);
    assert_eq!(scene.word(), "first\nsecond\n");
    assert!(runs(scene, &clock, "2026-11-26T03:11:00Z", ZONES[0]), "the next period is open");
}

on_every_store! {
    three_zones_do_it_once_a_day
    a_late_run_belongs_to_the_period_that_it_is_late_for
    the_key_is_taken_at_the_start
}

/// Hosts whose clocks differ by seconds, as after a correction, would else run a short job twice.
#[test]
fn crons_that_come_too_early_and_too_late_run_each_quarter_of_an_hour_once() {
    let (scene, clock) = (Scene::new(None), WallClock::new());
    let quarter = || scheduled("15m@13", &scene, &clock, ZONES[0]);
    for (time, does_it) in [
        ("2026-11-26T12:59:58Z", true),
        ("2026-11-26T13:00:03Z", false),
        ("2026-11-26T13:14:57Z", true),
        ("2026-11-26T13:15:01Z", false),
        ("2026-11-26T13:27:59Z", false),
        ("2026-11-26T13:30:00Z", true),
    ] {
        assert_eq!(has_run(&scene, &clock, time, quarter()), does_it, "{time}");
    }
    let done = scene.elect("done").arg("nightly").run().exits(0).stdout;
    let keys = done.lines().filter_map(|line| line.split_whitespace().next());
    let keys: Vec<_> = keys.filter(|key| key.starts_with("2026")).collect();
    assert_eq!(keys, ["2026-11-26T12:58", "2026-11-26T13:13", "2026-11-26T13:28"]);
}

#[test]
fn a_wrong_period_is_refused() {
    let scene = Scene::new(None);
    let run =
        |period: &str| scene.elect("run").args(["--once-per", period, "-e", "job", "true"]).run();
    for period in ["daily", "day@3", "day@02:50 Europe/Berlin", "month@31@02:50"] {
        run(period).exits(125).says("day@02:50+01:00");
    }
    run("week@Sun@02:50-05:30").exits(0).is_silent();
}

#[test]
fn a_period_is_one_key_among_others() {
    let scene = Scene::new(None);
    let run = || scene.elect("run").args(["-e", "job"]);
    let both = run().args(["--once", "a", "--once-per", "day", "true"]).run();
    both.exits(125).says("--once and --once-per exclude each other");
    for divided in ["--slots", "--shards"] {
        let run = run().args([divided, "2", "--once-per", "day", "true"]).run();
        run.exits(125).says(&format!("--once-per and {divided} exclude each other"));
    }
    // The nearer setting counts.
    let nearer = run().env("ELECT_ONCE_PER", "day").args(["--once", "a"]);
    nearer.sh(BRIEF).arg("a").run().exits(0);
    was_done_already(run().args(["--once", "a"]).sh(BRIEF).arg("b").run());
    // It belongs to one run.
    let nested =
        r#"exec "$E" run -b "$B" -e other sh -c 'echo "${ELECT_ONCE_PER-none}" >>$D/word'"#;
    let outer = run().env("ELECT_ONCE_PER", "day").env("E", env!("CARGO_BIN_EXE_elect"));
    outer.env("B", &scene.url).sh(nested).run().exits(0);
    assert_eq!(scene.word(), "a\nnone\n");
    let file = scene.folder.path().join("config.yaml");
    fs::write(&file, "once-per: daily\n").expect("a file");
    run().arg("--config").arg(&file).arg("true").run().exits(125).says("not a period");
}
