//! The command has ended, and the lease is still held.

use elect_testkit::program::{children, is_alive};

use crate::prelude::*;
use crate::stage::send;

#[test]
fn leftovers_of_the_command_are_stopped_when_the_lease_is_lost() {
    let ground = Ground::new();
    let script =
        "sleep 3600 >/dev/null 2>&1 & echo $! >\"$D/left\"; echo $$ >\"$D/started\"; exit 3";
    let elect = ground.job().args(["--leftover", "wait", "-k", "1s"]).sh(script).spawn();
    let left = ground.said("left").parse().unwrap();
    let command = ground.said("started");
    let reaped = || (!Path::new("/proc").join(&command).exists()).then_some(());
    eventually("the end of the command", reaped);
    for entry in ground.queue() {
        fs::remove_file(entry).unwrap();
    }
    elect.wait().exits(3);
    assert!(!is_alive(left), "the leftover is dead before elect exits");
    ground.job().args(["-n"]).sh("echo ran").run().exits(0).prints("ran\n");
}

/// As on kernels that are older than that system call.
#[test]
fn the_lease_is_held_where_descriptors_cannot_be_closed_by_range() {
    let ground = Ground::new();
    let inject = "inject=close_range:error=ENOSYS";
    let strace =
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=close_range", "-e", inject];
    let held = ground.job().args(["-v", "--hold", "1h"]).sh("exit 3").under(strace);
    let mut command = held.command();
    let log = ground.path().join("log");
    command.stdin(Stdio::null()).stderr(fs::File::create(&log).unwrap());
    let mut tracer = Running::new(command.spawn().unwrap());
    eventually("word of the holding", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        assert!(tracer.is_running(), "the lease is not held: {text}");
        text.contains("keeping the lease").then_some(())
    });
    ground.job().args(["-n", "true"]).run().exits(75);
    let wrapper = children(tracer.pid())[0];
    send(wrapper, Signal::SIGTERM);
    tracer.wait().exits(3);
}
