//! Flags that mean something only together with another one, and numbers that are none.

use elect_testkit::program::Elect;

use crate::support::Ground;

#[test]
fn a_part_without_the_whole_is_refused_on_the_command_line() {
    let ground = Ground::new();
    let refused = |flags: &[&str], with: &str| {
        let ended = ground.run().args(flags).arg("true").run().exits(125);
        ended.says(&format!("{} requires {with}", flags[0]));
    };
    refused(&["--restart-delay", "2s"], "--restart");
    refused(&["--restart-max-delay", "2s", "--restart", "never"], "--restart");
    refused(&["--hook-timeout", "2s"], "--on-elected, --on-lost or --on-change");
    let health = ["--health-interval", "--health-timeout", "--health-threshold"];
    for flag in health {
        refused(&[flag, "2"], "--health-cmd or --health-http");
        let sidecar = ground.elect("sidecar").args(["-e", "web", flag, "2"]);
        sidecar.run().exits(125).says("requires --health-cmd or --health-http");
    }
}

#[test]
fn elsewhere_it_may_be_there_for_other_commands() {
    let ground = Ground::new();
    let variables = |run: Elect| {
        run.env("ELECT_RESTART_DELAY", "2s")
            .env("ELECT_RESTART_MAX_DELAY", "1s")
            .env("ELECT_HOOK_TIMEOUT", "2s")
            .env("ELECT_HEALTH_THRESHOLD", "2")
    };
    variables(ground.run()).arg("true").run().exits(0).is_quiet();
    let config = ground.path().join("config.yaml");
    std::fs::write(&config, "hook-timeout: 2s\nhealth-interval: 1s\nrestart-delay: 1s\n").unwrap();
    let run = ground.run().arg("--config").arg(&config);
    run.arg("true").run().exits(0).is_quiet();
    // The whole may come from anywhere.
    std::fs::write(&config, "restart: on-failure\n").unwrap();
    let run = ground.run().arg("--config").arg(&config).args(["--restart-delay", "1s", "true"]);
    run.run().exits(0).is_quiet();
    let run = ground.run().args(["--restart-delay", "1s", "true"]).env("ELECT_RESTART", "always");
    run.env("ELECT_ONCE", "today").run().exits(0).is_quiet();
}

#[test]
fn of_conflicting_pauses_the_default_gives_way() {
    let ground = Ground::new();
    let run = |flags: &[&str]| ground.run().args(["-v", "--restart", "on-failure"]).args(flags);
    let both = ["--restart-delay", "2m", "--restart-max-delay", "30s"];
    let ended = run(&both).arg("true").run().exits(125);
    ended.says("--restart-delay 2m is longer than --restart-max-delay 30s; lower the one");
    let variable = run(&["--restart-delay", "2m"]).env("ELECT_RESTART_MAX_DELAY", "30s");
    variable.arg("true").run().exits(125).says("--restart-delay 2m is longer");
    let script = "[ -e \"$D/again\" ] || { touch \"$D/again\"; exit 1; }";
    let shorter = run(&["--restart-max-delay", "40ms"]).env("D", ground.path()).sh(script);
    shorter.run().exits(0).says("it is started again in 40ms");
    run(&["--restart-delay", "2m", "true"]).run().exits(0);
}

#[test]
fn a_number_that_is_none_is_told_which_would_do() {
    let ground = Ground::new();
    let refused = |flag: &str, range: &str| {
        for number in ["ten", "-1", "1.5", "99999999999999999999"] {
            let ended = ground.run().arg(format!("{flag}={number}")).arg("true").run().exits(125);
            ended.says(&format!("take a whole number from {range}"));
        }
    };
    refused("--conflict-exit-code", "0 to 255");
    refused("--priority", "0 to 1000000");
    refused("--health-threshold", "1 to 4294967295");
    let put = ground.elect("put").args(["-e", "job", "--token", "ten", "key", "value"]);
    put.run().exits(125).says("take a whole number from 0 to 18446744073709551615");
    let history = ground.elect("history").args(["--last", "0", "job"]);
    history.run().exits(125).says("take a whole number from 1 to 4294967295");
}

#[test]
fn help_fits_its_command() {
    let help =
        |words: &[&str]| Elect::new(env!("CARGO_BIN_EXE_elect")).args(words).run().exits(0).stdout;
    assert!(!help(&["sidecar", "-h"]).contains("command's file name"));
    assert!(!help(&["help", "sidecar"]).contains("command's file name"));
    assert!(help(&["run", "-h"]).contains("command's file name"));
    for command in ["put", "fence"] {
        assert!(help(&[command, "-h"]).contains("but for --token"));
    }
}
