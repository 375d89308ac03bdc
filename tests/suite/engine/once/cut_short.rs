//! A run that a signal or a user has cut short is not done, at any exit code of its command; on every store.

use elect_testkit::program::{Elect, Running, eventually};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{BRIEF, Scene, on_every_store};

/// Leaves word, and exits with 0 when it is told to end.
const AGREEABLE: &str = r#"trap 'exit 0' TERM INT HUP QUIT; echo "$0" >>$D/word;
    while :; do sleep 0.01; done"#;
/// Exits with 0 at once, and leaves a part of its work running, which is deaf to HUP only.
const HALF: &str = r#"(trap '' HUP; echo "$0" >>$D/word; exec sleep 3600) >/dev/null 2>&1 &
    until [ -s $D/word ]; do sleep 0.01; done"#;

const AWAITED: [&str; 2] = ["--leftover", "wait"];

/// The key is open: the next run does it, and only the one after that finds it done.
fn is_open(scene: &Scene) {
    let known = scene.key("today");
    assert_eq!(known["done"], false, "a run that was cut short counts as done");
    assert!(known["id"].is_string(), "the run is not told of: {known}");
    scene.once("today").sh(BRIEF).arg("next").run().exits(0);
    assert!(scene.word().ends_with("next\n"), "nothing ran: {}", scene.word());
    let known = scene.key("today");
    assert_eq!(
        (&known["done"], &known["failed"].as_array().map(Vec::len)),
        (&true.into(), &Some(1))
    );
}

fn a_command_that_a_signal_ends_with_0_is_not_done(scene: &Scene) {
    for (signal, code) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGINT, 130),
        (Signal::SIGHUP, 129),
        (Signal::SIGQUIT, 131),
    ] {
        for restart in [&[][..], &["--restart", "on-failure"]] {
            let key = format!("{signal} {restart:?}");
            let run = scene.once(&key).args(restart).sh(AGREEABLE).arg("a");
            let run = run.under(["env", "--default-signal"]).spawn();
            scene.awaits("a\n");
            run.ended_by(signal).exits(code);
            scene.once(&key).sh(BRIEF).arg("b").run().exits(0);
            assert_eq!(scene.word(), "a\nb\n", "{key} was not open");
            std::fs::remove_file(scene.folder.path().join("word")).expect("a word");
        }
    }
}

/// As a service manager, or a shell, tells all at once.
fn a_signal_to_all_processes_is_one_to_elect(scene: &Scene) {
    let run = scene.once("today").sh(AGREEABLE).arg("a").under(["setsid"]);
    let mut run = run.spawn();
    scene.awaits("a\n");
    let group = Pid::from_raw(run.pid());
    killpg(group, Signal::SIGTERM).expect("its group");
    run.wait().exits(143);
    is_open(scene);
}

/// A run whose command is over, and what it has left is not.
fn half(scene: &Scene, flags: [&str; 2]) -> Running {
    let mut run = scene.once("today").args(flags).sh(HALF).arg("a").spawn();
    scene.awaits("a\n");
    let guardian = run.guardian();
    eventually("the end of the command", || {
        let children = elect_testkit::program::children(guardian);
        let names = children.into_iter().filter_map(elect_testkit::program::name);
        (names.collect::<Vec<_>>() == ["sleep"]).then_some(())
    });
    run
}

fn a_part_that_is_cut_short_is_not_done(scene: &Scene) {
    let run = half(scene, AWAITED);
    run.ended_by(Signal::SIGTERM).exits(143);
    is_open(scene);
}

fn a_part_that_is_handed_over_is_not_done(scene: &Scene) {
    let run = half(scene, AWAITED);
    scene.elect("resign").arg("nightly").run().exits(0);
    run.wait().exits(124).says("giving leadership up");
    is_open(scene);
}

fn a_part_that_is_paused_is_not_done(scene: &Scene) {
    let run = half(scene, AWAITED);
    scene.elect("pause").arg("nightly").run().exits(0);
    run.wait().exits(124);
    scene.elect("resume").arg("nightly").run().exits(0);
    is_open(scene);
}

on_every_store! {
    a_command_that_a_signal_ends_with_0_is_not_done
    a_signal_to_all_processes_is_one_to_elect
    a_part_that_is_cut_short_is_not_done
    a_part_that_is_handed_over_is_not_done
    a_part_that_is_paused_is_not_done
}

/// The processes that remain to be killed are no part of the work: their end changes nothing.
#[test]
fn a_command_that_has_ended_before_the_signal_is_done() {
    let scene = Scene::new(None);
    let lease = scene.folder.path().join("lease");
    let flags = ["--leftover-grace=1h", &format!("--lease-file={}", lease.display())];
    let run = half(&scene, flags);
    // So elect has heard of the end, too.
    eventually("the end of the lease that the command had", || {
        let check = Elect::new(env!("CARGO_BIN_EXE_elect")).args(["check", "--lease-file"]);
        (check.arg(&lease).run().code() == 1).then_some(())
    });
    run.ended_by(Signal::SIGTERM).exits(0);
    assert_eq!(scene.key("today")["done"], true);
}
