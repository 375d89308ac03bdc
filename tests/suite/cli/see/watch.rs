//! `elect status --watch`: a picture on a terminal that is up to date, or says how old it is.

use elect_testkit::terminal::Terminal;

use super::arena::{Arena, Ground, crash};
use super::{on_each_cluster, on_each_store};
use crate::guard::terminal::does;
use crate::prelude::*;

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const CLEAR: &str = "\u{1b}[2J";
pub(super) const HOME: &str = "\u{1b}[H";

on_each_store! {
    the_picture_follows_the_election
}

mod outage {
    use super::{
        Arena, Ground, a_single_look_says_that_there_is_no_answer,
        an_old_picture_says_so_and_recovers, on_each_cluster,
    };
    on_each_cluster! {
        alone: an_old_picture_says_so_and_recovers
        a_single_look_says_that_there_is_no_answer
    }
}

/// A terminal with a shell in it, whose elect looks at the arena.
pub(super) fn shell(arena: &Arena) -> Terminal {
    let mut terminal = crate::guard::terminal::shell(&crate::support::Ground::new());
    does(&mut terminal, &format!("export ELECT_BACKEND='{}'", arena.url()));
    terminal
}

#[track_caller]
pub(super) fn start(terminal: &mut Terminal, words: &str) {
    start_line(terminal, &format!("$E status -w {words}"));
}

/// Types a line that has it look on.
#[track_caller]
pub(super) fn start_line(terminal: &mut Terminal, line: &str) {
    terminal.types(&format!("{line}\r")).shows(ENTER);
}

/// Has it end, and returns what was shown until then.
#[track_caller]
pub(super) fn end(terminal: &mut Terminal) -> String {
    terminal.types("\x03");
    let shown = terminal.until(LEAVE);
    terminal.shows("READY> ");
    assert!(does(terminal, "(exit $?)").ends_with("status=0"));
    shown
}

/// Waits for a picture with a line that has these words: role, place, and what the id begins with.
#[track_caller]
fn sees(terminal: &mut Terminal, role: &str, place: &str, id: &str) {
    eventually(&format!("{role} {id}"), || {
        let picture = terminal.until(HOME);
        let is_it = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() > 3 && (words[1], words[2]) == (role, place) && words[3].starts_with(id)
        };
        picture.lines().any(is_it).then_some(())
    });
}

fn the_picture_follows_the_election(arena: &Arena) {
    let mut terminal = shell(arena);
    let modes = terminal.modes();
    start(&mut terminal, "job");
    sees(&mut terminal, "no-leader", "-", "-");
    let one = arena.leader("one", 15);
    sees(&mut terminal, "leader", "-", "one-");
    let two = arena.candidate("two", 15);
    sees(&mut terminal, "waiting", "1", "two-");
    crash(one);
    sees(&mut terminal, "leader", "-", "two-");
    // It says so once its command runs.
    eventually("two in the history", || {
        arena.elect("history").arg("job").run().stdout.contains("two-").then_some(())
    });
    crash(two);
    terminal.shows("  last: two, ");
    end(&mut terminal);
    let all = terminal.all();
    let drawn = &all[all.find(ENTER).unwrap()..all.find(LEAVE).unwrap()];
    assert!(!drawn.contains(CLEAR) && drawn.matches(ENTER).count() == 1, "{drawn:?}");
    assert_eq!(terminal.modes(), modes);
}

fn an_old_picture_says_so_and_recovers(arena: &Arena) {
    let one = arena.leader("one", 15);
    let mut terminal = shell(arena);
    start(&mut terminal, "job");
    sees(&mut terminal, "leader", "-", "one-");
    let silence = arena.silence();
    terminal.shows("NO ANSWER for ").shows("  last seen leading: one-");
    // Until there is an answer, no candidate is shown as leader.
    terminal.shows(HOME);
    let later = terminal.until(HOME);
    assert!(!later.contains(" leader ") && later.contains(" unknown "), "{later:?}");
    // A shorter silence would be one that a leader may outlast.
    one.wait().exits(124);
    drop(silence);
    eventually("a picture that is new", || {
        let picture = terminal.until(HOME);
        (!picture.contains("NO ANSWER") && picture.contains("job")).then_some(())
    });
    let _two = arena.leader("two", 15);
    sees(&mut terminal, "leader", "-", "two-");
    end(&mut terminal);
}

/// Status does not name the leader that the store last told of, a TTL ago and more.
fn a_single_look_says_that_there_is_no_answer(arena: &Arena) {
    let one = arena.leader("one", 10);
    let silence = arena.silence();
    one.wait().exits(124);
    let look = |form| arena.elect("status").args(["-o", form, "job"]).spawn();
    for look in ["table", "json", "yaml"].map(look) {
        look.wait().exits(125).prints("").says(&arena.address().port().to_string());
    }
    drop(silence);
    eventually("an answer", || {
        let ended = arena.elect("status").arg("job").run();
        if arena.ends_leases() {
            return ended.stdout.contains("no-leader").then(|| ended.exits(1));
        }
        // A leader that gave up without an answer stays listed until another leads. One look cannot tell that it is
        // dead.
        ended.stdout.contains("  one-").then(|| ended.exits(2))
    });
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
        terminal.types("\x1a").shows(LEAVE).shows("Stopped").shows("READY> ");
        assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
        terminal.types("fg\r").shows(ENTER).shows("no-leader");
    }
    // The shell does not get the text that was typed meanwhile.
    terminal.types("echo nonsense\r");
    let shown = end(&mut terminal);
    assert!(!shown.contains("nonsense"), "{shown:?}");
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
    assert_eq!(terminal.modes(), modes);
    // In the background it leaves the terminal alone until it has it.
    terminal.types("$E status --watch job &\r").shows("READY> ");
    let shown = does(&mut terminal, "sleep 0.3; (exit 9)");
    assert!(shown.ends_with("status=9") && !shown.contains(ENTER), "{shown:?}");
    terminal.types("fg\r").shows(ENTER);
    end(&mut terminal);
}

/// The terminal that a program has.
fn device(terminal: &mut Terminal) -> PathBuf {
    let pid = terminal.session().pid();
    fs::read_link(format!("/proc/{pid}/fd/0")).expect("a terminal")
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
    terminal.shows("(6 more lines)").shows(HOME);
    let frame = terminal.until(HOME);
    let lines: Vec<String> = frame
        .split("\r\n")
        .map(|line| line.replace("\u{1b}[K", "").replace("\u{1b}[J", "").replace('\r', ""))
        .collect();
    assert_eq!(lines.len(), 6, "{frame:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 20), "{lines:?}");
    resize("40", "100");
    terminal.shows("election-8");
    end(&mut terminal);
}

#[test]
fn off_a_terminal_it_is_refused_with_a_way_out() {
    let arena = Arena::on(Ground::File);
    let watch = || arena.elect("status").arg("--watch");
    arena.elect("status").arg("-w").run().exits(125).prints("").says("elect observe");
    watch().run().exits(125).prints("").says("elect observe");
    watch().args(["-o", "json"]).run().exits(125).prints("").says("exclude each other");
    // A flag beats a variable.
    arena.elect("status").args(["-o", "json"]).env("ELECT_WATCH", "1").run().exits(0);
    let mut terminal = shell(&arena);
    let shown = does(&mut terminal, "TERM=dumb $E status --watch");
    assert!(shown.contains("elect observe") && shown.ends_with("status=125"), "{shown:?}");
}
