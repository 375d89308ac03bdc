//! A filter of system calls refuses what guarding rests on: elect refuses to start, or holds all the same.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt as _;

use elect_testkit::fault::{Filter, Refusal};
use elect_testkit::sim::{Kind, Options, SimServer};

use crate::prelude::*;
use crate::stage::{Stage, send, stop};
use crate::support::run_at;

/// A system call, or one value of one of its arguments.
struct Call {
    name: &'static str,
    number: libc::c_long,
    argument: Option<(u32, u32)>,
}

const fn call(name: &'static str, number: libc::c_long) -> Call {
    Call { name, number, argument: None }
}

const fn with(name: &'static str, number: libc::c_long, place: u32, value: u32) -> Call {
    Call { name, number, argument: Some((place, value)) }
}

/// The system calls of guardian and wrapper from the start of the command on, and before, to prepare for it. Calls that
/// any program makes to be loaded, or to read and write, are left out.
const CALLS: &[Call] = &[
    // None of them calls this: so it is without a filter.
    call("syslog", libc::SYS_syslog),
    with("prctl PR_SET_PDEATHSIG", libc::SYS_prctl, 0, 1),
    with("prctl PR_SET_NAME", libc::SYS_prctl, 0, 15),
    with("prctl PR_SET_CHILD_SUBREAPER", libc::SYS_prctl, 0, 36),
    with("fcntl F_SETFL", libc::SYS_fcntl, 1, 4),
    with("fcntl F_SETOWN", libc::SYS_fcntl, 1, 8),
    with("fcntl F_SETSIG", libc::SYS_fcntl, 1, 10),
    with("fcntl F_DUPFD_CLOEXEC", libc::SYS_fcntl, 1, 1030),
    call("timer_create", libc::SYS_timer_create),
    call("timer_settime", libc::SYS_timer_settime),
    call("timer_delete", libc::SYS_timer_delete),
    call("timerfd_create", libc::SYS_timerfd_create),
    call("timerfd_settime", libc::SYS_timerfd_settime),
    call("signalfd4", libc::SYS_signalfd4),
    call("setpgid", libc::SYS_setpgid),
    call("getpgid", libc::SYS_getpgid),
    call("kill", libc::SYS_kill),
    call("pidfd_open", libc::SYS_pidfd_open),
    call("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    call("waitid", libc::SYS_waitid),
    call("wait4", libc::SYS_wait4),
    call("getdents64", libc::SYS_getdents64),
    call("readlink", libc::SYS_readlink),
    call("clone3", libc::SYS_clone3),
    call("execveat", libc::SYS_execveat),
    call("close_range", libc::SYS_close_range),
    call("dup2", libc::SYS_dup2),
    call("pipe2", libc::SYS_pipe2),
    call("socketpair", libc::SYS_socketpair),
    call("sendmsg", libc::SYS_sendmsg),
    call("recvmsg", libc::SYS_recvmsg),
    call("memfd_create", libc::SYS_memfd_create),
    call("poll", libc::SYS_poll),
    call("epoll_create1", libc::SYS_epoll_create1),
    call("rt_sigaction", libc::SYS_rt_sigaction),
    call("rt_sigprocmask", libc::SYS_rt_sigprocmask),
    call("sched_getattr", libc::SYS_sched_getattr),
    call("sched_setattr", libc::SYS_sched_setattr),
    call("capget", libc::SYS_capget),
    call("unshare", libc::SYS_unshare),
];

pub(crate) const REFUSALS: [(&str, Refusal); 3] = [
    ("EPERM", Refusal::Error(libc::EPERM)),
    ("ENOSYS", Refusal::Error(libc::ENOSYS)),
    ("kill", Refusal::Kill),
];

/// The event that strikes elect under a filter, if it starts a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    WrapperKilled,
    GuardianKilled,
    /// With a lease that ends by time.
    WrapperStopped,
}

pub(crate) const STRIKES: [Strike; 3] =
    [Strike::WrapperKilled, Strike::GuardianKilled, Strike::WrapperStopped];

/// What came of it, in a few words.
///
/// # Panics
/// When the promise was broken, or nothing came of it.
fn survive(filter: &Filter, strike: Strike) -> String {
    let stage = Stage::new();
    let options = Options::new(Kind::Queue);
    let server = (strike == Strike::WrapperStopped).then(|| SimServer::start(&options));
    let run = |id: &str| match &server {
        Some(server) => run_at(&server.url(), id),
        None => stage.ground.run(),
    };
    let tree = stage.stamper("A").children(1).daemons(1).sessions(1).deaf();
    let leader = run("A").args(["-v", "--stop-timeout", "50ms", "--"]).args(tree.command());
    let mut a = leader.under(filter.words()).spawn();
    let runs = eventually("a command, or a refusal", || {
        let is_complete = stage.oracle.newest("A").is_some_and(|run| run.is_complete());
        (is_complete || !a.is_running()).then_some(is_complete)
    });
    if !runs {
        return refused(&stage.oracle, a);
    }
    let b = run("B").arg("--").args(stage.brief("B").command()).spawn();
    match strike {
        Strike::WrapperKilled => a.signal(Signal::SIGKILL),
        // It may have no name under this filter.
        Strike::GuardianKilled => {
            let guardian = elect_testkit::program::children(a.pid());
            send(*guardian.first().expect("a guardian"), Signal::SIGKILL);
        }
        Strike::WrapperStopped => stop(a.pid()),
    }
    b.wait().exits(0);
    stage.oracle.assert_sound();
    let run = stage.oracle.newest("A").expect("A ran");
    assert!(!run.is_alive(), "{run} lives on");
    let said = a.ended_by(Signal::SIGCONT).stderr;
    let containment = said.lines().find_map(|line| line.split("containment ").nth(1));
    let containment = containment.and_then(|words| words.split([',', ' ', ')', ';']).next());
    match containment {
        None | Some("scan") => "holds".to_owned(),
        Some(other) => format!("holds, with `{other}`"),
    }
}

/// Nothing of the command ran.
fn refused(oracle: &Oracle, a: Running) -> String {
    let ended = a.wait();
    assert!(oracle.newest("A").is_none(), "something of the command ran: {ended:?}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    let own = std::env::current_exe().expect("the test's own executable");
    let words =
        last.trim_start_matches("elect: error: ").replace(&*own.to_string_lossy(), "COMMAND");
    if let Some(signal) = ended.status.signal() {
        return format!("does not start (signal {signal})");
    }
    assert!(!words.is_empty(), "refused without a word: {ended:?}");
    // The last is for a call of the command's process before it becomes the command.
    assert!(matches!(ended.code(), 125 | 126 | 159), "{ended:?}");
    let words = words.trim_end_matches(" (election job)");
    let words = words.trim_start_matches("cannot start the guardian: ");
    let words = words.split(" (os error").next().unwrap_or_default();
    format!("does not start: {}", words.replace('|', "/"))
}

/// Tries all calls with these refusals and strikes, some at once; a table of what came of it.
///
/// # Panics
/// When the promise was broken by any of them, with all of those.
pub(crate) fn table(refusals: &[(&str, Refusal)], strikes: &[Strike]) -> String {
    let cases = CALLS.iter().flat_map(|call| refusals.iter().map(move |refusal| (call, refusal)));
    let cases: Vec<_> = cases.collect();
    let (jobs, rows) = (Mutex::new(cases.iter().enumerate()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().expect("no one panics with it").next();
                    let Some((index, (call, (name, refusal)))) = job else { break };
                    let Call { number, argument, .. } = **call;
                    let filter = Filter { call: number, argument, refusal: *refusal };
                    let mut row = format!("| `{}` | {name} |", call.name);
                    let mut is_broken = false;
                    for &strike in strikes {
                        let outcome = std::panic::catch_unwind(|| survive(&filter, strike));
                        is_broken |= outcome.is_err();
                        let outcome = outcome.unwrap_or_else(|_| "**broken**".to_owned());
                        let _ = write!(row, " {outcome} |");
                    }
                    rows.lock().expect("no one panics with it").push((index, row, is_broken));
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no one panicked with it");
    rows.sort();
    let broken: Vec<_> =
        rows.iter().filter(|(.., is_broken)| *is_broken).map(|(_, row, _)| row).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let is_held = |row: &str| row.matches("| holds ").count() == strikes.len();
    let unfiltered = rows.iter().take(refusals.len());
    assert!(unfiltered.clone().all(|(_, row, _)| is_held(row)), "without a filter: {rows:#?}");
    rows.into_iter().map(|(_, row, _)| row + "\n").collect()
}

#[test]
fn no_call_is_refused_unseen() {
    let table = table(&REFUSALS, &STRIKES[..2]);
    println!("{table}");
    assert!(table.contains("holds") && table.contains("does not start: cannot set a timer"));
}
