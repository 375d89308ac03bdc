//! Long runs: a line shows how far they are, and a signal ends them with what is known.

use std::os::unix::process::ExitStatusExt;

use super::{list, number, report, simulate};
use crate::guard::terminal::{does, shell};
use crate::prelude::*;

#[test]
fn a_signal_ends_it_and_results_so_far_are_printed() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut running = simulate("what-if --runs 1000000 -o json").spawn();
        // It works: several threads at once.
        let tasks = format!("/proc/{}/task", running.pid());
        eventually("threads that play", || {
            let threads = fs::read_dir(&tasks).ok()?.count();
            (threads > 2).then_some(())
        });
        let ended = running.ended_by(signal);
        let code = ended.status.code().or_else(|| ended.status.signal().map(|signal| 128 + signal));
        assert_eq!(code, Some(128 + signal as i32));
        let report = report(&ended);
        assert!(number(&report["runs"]) < 1_000_000.0 && !list(&report["leaders"]).is_empty());
    }
}

/// Returns the output of a simulation that was ended as it played.
fn ended_as_it_plays(words: &str) -> Ended {
    let mut running = simulate(words).spawn();
    let tasks = format!("/proc/{}/task", running.pid());
    eventually("a thread that plays", || {
        let threads = fs::read_dir(&tasks).ok()?.count();
        (threads > 1).then_some(())
    });
    running.ended_by(Signal::SIGTERM).exits(143)
}

/// A run of an hour with a hundred candidates takes long here, and ends where it is. It does not warn of events that it
/// has not reached: a fault, or a first leader. Neither exists in either case if the signal is early enough.
#[test]
fn a_signal_ends_a_single_run_too() {
    for trip in ["20ms", "5s"] {
        let ended = ended_as_it_plays(&format!(
            "what-if --runs 1 --candidates 100 --ttl 4s --for 1h --rtt {trip} --kill leader@59m -o json"
        ));
        assert_eq!(ended.stderr, "", "{trip}");
        let report = report(&ended);
        assert_eq!((&report["runs"], &report["ended_early"]), (&0.into(), &true.into()), "{trip}");
    }
}

#[test]
fn an_election_without_a_run_is_not_compared() {
    let words = "compare --runs 1 --candidates 100 --ttl 4s --kill leader@59m";
    let report = report(&ended_as_it_plays(&format!("{words} -o json")));
    assert_eq!((&report["runs"], &report["ended_early"]), (&0.into(), &true.into()));
    assert!(list(&report["elections"]).is_empty(), "{report}");
    let text = ended_as_it_plays(words).stdout;
    assert!(text.contains("before any election had a run") && !text.contains("ELECTION"), "{text}");
}

#[test]
fn a_line_shows_how_far_it_is_and_ctrl_c_ends_it() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    for (call, known) in [
        ("what-if", "In "),
        ("compare", "elect beside other elections"),
        ("ttl --rtt 80ms", "Store: etcd with 3 members"),
    ] {
        terminal.types(&format!("$E simulate {call} --runs 1000000\r")).shows(" of ");
        terminal.shows(" runs").types("\u{3}");
        let shown = terminal.until("READY> ");
        assert!(shown.contains(known) && shown.contains("Seed 1."), "{call}: {shown}");
        assert!(does(&mut terminal, "(exit $?)").contains("status=130"), "{call}");
    }
}
