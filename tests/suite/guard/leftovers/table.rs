//! Each tree against each end of its command: what lives how long. The manual has the table.

use std::fmt::Write as _;

use elect_testkit::program::{is_alive, line_of};

use crate::cli::see::{Arena, Ground};
use crate::prelude::*;
use crate::support::installed;

/// The tree when its command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tree {
    Nothing,
    Reader,
    Child,
    Deaf,
    Daemon,
    Forking,
}

impl Tree {
    const ALL: [Self; 6] =
        [Self::Nothing, Self::Reader, Self::Child, Self::Deaf, Self::Daemon, Self::Forking];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Reader => "a reader of its output (`exec > >(tee log)`)",
            Self::Child => "a background child",
            Self::Deaf => "a child that is deaf to TERM",
            Self::Daemon => "a daemon in a session of its own",
            Self::Forking => "a child that is deaf, and forks on",
        }
    }

    /// Returns the script of the tree, for bash. A process that ends by itself, or as asked, writes its fate to a file.
    const fn script(self) -> &'static str {
        match self {
            Self::Nothing => ": >\"$D/up\"",
            Self::Reader => "exec > >(: >\"$D/up\"; cat; echo ended >\"$D/fate\")",
            Self::Child => {
                "(trap 'echo asked >\"$D/fate\"; exit' TERM; : >\"$D/up\"; \
                 until [ -e \"$D/end\" ]; do sleep 0.02; done; echo ended >\"$D/fate\") &"
            }
            Self::Deaf => {
                "(trap '' TERM; : >\"$D/up\"; until [ -e \"$D/end\" ]; do sleep 0.02; done; \
                 echo ended >\"$D/fate\") &"
            }
            Self::Daemon => {
                "setsid bash -c 'trap \"echo asked >\\\"$D/fate\\\"; exit\" TERM; : >\"$D/up\"; \
                 until [ -e \"$D/end\" ]; do sleep 0.02; done; echo ended >\"$D/fate\"' &"
            }
            Self::Forking => {
                "on() { trap '' TERM; : >\"$D/up\"; sleep 0.02; \
                 if [ -e \"$D/end\" ]; then echo ended >\"$D/fate\"; else (on) & fi; }; on &"
            }
        }
    }
}

/// The way in which the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    ByItself,
    Awaited,
    Term,
    Resign,
    MaxRun,
    Lost,
}

impl Ending {
    const ALL: [Self; 6] =
        [Self::ByItself, Self::Awaited, Self::Term, Self::Resign, Self::MaxRun, Self::Lost];

    const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::ByItself => &["--leftover-grace", "2s", "-k", "3s"],
            Self::Awaited => &["--leftover", "wait"],
            Self::Term | Self::Resign => &["--stop-timeout", "3s"],
            Self::MaxRun => &["--max-run", "3s", "--stop-timeout", "3s"],
            Self::Lost => &["--ttl", "9s", "-k", "3s"],
        }
    }

    const fn exit_code(self) -> i32 {
        match self {
            Self::ByItself | Self::Awaited => 0,
            Self::Term | Self::MaxRun => 128 + 15,
            Self::Resign | Self::Lost => 124,
        }
    }

    const fn is_by_itself(self) -> bool {
        matches!(self, Self::ByItself | Self::Awaited)
    }
}

/// The fate of the processes that the command leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    None,
    /// It ends by itself: as it has nothing to read any more, or as elect waits for that.
    Ends,
    /// It ends by the signal that the command got.
    DiesOfIt,
    /// It is asked to end, and does.
    Asked,
    Killed,
}

const fn fate(tree: Tree, how: Ending) -> Fate {
    match (tree, how) {
        (Tree::Nothing, _) => Fate::None,
        (_, Ending::Awaited) | (Tree::Reader, Ending::ByItself) => Fate::Ends,
        (Tree::Reader, _) => Fate::DiesOfIt,
        (Tree::Child | Tree::Daemon, _) => Fate::Asked,
        (Tree::Deaf | Tree::Forking, _) => Fate::Killed,
    }
}

/// Returns the manual's table, from the cells below. All causes for which a command is told to end share one column.
fn table() -> String {
    let mut table = String::from(
        "| what the command leaves | it ended by itself | by itself, with `--leftover wait` | it was told to stop | the lease is lost |\n\
         |---|---|---|---|---|\n",
    );
    for tree in Tree::ALL {
        let told = [Ending::Term, Ending::Resign, Ending::MaxRun].map(|how| fate(tree, how));
        assert!(told.iter().all(|fate| *fate == told[0]), "one column does not do for {tree:?}");
        let _ = write!(table, "| {} |", tree.name());
        for how in [Ending::ByItself, Ending::Awaited, Ending::Term, Ending::Lost] {
            let said = match (fate(tree, how), how) {
                (Fate::None, _) => "–",
                (Fate::Ends, Ending::Awaited) => "awaited",
                (Fate::Ends, _) => "ends by itself",
                (Fate::DiesOfIt, _) => "gets the command's signal",
                (Fate::Asked, Ending::ByItself) => "TERM after `--leftover-grace`",
                (Fate::Asked, _) if matches!(tree, Tree::Daemon) => {
                    "the same signal, after the command"
                }
                (Fate::Asked, _) => "the same signal",
                (Fate::Killed, Ending::ByItself) => "TERM, then KILL after `-k`",
                (Fate::Killed, Ending::Lost) => "KILL after `-k`",
                (Fate::Killed, _) => "KILL after `--stop-timeout`",
            };
            let _ = write!(table, " {said} |");
        }
        table.push('\n');
    }
    table
}

/// The second table of the manual: of a command that has no traps, and without `--once`.
fn ends() -> String {
    let mut table = String::from(
        "| how it ended | exit code | elect prints, off a terminal |\n|---|---|---|\n",
    );
    for how in Ending::ALL.into_iter().filter(|how| *how != Ending::Awaited) {
        let (name, says) = match how {
            Ending::ByItself => ("by itself", "what it asked to end, and what it killed"),
            Ending::Term => ("TERM to elect", "what it killed"),
            Ending::Resign => ("`elect resign`", "who asked for it, and what it killed"),
            Ending::MaxRun => ("`--max-run`", "that the time is over, and what it killed"),
            Ending::Lost => ("the lease is lost", "why"),
            Ending::Awaited => unreachable!("it is the first"),
        };
        let code = match how.exit_code() {
            0 => "the command's own".to_owned(),
            143 => "the command's own: 143".to_owned(),
            code => code.to_string(),
        };
        let _ = writeln!(table, "| {name} | {code} | {says} |");
    }
    table
}

#[test]
fn the_manual_has_the_tables_that_hold() {
    let manual = crate::cli::manual::page("containment");
    for table in [table(), ends()] {
        assert!(manual.contains(&table), "its table has to be:\n{table}");
    }
}

struct Cell<'a> {
    arena: &'a Arena,
    tree: Tree,
    how: Ending,
    tier: &'static str,
    folder: PathBuf,
}

impl<'a> Cell<'a> {
    fn new(arena: &'a Arena, tree: Tree, how: Ending) -> Self {
        let folder = arena.path(&format!("{tree:?}-{how:?}"));
        fs::create_dir(&folder).expect("a folder");
        Self { arena, tree, how, tier: "scan", folder }
    }

    fn election(&self) -> String {
        format!("{:?}-{:?}", self.tree, self.how)
    }

    fn lead(&self) -> Running {
        let end = if self.how.is_by_itself() { "exit 0" } else { "while :; do sleep 0.02; done" };
        let up = "until [ -e \"$D/up\" ]; do sleep 0.02; done";
        let tree = self.tree.script().trim_end_matches('&');
        let background = if self.tree.script().ends_with('&') { "&" } else { ";" };
        let script = format!("{tree} {background} {up}; echo $$ >\"$D/main\"; {end}");
        let bash = installed(&["bash"], "bash");
        let run = self.arena.elect("run").args(["-e", &self.election()]).args(self.how.flags());
        let run = run.args(["--containment", self.tier]);
        let run = run.env("D", &self.folder).args(["--", bash, "-c", &script]).spawn();
        line_of(&self.folder.join("main"));
        run
    }

    /// Ends the command. The process that asks for that waits meanwhile, if there is one.
    fn end(&self, run: &mut Running) -> Option<Running> {
        let main: i32 = line_of(&self.folder.join("main")).trim().parse().expect("a number");
        match self.how {
            Ending::ByItself | Ending::MaxRun | Ending::Lost => {}
            Ending::Awaited => {
                eventually("the end of the command", || (!is_alive(main)).then_some(()));
                if !matches!(self.tree, Tree::Nothing | Tree::Reader) {
                    assert!(run.is_running(), "{self:?} is not awaited");
                }
                fs::write(self.folder.join("end"), "").expect("a flag");
            }
            Ending::Term => run.signal(Signal::SIGTERM),
            Ending::Resign => {
                return Some(self.arena.elect("resign").arg(self.election()).spawn());
            }
        }
        None
    }

    fn has_ended_as_said(&self, ended: Ended) {
        let ended = ended.exits(self.how.exit_code());
        let told = fs::read_to_string(self.folder.join("fate")).unwrap_or_default();
        let fate = fate(self.tree, self.how);
        let expected = match fate {
            Fate::None | Fate::DiesOfIt | Fate::Killed => "",
            Fate::Ends => "ended\n",
            Fate::Asked => "asked\n",
        };
        assert_eq!(told, expected, "{self:?}: {ended:?}");
        // A lost lease says so, and has no time for names.
        let names_killed = fate == Fate::Killed && self.how != Ending::Lost;
        assert_eq!(ended.stderr.contains("killed "), names_killed, "{self:?}: {ended:?}");
        let names_asked =
            matches!(fate, Fate::Asked | Fate::Killed) && self.how == Ending::ByItself;
        assert_eq!(ended.stderr.contains("--leftover wait"), names_asked, "{self:?}: {ended:?}");
    }
}

impl std::fmt::Debug for Cell<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.tree, self.how)
    }
}

#[test]
fn each_tree_ends_as_the_table_says() {
    for how in Ending::ALL.into_iter().filter(|how| *how != Ending::Lost) {
        end_as_said(how, "scan");
    }
}

/// There the signals go through a namespace, and its first process is none of the tree.
#[test]
fn in_a_pid_namespace_too() {
    for how in [Ending::ByItself, Ending::Term] {
        end_as_said(how, "pidns");
    }
}

/// A single look may miss a process that ends, and the child that it has just started.
#[test]
fn a_tree_that_forks_without_a_rest_is_named() {
    const ROUNDS: usize = 10;
    const ON: &str = "trap '' TERM; echo >>\"$D/up\"; sh \"$D/on\" &";
    for tier in ["scan", "pidns"] {
        for _ in 0..ROUNDS {
            let ground = crate::support::Ground::new();
            fs::write(ground.path().join("on"), ON).expect("a file");
            let flags = ["--stop-timeout", "100ms", "--containment", tier];
            let run = ground.job().args(flags).sh("sh \"$D/on\"; exec sleep 3600").spawn();
            let generations = || fs::metadata(ground.path().join("up")).map_or(0, |up| up.len());
            eventually("a tree", || (generations() >= 20).then_some(()));
            run.ended_by(Signal::SIGTERM).exits(128 + 15).says("killed sh (process ");
        }
    }
}

fn end_as_said(how: Ending, tier: &'static str) {
    let arena = Arena::on(Ground::File);
    let cells = Tree::ALL.map(|tree| Cell { tier, ..Cell::new(&arena, tree, how) });
    let mut runs = cells.each_ref().map(Cell::lead);
    let asked: Vec<_> = cells.iter().zip(&mut runs).map(|(cell, run)| cell.end(run)).collect();
    for (cell, run) in cells.iter().zip(runs) {
        cell.has_ended_as_said(run.wait());
    }
    for asked in asked.into_iter().flatten() {
        asked.wait().exits(0);
    }
}

/// One silence of the store ends all of them.
#[test]
fn each_tree_of_a_lost_lease_ends_as_the_table_says() {
    let arena = Arena::alone(Ground::Etcd);
    let cells = Tree::ALL.map(|tree| Cell::new(&arena, tree, Ending::Lost));
    let runs = cells.each_ref().map(Cell::lead);
    let silence = arena.silence();
    let mains = cells.each_ref().map(|cell| line_of(&cell.folder.join("main")));
    eventually("the ends of all commands", || {
        let lives = |main: &String| is_alive(main.trim().parse().expect("a number"));
        (!mains.iter().any(lives)).then_some(())
    });
    drop(silence);
    for (cell, run) in cells.iter().zip(runs) {
        cell.has_ended_as_said(run.wait());
    }
}
