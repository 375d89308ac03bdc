//! Health commands that do what they are not to do.

use std::fs;

use elect_testkit::program::{Running, children, eventually, line_of, name};
use nix::sys::signal::Signal;

use super::application::{Pods, wait_for_the_end_of};

/// Ignores TERM, leaves a process in another session, and hangs.
const HANGING: &str = "sh -c 'trap \"\" TERM; \
                       setsid sh -c \"trap \\\"\\\" TERM; echo \\$\\$ >$D/escaped; exec sleep 3600\" & \
                       echo $$ >$D/hanging; sleep 3600; sleep 3600'";

fn number(pods: &Pods, file: &str) -> i32 {
    line_of(&pods.path().join(file)).trim_end().parse().expect("a number")
}

#[test]
fn one_that_hangs_has_failed_and_leaves_nothing_behind() {
    let pods = Pods::on_disk();
    let elect = pods.sidecar("one").env("D", pods.path());
    let one = elect.args(["--health-timeout", "300ms", "--health-cmd", HANGING]).spawn();
    for _ in 0..2 {
        let (hanging, escaped) = (number(&pods, "hanging"), number(&pods, "escaped"));
        wait_for_the_end_of(hanging);
        wait_for_the_end_of(escaped);
        for file in ["hanging", "escaped"] {
            let _ = fs::remove_file(pods.path().join(file));
        }
    }
    pods.check("one").exits(1).prints("not leading\n");
    one.ended_by(Signal::SIGTERM).exits(0).says("sh did not end within 300ms");
}

#[test]
fn one_that_hangs_is_in_no_renewals_way() {
    let pods = Pods::with_leases("8s");
    // Hangs from its second run on, and never long enough to fail often enough.
    let script = "sh -c 'test -e $D/ran || { : >$D/ran; exit; }; echo >>$D/hung; sleep 3600'";
    let elect = pods.sidecar("one").env("D", pods.path());
    let flags = ["--health-timeout", "4s", "--health-threshold", "1000", "--health-cmd", script];
    let one = elect.args(flags).spawn();
    pods.wait_until_leads("one");
    let hung = || fs::read_to_string(pods.path().join("hung")).unwrap_or_default().lines().count();
    // Longer than the lease, as each of these takes half of it.
    eventually("four that hang", || {
        assert_eq!(pods.check("one").code(), 0);
        (hung() >= 4).then_some(())
    });
    let said = one.ended_by(Signal::SIGTERM).exits(0).stderr;
    assert!(!said.contains("lost"), "{said}");
}

#[test]
fn nothing_of_it_outlives_a_killed_sidecar() {
    let pods = Pods::on_disk();
    let elect = pods.sidecar("one").env("D", pods.path());
    let mut one = elect.args(["--health-timeout", "1h", "--health-cmd", HANGING]).spawn();
    let (hanging, escaped) = (number(&pods, "hanging"), number(&pods, "escaped"));
    one.signal(Signal::SIGKILL);
    wait_for_the_end_of(hanging);
    wait_for_the_end_of(escaped);
}

#[test]
fn nothing_of_it_outlives_a_sidecar_that_is_told_to_end() {
    let pods = Pods::on_disk();
    let elect = pods.sidecar("one").env("D", pods.path());
    let one = elect.args(["--health-timeout", "1h", "--health-cmd", HANGING]).spawn();
    let (hanging, escaped) = (number(&pods, "hanging"), number(&pods, "escaped"));
    one.ended_by(Signal::SIGTERM).exits(0);
    wait_for_the_end_of(hanging);
    wait_for_the_end_of(escaped);
}

#[test]
fn each_run_is_cleaned_up_after() {
    let pods = Pods::on_disk();
    let script = "sh -c 'echo >>$D/ran; sleep 3600 & exit 0'";
    let mut one = pods.sidecar("one").env("D", pods.path()).args(["--health-cmd", script]).spawn();
    pods.wait_until_leads("one");
    let ran = || fs::read_to_string(pods.path().join("ran")).unwrap_or_default().lines().count();
    let held = |one: &mut Running| {
        let maps = fs::read_to_string(format!("/proc/{}/maps", one.pid())).expect("it runs");
        maps.lines().filter(|line| line.contains("elect-lease")).count()
    };
    let before = ran();
    while ran() < before + 20 {
        assert!(held(&mut one) <= 2, "pages of guardians are left");
        let sleeping = children(one.pid()).into_iter().flat_map(children);
        let count = sleeping.filter(|&pid| name(pid).as_deref() == Some("sleep")).count();
        assert!(count <= 1, "{count} are left");
    }
    one.ended_by(Signal::SIGTERM).exits(0);
}

#[test]
fn it_finds_nothing_that_would_have_it_take_part() {
    let pods = Pods::on_disk();
    let script = "sh -c 'env | grep ^ELECT_ >$D/found; test -t 0; echo $? >$D/stdin'";
    let elect = pods.sidecar("one").env("D", pods.path()).env("ELECT_USER", "me");
    let one = elect
        .env("ELECT_LEASE_FILE", "/x")
        .env("ELECT_ID", "x")
        .args(["--health-cmd", script])
        .spawn();
    assert_eq!(line_of(&pods.path().join("stdin")), "1\n");
    let found = fs::read_to_string(pods.path().join("found")).expect("a file");
    let names: Vec<&str> = found.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"ELECT_USER"), "{names:?}");
    for ours in ["ELECT_ID", "ELECT_ELECTION", "ELECT_LEASE_FILE", "ELECT_LEASE"] {
        assert!(!names.contains(&ours), "{ours}");
    }
    drop(one);
}

#[test]
fn a_health_command_that_cannot_be_executed_is_reported() {
    let pods = Pods::on_disk();
    let log = pods.path().join("log");
    let elect = pods.sidecar("one").args(["--health-cmd", "/dev/null"]);
    let file = fs::File::create(&log).expect("a file");
    let one = Running::new(elect.command().stderr(file).spawn().expect("started"));
    eventually("the reason", || {
        let said = fs::read_to_string(&log).ok()?;
        said.contains("/dev/null cannot be executed: Permission denied").then_some(())
    });
    pods.check("one").exits(1).prints("not leading\n");
    drop(one);
}
