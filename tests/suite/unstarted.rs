//! A guardian that dies just before it is to start the command.

use std::fs;

use elect_testkit::program::{children, eventually, name};
use nix::sys::signal::Signal;

use crate::stage::send;
use crate::support::Ground;

#[test]
fn a_guardian_killed_before_the_start_is_no_fault_of_the_command() {
    let ground = Ground::new();
    let log = ground.path().join("log");
    let log_path = log.to_str().unwrap().to_owned();
    // The new token is written to disk just before the command is started.
    let trace = ["strace", "-f", "-o", &log_path, "-e", "trace=fdatasync"];
    let stop = ["-e", "inject=fdatasync:signal=STOP"];
    let elect = ground.job().sh("echo ran").under(trace).under(stop);
    let mut tracer = elect.spawn();
    eventually("elect to be stopped", || {
        fs::read_to_string(&log).ok()?.contains("stopped by SIGSTOP").then_some(())
    });
    let wrapper = children(tracer.pid())[0];
    let guardian = eventually("a guardian", || {
        children(wrapper).into_iter().find(|&pid| name(pid).as_deref() == Some("elect-guardian"))
    });
    send(guardian, Signal::SIGKILL);
    eventually("the guardian's end", || {
        (!elect_testkit::program::is_alive(guardian)).then_some(())
    });
    send(wrapper, Signal::SIGCONT);
    tracer.wait().exits(125).prints("");
}
