//! Each containment against each kind of escaper, at the death of any process: some processes are killed, and some live
//! on. The manual has the table.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

use elect_testkit::oracle::{Flag, Run};
use elect_testkit::program::{children, is_alive, state};
use elect_testkit::sim::{Effect, Kind, Op, Options, Rule, SimServer};

use super::{Runner, children_by_name};
use crate::prelude::*;
use crate::stage::{send, send_if_alive, stop};
use crate::support::installed;

const TIERS: [&str; 4] = ["group", "scan", "cgroup", "pidns"];

/// A process that a command starts, which must be killed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escaper {
    Child,
    Stopped,
    Group,
    Session,
    Daemon,
    Closed,
    /// For an ordinary user.
    Root,
}

impl Escaper {
    const ALL: [Self; 7] = [
        Self::Child,
        Self::Stopped,
        Self::Group,
        Self::Session,
        Self::Daemon,
        Self::Closed,
        Self::Root,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Child => "a child",
            Self::Stopped => "a child that is stopped, and deaf to HUP and TERM",
            Self::Group => "a child in a process group of its own",
            Self::Session => "a child in a session of its own (`setsid`)",
            Self::Daemon => "a daemon (`setsid` and a double fork)",
            Self::Closed => "a daemon that closed all descriptors",
            Self::Root => "a set-uid program that made itself root (`sudo`), elect not being root",
        }
    }

    /// The command that starts it, and ends when the flag is raised; the escaper does not.
    fn tree(self, stamper: Stamper, end: &Flag) -> Stamper {
        if self == Self::Root {
            return stamper;
        }
        let stamper = stamper.until(end).leaving();
        match self {
            Self::Child => stamper.children(1),
            Self::Stopped => stamper.children(1).others_stopped().deaf(),
            Self::Group => stamper.groups(1),
            Self::Session => stamper.sessions(1),
            Self::Daemon => stamper.daemons(1),
            Self::Closed => stamper.daemons(1).closing_descriptors(),
            Self::Root => unreachable!("it is no child of a stamper"),
        }
    }
}

/// The event that strikes the command, or the processes that watch over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The command ends by itself.
    End,
    KillWrapper,
    KillGuardian,
    /// Both are killed before either can act; they and the init of a pid namespace were stopped.
    KillBoth,
    /// They are stopped, and the lease runs out.
    StopBoth,
}

impl Act {
    const ALL: [Self; 5] =
        [Self::End, Self::KillWrapper, Self::KillGuardian, Self::KillBoth, Self::StopBoth];
}

/// Returns true if this containment has the escaper dead in time.
fn is_held(tier: &str, escaper: Escaper, act: Act) -> bool {
    let is_in_group = matches!(escaper, Escaper::Child | Escaper::Stopped);
    let no_process_acts = matches!(act, Act::KillBoth | Act::StopBoth);
    match (tier, escaper) {
        ("pidns", _) => true,
        ("scan", Escaper::Root) => false,
        ("scan" | "cgroup", _) => is_in_group || !no_process_acts,
        _ => is_in_group && act != Act::End,
    }
}

/// The table of the manual, as the cells below have it.
fn table() -> String {
    let mut table =
        String::from("| what the command starts | `group` | `scan` | `cgroup` | `pidns` |\n");
    table.push_str("|---|---|---|---|---|\n");
    for escaper in Escaper::ALL {
        let _ = write!(table, "| {} |", escaper.name());
        for tier in TIERS {
            let lives: Vec<Act> =
                Act::ALL.into_iter().filter(|&act| !is_held(tier, escaper, act)).collect();
            let said = match lives[..] {
                [] => "killed",
                [Act::End] => "killed, unless the command ends first",
                [Act::KillBoth, Act::StopBoth] => "killed, unless elect and its guardian both fail",
                _ if lives == Act::ALL => "not killed",
                _ => panic!("no words for {lives:?}"),
            };
            let _ = write!(table, " {said} |");
        }
        table.push('\n');
    }
    table
}

#[test]
fn the_manual_has_the_table_that_holds() {
    let manual = crate::cli::manual::page("containment");
    assert!(manual.contains(&table()), "its table has to be:\n{}", table());
}

/// The parts of a run that live as long as it.
struct Cell {
    tier: &'static str,
    escaper: Escaper,
    act: Act,
    runner: Runner,
    oracle: Oracle,
}

impl Cell {
    fn command(&self, stamper: &Stamper, end: &Path) -> Vec<OsString> {
        let command = self.runner.command_of(stamper);
        if self.escaper != Escaper::Root {
            return command;
        }
        let setpriv = installed(&["setpriv"], "util-linux");
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let setpriv = std::env::split_paths(&folders).map(|folder| folder.join(setpriv));
        let copy =
            self.runner.copy_of(&setpriv.into_iter().find(|path| path.exists()).unwrap(), "sudo");
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
        // If set-uid programs have no effect, it runs as it is.
        let script = "{ \"$0\" --reuid 0 --regid 0 --clear-groups -- \"$@\" || \"$@\"; } 2>/dev/null & \
                      until [ -e \"$END\" ]; do sleep 0.01; done";
        let mut words: Vec<OsString> = vec!["env".into()];
        let mut variable = OsString::from("END=");
        variable.push(end);
        words.push(variable);
        words.extend(["sh", "-c", script].map(OsString::from));
        words.push(copy.into());
        words.extend(command);
        words
    }

    fn is_as_said(&self, server: Option<&Server>) {
        let end = self.oracle.flag("end");
        let stamper = self.escaper.tree(self.oracle.stamper("A"), &end);
        let url = server.map_or_else(|| self.runner.url(), Server::url);
        let run = self.runner.elect().args(["run", "-e", "job", "-b", &url]);
        let hasty: &[_] =
            if self.act == Act::End { &["--leftover-grace", "0s", "-k", "100ms"] } else { &[] };
        let run = run.args(["--containment", self.tier]).args(hasty);
        let mut a = run.arg("--").args(self.command(&stamper, end.path())).spawn();
        self.oracle.wait_for_run("A");
        self.act(&mut a, &end, server);
        if is_held(self.tier, self.escaper, self.act) {
            let run = self.oracle.wait_for_end("A");
            if let Some(server) = server {
                server.assert_before_the_end(&run);
            }
        } else {
            if self.escaper == Escaper::Stopped {
                let others = self.oracle.wait_for_run("A").others();
                for other in others {
                    send(other.pid, Signal::SIGCONT);
                }
            }
            let run = self.oracle.wait_for_stamps("A", Duration::from_millis(300));
            assert!(run.is_alive(), "it was killed: {run}");
            if self.escaper == Escaper::Root && self.act == Act::End && self.tier == "scan" {
                run.processes
                    .iter()
                    .for_each(|process| send_if_alive(process.pid, Signal::SIGKILL));
                a.wait().exits(0).says("cannot signal process ");
            }
        }
        // Whatever lives of it is in the cgroup, and dies with that.
    }

    fn act(&self, a: &mut Running, end: &Flag, server: Option<&Server>) {
        let (wrapper, guardian) = (a.pid(), a.guardian());
        let (init, command) = children_by_name(guardian);
        if self.escaper == Escaper::Stopped {
            let escaper = children(command[0])[0];
            eventually("a stopped child", || (state(escaper) == Some('T')).then_some(()));
        }
        let watchers: Vec<i32> = [wrapper, guardian].into_iter().chain(init).collect();
        match self.act {
            Act::End => end.raise(),
            Act::KillWrapper => send(wrapper, Signal::SIGKILL),
            Act::KillGuardian => send(guardian, Signal::SIGKILL),
            Act::KillBoth => {
                watchers.into_iter().for_each(stop);
                send(guardian, Signal::SIGKILL);
                send_if_alive(wrapper, Signal::SIGKILL);
            }
            Act::StopBoth => {
                server.expect("leases that end").lose_renewals();
                watchers.into_iter().for_each(stop);
                eventually("the guardian's end", || (!is_alive(guardian)).then_some(()));
            }
        }
    }
}

/// A store whose leases end by time.
struct Server(SimServer);

impl Server {
    fn start() -> Self {
        let server = SimServer::start(&Options::new(Kind::Queue));
        server.open_to_all();
        Self(server)
    }

    fn url(&self) -> String {
        self.0.url()
    }

    fn lose_renewals(&self) {
        self.0.controls().add(Rule::new(Effect::LoseRequest).op(Op::Renew));
    }

    fn assert_before_the_end(&self, run: &Run) {
        let end = self.0.controls().history()[0].lease_end;
        assert!(run.last < end, "{run} outlived its lease, which ended at {end:?}");
    }
}

/// Looks at all cells of this act, so many beside each other.
fn all_are_as_said(act: Act, beside: usize) {
    let cells = [Runner::root as fn() -> Runner, Runner::ordinary].into_iter().flat_map(|runner| {
        let (can_have_pidns, is_ordinary) = (runner().can_have("pidns"), runner().user.is_some());
        let all = TIERS.into_iter().flat_map(|tier| Escaper::ALL.map(|escaper| (tier, escaper)));
        all.filter(move |&(tier, escaper)| {
            (tier != "pidns" || can_have_pidns) && (escaper != Escaper::Root || is_ordinary)
        })
        .map(move |(tier, escaper)| (tier, escaper, runner))
    });
    let cells = Mutex::new(cells);
    let look = || {
        loop {
            let next = cells.lock().expect("no thread panics with it").next();
            let Some((tier, escaper, runner)) = next else { return };
            let oracle = Oracle::new();
            oracle.open_to_all();
            let cell = Cell { tier, escaper, act, runner: runner(), oracle };
            println!("{tier}: {}, {act:?}, root: {}", escaper.name(), cell.runner.user.is_none());
            let server = (act == Act::StopBoth).then(Server::start);
            cell.is_as_said(server.as_ref());
        }
    };
    thread::scope(|scope| {
        for name in 0..beside {
            let thread = thread::Builder::new().name(format!("{act:?} {name}"));
            thread.spawn_scoped(scope, look).expect("a thread");
        }
    });
}

#[test]
fn leftovers_of_a_command_are_killed_as_the_table_says() {
    all_are_as_said(Act::End, 6);
}

#[test]
fn after_the_wrappers_death_all_is_as_the_table_says() {
    all_are_as_said(Act::KillWrapper, 6);
}

#[test]
fn after_the_guardians_death_all_is_as_the_table_says() {
    all_are_as_said(Act::KillGuardian, 6);
}

#[test]
fn after_the_death_of_both_all_is_as_the_table_says() {
    all_are_as_said(Act::KillBoth, 6);
}

#[test]
#[cfg_attr(
    not(feature = "sim"),
    ignore = "the program of this build knows no simulated store: --features sim"
)]
fn at_the_deadline_of_both_while_stopped_all_is_as_the_table_says() {
    // Each waits until its lease is over. It has the default length, whose margin a machine that others load
    // does not use up.
    all_are_as_said(Act::StopBoth, 26);
}
