//! A command that is not well.

use elect_testkit::program::is_alive;

use crate::prelude::*;
use crate::usage::STAY;

const DEAF: &str = "trap '' TERM; echo $$ >\"$D/started\"; while :; do sleep 0.01; done";

#[test]
fn its_leader_hands_over_in_good_order_and_says_why() {
    let ground = Ground::new();
    let script =
        "trap 'echo obeyed; exit 3' TERM; echo >\"$D/started\"; while :; do sleep 0.01; done";
    let one = ground.looking(&ground.unless("ill")).sh(script).spawn();
    ground.said("started");
    let two = ground.job().sh("echo two").spawn();
    ground.awaits(1);
    fs::write(ground.path().join("ill"), "").unwrap();
    one.wait()
        .exits(124)
        .prints("obeyed\n")
        .says("the command is not well: test exited with code 1");
    two.wait().exits(0).prints("two\n");
    let history = ground.elect("history").arg("job").run().exits(0).stdout;
    assert!(history.contains("stepped down: the command is not well"), "{history}");
}

#[test]
fn it_is_killed_after_its_grace() {
    let ground = Ground::new();
    let flags = ["-k", "200ms"];
    let elect = ground.looking(&ground.unless("started")).args(flags).sh(DEAF).spawn();
    let command = ground.said("started").parse().unwrap();
    elect.wait().exits(124);
    assert!(!is_alive(command));
}

#[test]
fn a_check_that_hangs_has_failed() {
    let ground = Ground::new();
    let hanging = "sh -c 'trap \"\" TERM; echo $$ >>$D/checks; sleep 3600; sleep 3600'";
    let elect = ground.looking(hanging).args(["-v", "--health-timeout", "200ms"]).sh(STAY);
    let ended = elect.run().exits(124);
    let failures = ended.stderr.matches("did not pass: sh did not end within 200ms").count();
    assert_eq!(failures, 2, "as many as the threshold: {}", ended.stderr);
    // Some checks may have ended before they wrote their line.
    let checks = fs::read_to_string(ground.path().join("checks")).unwrap_or_default();
    let checks: Vec<i32> = checks.lines().map(|pid| pid.parse().unwrap()).collect();
    assert!(checks.into_iter().all(|pid| !is_alive(pid)));
}

#[test]
fn some_failures_are_none() {
    let ground = Ground::new();
    // Every second one fails.
    let script = "sh -c 'echo >>$D/checks; exit $(($(wc -l <$D/checks) % 2))'";
    let elect = ground.looking(script).sh(STAY).spawn();
    eventually("many checks", || {
        let checks = fs::read_to_string(ground.path().join("checks")).unwrap_or_default();
        (checks.lines().count() > 12).then_some(())
    });
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
}

#[test]
fn a_candidate_that_campaigns_after_a_loss_takes_part_again() {
    let ground = Ground::new();
    let script = "echo $ELECT_TOKEN >>\"$D/tokens\"; exec sleep 3600";
    let elect = ground.looking(&ground.unless("ill")).args(["--after-loss", "campaign"]);
    let elect = elect.sh(script).spawn();
    let tokens = |count| {
        eventually(&format!("{count} leaderships"), || {
            let text = fs::read_to_string(ground.path().join("tokens")).unwrap_or_default();
            (text.lines().count() == count).then_some(())
        });
    };
    tokens(1);
    fs::write(ground.path().join("ill"), "").unwrap();
    tokens(2);
    fs::remove_file(ground.path().join("ill")).unwrap();
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
}

#[test]
fn each_start_of_it_has_all_of_the_threshold() {
    let ground = Ground::new();
    // It fails its one check, and is gone before the next.
    let script = "echo >>\"$D/starts\"; n=$(wc -l <\"$D/starts\"); [ $n -ge 4 ] && exit 0; \
                  while ! [ -e \"$D/check$n\" ]; do sleep 0.01; done; exit 1";
    let check = "sh -c 'echo >$D/check$(wc -l <$D/starts); exit 1'";
    let flags =
        ["--restart", "on-failure", "--restart-delay", "20ms", "--restart-max-delay", "20ms"];
    let often = ["--health-interval", "300ms", "--health-threshold", "2", "--health-cmd", check];
    let ended = ground.job().args(often).args(flags).sh(script).run();
    // On a machine that is very slow the second check may come in time.
    assert!([0, 124].contains(&ended.code()), "{ended:?}");
    if ended.code() == 0 {
        assert!(!ended.stderr.contains("not well"), "{ended:?}");
    }
}

#[test]
fn a_candidate_that_campaigns_repeatedly_waits_longer_each_time() {
    let ground = Ground::new();
    let flags = ["--after-loss", "campaign", "--restart-delay", "100ms"];
    let script = "echo >>\"$D/starts\"; exec sleep 3600";
    let elect = ground.looking("false").args(flags).sh(script).spawn();
    eventually("four leaderships", || {
        let starts = fs::read_to_string(ground.path().join("starts")).unwrap_or_default();
        (starts.lines().count() >= 4).then_some(())
    });
    let mut ended = elect.ended_by(Signal::SIGTERM);
    for pause in ["100ms", "200ms", "400ms"] {
        ended = ended.says(&format!("health check failed; campaigning again in {pause}"));
    }
    assert!([124, 128 + 15].contains(&ended.code()), "{ended:?}");
}

#[test]
fn a_candidate_waiting_to_campaign_again_is_ended_by_a_signal() {
    let ground = Ground::new();
    let flags = ["--after-loss", "campaign", "--restart-delay", "1h"];
    let to_file = ["sh", "-c", "exec \"$@\" 2>\"$D/said\"", "sh"];
    let elect = ground.looking("false").args(flags).sh(STAY).under(to_file).spawn();
    eventually("the pause", || {
        let said = fs::read_to_string(ground.path().join("said")).unwrap_or_default();
        said.contains("campaigning again in 1h").then_some(())
    });
    // Others lead meanwhile.
    ground.job().arg("true").run().exits(0);
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
}
