//! A command that forks faster than anybody can look: a limit on processes bounds it, nothing else.

use std::os::unix::fs::MetadataExt;

use elect_testkit::oracle::fork_bomb;
use elect_testkit::program::{children, link_or_copy, name};

use crate::prelude::*;
use crate::stage::send;
use crate::usage::other_user;

/// By itself it would end this late.
const LASTING: Duration = Duration::from_secs(40);

/// Starts a bomb, does something to wrapper or guardian, and expects the whole tree to be gone by the
/// time that elect ends, long before it is gone by itself.
#[track_caller]
fn is_gone_after(act: impl Fn(i32, i32), exit_codes: &[i32]) {
    let mut user = other_user();
    // The limit counts all that a user has, and other tests have some.
    user.id += 5_000_000;
    let folder = TempDir::new().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(user.id), Some(user.id)).unwrap();
    // The user may not read where it was built.
    let program = folder.path().join("bomb");
    let own = std::env::current_exe().unwrap();
    link_or_copy(&own, &program);
    let marker = folder.path().join("survived");
    let url = format!("file://{}", folder.path().join("state").display());
    let run: Elect = user.elect().args(["run", "--stop-timeout", "0s", "-e", "job", "-b", &url]);
    let run = run.arg("--").args(fork_bomb(&program, LASTING, &marker));
    let mut elect = run.under(["prlimit", "--nproc=150"]).spawn();
    let processes = || {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        all.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user.id)).count()
    };
    eventually("a tree as large as may be", || (processes() > 120).then_some(()));
    let wrapper = elect.pid();
    let guardian =
        children(wrapper).into_iter().find(|&pid| name(pid).as_deref() == Some("elect-guardian"));
    act(wrapper, guardian.expect("a guardian"));
    let code = elect.wait().code();
    assert!(exit_codes.contains(&code), "exit code {code}");
    eventually("the end of the tree", || (processes() == 0).then_some(()));
    assert!(!marker.exists(), "no process could kill them before their own end");
}

/// One after the other, as each takes all of the machine that it gets.
#[test]
fn a_bounded_fork_bomb_is_killed() {
    println!("TERM to elect");
    // The KILL follows at once: it may come before the command has taken notice of TERM.
    is_gone_after(|wrapper, _| send(wrapper, Signal::SIGTERM), &[128 + 15, 128 + 9]);
    println!("KILL to the wrapper");
    is_gone_after(|wrapper, _| send(wrapper, Signal::SIGKILL), &[128 + 9]);
    println!("KILL to the guardian");
    is_gone_after(|_, guardian| send(guardian, Signal::SIGKILL), &[125]);
}
