//! `elect status --watch`: a picture on a terminal that is up to date, or says how old it is.

use std::path::PathBuf;
use std::process::Command;

use elect_testkit::program::eventually;
use elect_testkit::terminal::Terminal;

use super::arena::{Arena, Ground, crash};
use super::{on_each_cluster, on_each_store};
use crate::terminal::does;

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const CLEAR: &str = "\u{1b}[2J";
const HOME: &str = "\u{1b}[H";

on_each_store! {
    the_picture_follows_the_election
}

mod outage {
    use super::{Arena, Ground, an_old_picture_says_so_and_recovers, on_each_cluster};
    on_each_cluster! { an_old_picture_says_so_and_recovers }
}

/// A terminal with a shell in it, whose elect looks at the arena.
fn shell(arena: &Arena) -> Terminal {
    let mut terminal = crate::terminal::shell(&crate::support::Ground::new());
    does(&mut terminal, &format!("export ELECT_BACKEND='{}'", arena.url()));
    terminal
}

#[track_caller]
fn start(terminal: &mut Terminal, words: &str) {
    terminal.types(&format!("$E status --watch {words}; echo \"status=$?;\"\r"));
    terminal.shows(ENTER);
}

/// Ends it, and returns what was shown until then.
#[track_caller]
fn end(terminal: &mut Terminal, key: &str) -> String {
    terminal.types(key);
    let shown = terminal.shows(LEAVE);
    terminal.shows("status=0;");
    terminal.shows("READY> ");
    shown
}

fn the_picture_follows_the_election(arena: &Arena) {
    let mut terminal = shell(arena);
    let modes = terminal.modes();
    start(&mut terminal, "job");
    terminal.shows("no-leader");
    let one = arena.leader("one", 15);
    terminal.shows("leader   -      one-");
    let two = arena.candidate("two", 15);
    terminal.shows("waiting  1      two-");
    crash(one);
    terminal.shows("leader  -      two-");
    crash(two);
    terminal.shows("no-leader");
    end(&mut terminal, "\x03");
    let all = terminal.all();
    let drawn = &all[all.find(ENTER).unwrap()..all.find(LEAVE).unwrap()];
    assert!(!drawn.contains(CLEAR) && drawn.matches(ENTER).count() == 1, "{drawn:?}");
    assert_eq!(terminal.modes(), modes);
}

fn an_old_picture_says_so_and_recovers(arena: &Arena) {
    let one = arena.leader("one", 5);
    let mut terminal = shell(arena);
    start(&mut terminal, "job");
    terminal.shows("leader  -      one-");
    for _ in 0..2 {
        let silence = arena.silence();
        terminal.shows("NO ANSWER for ");
        terminal.shows("unknown  -      was ");
        // Until there is an answer nobody is said to lead.
        terminal.shows(HOME);
        let later = terminal.shows(HOME);
        assert!(!later.contains("leader ") && later.contains("unknown"), "{later:?}");
        drop(silence);
        eventually("a picture that is new", || {
            let frame = terminal.shows(HOME);
            (!frame.contains("NO ANSWER") && frame.contains("job")).then_some(())
        });
        // Whoever led could not prove it, and leads no more.
        let next = arena.leader("next", 5);
        terminal.shows("leader  -      next-");
        std::mem::forget(next);
    }
    end(&mut terminal, "\x03");
    drop(one);
}

#[test]
fn it_gives_the_terminal_back_and_takes_it_again() {
    let arena = Arena::on(Ground::File);
    let mut terminal = shell(&arena);
    let modes = terminal.modes();
    start(&mut terminal, "job");
    terminal.shows("no-leader");
    assert_ne!(terminal.modes(), modes, "keys are not echoed");
    for _ in 0..2 {
        terminal.types("\x1a");
        terminal.shows(LEAVE);
        terminal.shows("Stopped");
        terminal.shows("READY> ");
        assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
        terminal.types("fg\r");
        terminal.shows(ENTER);
        terminal.shows("no-leader");
    }
    // What was typed meanwhile is not for the shell.
    terminal.types("echo nonsense\r");
    let shown = end(&mut terminal, "\x03");
    assert!(!shown.contains("nonsense"), "{shown:?}");
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
    assert_eq!(terminal.modes(), modes);
    // In the background it leaves the terminal alone until it has it.
    terminal.types("$E status --watch job &\r");
    terminal.shows("READY> ");
    let shown = does(&mut terminal, "sleep 0.3; (exit 9)");
    assert!(shown.ends_with("status=9") && !shown.contains(ENTER), "{shown:?}");
    terminal.types("fg\r");
    terminal.shows(ENTER);
    terminal.types("\x03");
    terminal.shows(LEAVE);
    terminal.shows("READY> ");
}

/// The terminal that a program has.
fn device(terminal: &mut Terminal) -> PathBuf {
    let pid = terminal.session().pid();
    std::fs::read_link(format!("/proc/{pid}/fd/0")).expect("a terminal")
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let arena = Arena::on(Ground::File);
    for number in 0..9 {
        let election = format!("election-{number}");
        arena.elect("run").args(["-e", &election, "true"]).run().exits(0);
    }
    let mut terminal = shell(&arena);
    let device = device(&mut terminal);
    let resize = |rows: &str, columns: &str| {
        let stty = Command::new("stty")
            .arg("-F")
            .arg(&device)
            .args(["rows", rows, "cols", columns])
            .status();
        assert!(stty.expect("stty runs").success());
    };
    start(&mut terminal, "");
    terminal.shows("election-8");
    resize("6", "20");
    // A heading, the store, and three of nine elections.
    terminal.shows("(6 more lines)");
    terminal.shows(HOME);
    let frame = terminal.shows(HOME);
    let lines: Vec<String> = frame
        .split("\r\n")
        .map(|line| line.replace("\u{1b}[K", "").replace("\u{1b}[J", ""))
        .collect();
    assert_eq!(lines.len(), 6, "{frame:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 20), "{lines:?}");
    resize("40", "100");
    terminal.shows("election-8");
    end(&mut terminal, "\x03");
}

#[test]
fn off_a_terminal_it_is_refused_with_a_way_out() {
    let arena = Arena::on(Ground::File);
    let watch = || arena.elect("status").arg("--watch");
    watch().run().exits(125).prints("").says("elect observe");
    watch().args(["-o", "json"]).run().exits(125).prints("").says("exclude each other");
    // What is asked for with a flag beats a variable.
    arena.elect("status").args(["-o", "json"]).env("ELECT_WATCH", "1").run().exits(0);
    let mut terminal = shell(&arena);
    let shown = does(&mut terminal, "TERM=dumb $E status --watch");
    assert!(shown.contains("elect observe") && shown.ends_with("status=125"), "{shown:?}");
}
