//! A `/proc` that does not say who our children are: an empty one, and one of another pid namespace,
//! whose numbers are strangers' here.

use elect_testkit::program::is_alive;

use crate::prelude::*;
use crate::stage::{Stage, send};

const EMPTY_PROC: &str = "mount -t tmpfs none /proc && exec \"$@\"";
const FULL_PROC: &str = "mount -t proc proc /proc && exec \"$@\"";

/// `elect run` of a stamper, with an empty `/proc`. The stamper itself needs one that works.
fn without_proc(stage: &Stage, stamper: &Stamper) -> Elect {
    let run = stage.ground.run().arg("-v").arg("--");
    let run = run.args(["unshare", "-m", "sh", "-c", FULL_PROC, "sh"]).args(stamper.command());
    run.under(["unshare", "-m", "sh", "-c", EMPTY_PROC, "sh"])
}

/// In a pid namespace of its own, with the `/proc` of the one around it.
const NAMESPACE: [&str; 3] = ["unshare", "-pf", "--kill-child"];

#[test]
fn a_process_not_found_after_the_guardians_death_is_waited_for() {
    let stage = Stage::new();
    let end = stage.oracle.flag("end");
    let stamper = stage.stamper("A").daemons(1).closing_descriptors().until(&end);
    let mut a = without_proc(&stage, &stamper).spawn();
    let run = stage.oracle.wait_for_run("A");
    let b = stage.wait_in_line(&stage.brief("B"), 0);
    send(a.guardian(), Signal::SIGKILL);
    eventually("the end of the command", || (!is_alive(run.main().pid)).then_some(()));
    let run = stage.oracle.wait_for_stamps("A", Duration::from_millis(100));
    assert!(run.is_alive() && stage.oracle.newest("B").is_none(), "B started beside {run}");
    assert!(a.is_running(), "elect did not wait for {run}");
    end.raise();
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"]);
    a.wait().exits(125).says("containment group");
}

#[test]
fn under_a_foreign_proc_a_daemon_is_waited_for() {
    let stage = Stage::new();
    let (end, gone) = (stage.oracle.flag("end"), stage.oracle.flag("gone"));
    let script = "\"$@\" & until [ -e \"$END\" ]; do sleep 0.01; done; exit 7";
    let stamper = stage.stamper("A").daemons(1).closing_descriptors().until(&gone);
    let run = stage.ground.run().arg("-v").env("END", end.path());
    let run = run.args(["--", "sh", "-c", script, "sh"]);
    let a = run.args(stamper.command()).under(NAMESPACE).spawn();
    stage.oracle.wait_for_run("A");
    let b = stage.wait_in_line(&stage.brief("B"), 0);
    assert_eq!(stage.ground.status()["leader"]["containment"], "group");
    end.raise();
    stage.oracle.wait_for_stamps("A", Duration::from_millis(60));
    assert!(stage.oracle.newest("B").is_none(), "B started beside A");
    gone.raise();
    a.wait().exits(7).says("containment group");
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"]);
}

/// By the inner numbers, the inner elect's lease would be the lease of the outer one, which leads on.
#[test]
fn under_a_foreign_proc_the_lease_that_is_checked_is_the_own_one() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    // A process that closes the outer one's descriptors gets the same numbers for its own.
    let close = "for fd in /proc/$$/fd/*; do fd=${fd##*/}; ((fd > 2)) && exec {fd}>&-; done; \
                 export OUTER=$ELECT_LEASE; exec \"$@\"";
    let look = "[ \"$ELECT_LEASE\" -ef \"$OUTER\" ] && echo the outer one; exec \"$E\" check";
    for tier in ["group", "cgroup", "pidns"] {
        let run = ground.elect("run").args(["-e", "outer", "--", "bash", "-c", close, "bash"]);
        let run = run.args(NAMESPACE).arg(ELECT);
        let run = run.args(["run", "-b", &url, "-e", "inner", "--containment", tier]).sh(look);
        let run = run.env("E", ELECT);
        let container = ["unshare", "-pf", "--mount-proc", "--kill-child"];
        run.under(container).run().exits(0).prints("leading, no time limit\n");
    }
}

/// The list of children would have the outer number of the daemon, which belongs to another process here.
#[test]
fn under_a_foreign_proc_no_other_process_is_killed() {
    // Another process may take just the number that is wanted: then the test tries again.
    for _ in 0..10 {
        let ended = beside_a_foreign_process();
        if ended.code() != MISSED {
            ended.exits(7);
            return;
        }
    }
    panic!("no other process got the daemon's number");
}

const MISSED: i32 = 99;

/// Runs elect beside a process that has, in elect's pid namespace, the number that its daemon has in
/// the outer one. Ends with its exit code, if that process lives.
fn beside_a_foreign_process() -> Ended {
    let ground = Ground::new();
    // Words go through pipes, as a process that looks for files again and again uses up numbers.
    let daemon =
        "read number rest </proc/self/stat; echo $number >\"$D/daemon\"; read x <\"$D/gone\"";
    fs::write(ground.path().join("daemon.sh"), daemon).unwrap();
    let command = "echo $$ >\"$D/command\"; setsid sh \"$D/daemon.sh\" >/dev/null 2>&1 & \
                   read x <\"$D/end\"; exit 7";
    let around = "mkfifo \"$D/daemon\" \"$D/gone\" \"$D/end\"; number=0; \
                  \"$@\" & elect=$!; read daemon <\"$D/daemon\"; \
                  while [ $number -lt $daemon ]; do sleep 3600 & number=$!; done; \
                  [ $number -eq $daemon ] || exit 99; \
                  read command <\"$D/command\"; echo >\"$D/end\"; \
                  while kill -0 $command 2>/dev/null; do sleep 0.01; done; \
                  sleep 0.1; echo >\"$D/gone\"; wait $elect; code=$?; \
                  kill -0 $number && exit $code";
    // So that the outer numbers are ahead of the inner ones.
    let outer = "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done; \"$@\"";
    let mut prefix =
        vec!["unshare", "-pf", "--mount-proc", "--kill-child", "sh", "-c", outer, "sh"];
    prefix.extend(NAMESPACE);
    prefix.extend(["bash", "-c", around, "bash"]);
    ground.job().sh(command).under(prefix).run()
}

/// Nothing is left that could give up the entry of an elect that crashes; it ends by itself.
#[cfg(feature = "sim")]
#[test]
fn leases_that_end_by_time_need_no_proc() {
    use elect_testkit::sim::{Kind, Options, SimServer};
    let server = SimServer::start(&Options::new(Kind::Queue));
    let run = crate::support::run_at(&server.url(), "one").args(["echo", "hi"]);
    run.under(["unshare", "-m", "sh", "-c", EMPTY_PROC, "sh"]).run().exits(0).prints("hi\n");
}
