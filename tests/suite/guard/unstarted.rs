//! Death before the command is started: the guardian's, or elect's own.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Child;

use elect_testkit::program::{children, name};

use crate::prelude::*;
use crate::stage::send;

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

/// It is told to start the command, and how the lease is renewed, and reads of neither.
#[cfg(feature = "sim")]
#[test]
fn a_guardian_that_stands_still_for_longer_than_a_lease_starts_nothing_and_that_is_said() {
    use crate::stage::stop;
    use crate::support::run_at;
    use elect_testkit::sim::{Effect, Kind, Op, Options, Rule, SimServer};
    let server = SimServer::start(&Options::new(Kind::Queue));
    let one = run_at(&server.url(), "one").args(["sleep", "3600"]).spawn();
    let leads = |id: &str| {
        let leader = server.controls().leader(&"job".parse().expect("a good name"))?;
        leader.candidate.starts_with(id).then_some(())
    };
    eventually("the first to lead", || leads("one-"));
    let mut two = run_at(&server.url(), "two").args(["echo", "ran"]).spawn();
    let guardian = two.guardian();
    stop(guardian);
    let slow = Rule::new(Effect::DelayReply(Duration::from_millis(1)));
    let renewals = server.controls().add(slow.op(Op::Renew).client("two-"));
    one.ended_by(Signal::SIGTERM);
    eventually("the second to lead", || leads("two-"));
    // Six of them are as long as a lease.
    let before = server.controls().hits(renewals);
    eventually("renewals", || (server.controls().hits(renewals) > before + 7).then_some(()));
    send(guardian, Signal::SIGCONT);
    let ended = two.wait().exits(124).prints("");
    ended
        .says("leadership is lost")
        .says("it was not started in time, as its guardian stood still");
}

/// Echoes what it is told, in a process group that others may join.
fn bystander() -> Child {
    let mut cat = Command::new("cat");
    cat.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn().expect("cat")
}

#[test]
fn elect_killed_during_its_kernel_check_takes_no_process_along() {
    let ground = Ground::new();
    let log = ground.path().join("log");
    let log = log.to_str().unwrap();
    let strace = ["strace", "-qq", "-e", "trace=fcntl", "-o"];
    ground.job().arg("true").under(strace.into_iter().chain([log])).run().exits(0);
    let calls = fs::read_to_string(log).unwrap();
    let mut aimed = 0;
    for (index, _) in calls.lines().enumerate().filter(|(_, call)| call.contains("F_SETOWN")) {
        aimed += 1;
        // At the next one, counted from 1.
        let inject = format!("inject=fcntl:signal=KILL:when={}", index + 2);
        let inject = strace.into_iter().chain(["/dev/null", "-e", &inject]);
        let mut command = ground.job().arg("true").under(inject).command();
        let mut other = bystander();
        let killed = command.process_group(other.id().cast_signed()).status().unwrap();
        assert!(!killed.success(), "it was killed");
        // A bystander that was killed, too, could not answer.
        let mut echo = [0; 2];
        other.stdin.take().unwrap().write_all(b"!\n").unwrap();
        other.stdout.take().unwrap().read_exact(&mut echo).expect("an echo");
        other.wait().unwrap();
    }
    assert!(aimed > 2, "{calls}");
}
