use super::{elect, shown, value};
use crate::cli::manual;
use crate::prelude::*;

const LAYERS: &str = "\
backend: STATE
hold: 1s
signal: INT
kill-grace: 3s
profiles:
  mine:
    hold: 2s
    signal: HUP
  yours:
    hold: 9s
";

#[test]
fn a_flag_beats_a_variable_beats_the_profile_beats_the_file_beats_the_default() {
    let ground = Ground::new();
    let config = ground.configure(LAYERS);
    let config = config.to_str().unwrap();
    let plain = Elect::new(ELECT).env("ELECT_CONFIG", config);
    let profile = plain.clone().env("ELECT_PROFILE", "mine");
    let variable = profile.clone().env("ELECT_HOLD", "3s");
    for (elect, words, hold, from) in [
        (&Elect::new(ELECT), &[][..], "0", "default"),
        (&plain, &[], "1s", "file"),
        (&profile, &[], "2s", "file"),
        (&variable, &[], "3s", "variable"),
        (&variable, &["run", "--hold", "4s"], "4s", "flag"),
        // A flag chooses against a variable, too.
        (&profile, &["--profile", "yours"], "9s", "file"),
        (&profile, &["run", "--profile", "yours"], "9s", "file"),
    ] {
        assert_eq!(value(&shown(elect, words), "hold"), (hold.to_owned(), from.to_owned()));
    }
    let report = shown(&profile, &[]);
    assert_eq!((&report["file"], &report["profile"]), (&config.into(), &"mine".into()));
    assert_eq!(report["profiles"], serde_json::json!(["mine", "yours"]));
    assert_eq!(value(&report, "kill-grace"), ("3s".to_owned(), "file".to_owned()));
    let table = profile.args(["config", "show"]).run().exits(0).stdout;
    for line in [
        format!("file: {config} (named), profile mine"),
        format!("{config}:8 (profile mine)"),
        format!("{config}:4"),
    ] {
        assert!(table.contains(line.trim()), "{line:?} is not in {table}");
    }
}

#[test]
fn settings_in_the_file_act_like_their_flags() {
    let ground = Ground::new();
    let text = "backend: STATE\nelection: job\nno-wait: true\nconflict-exit-code: 9\n\
                profiles:\n  waits:\n    wait: 10ms\n  patient:\n    no-wait: false\n    wait: 0.01\n";
    let config = ground.configure(text);
    let leader = ground.leader();
    let run = || elect("run", &config);
    run().arg("true").run().exits(9);
    run().args(["--profile", "waits", "true"]).run().exits(9);
    run().args(["--profile", "patient", "-E", "8", "true"]).run().exits(8);
    let status = elect("status", &config).run().exits(0).stdout;
    assert!(status.starts_with(&format!("backend: file://{}", ground.state().display())));
    drop(leader);
    run().args(["-w", "1m", "true"]).run().exits(0).is_silent();
}

#[test]
fn rivals_count_by_their_layer() {
    let ground = Ground::new();
    let text =
        "wait: 5s\nquiet: true\nprofiles:\n  now:\n    no-wait: true\n  loud:\n    verbose: yes\n";
    let config = ground.configure(text);
    let overruled = |elect: &Elect, words: &[&str]| {
        let report = shown(&elect.clone().env("ELECT_CONFIG", &config), words);
        let all = report["settings"].as_array().unwrap().clone();
        let lost = all.into_iter().filter(|setting| !setting["overruled_by"].is_null());
        lost.map(|setting| setting["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let elect = Elect::new(ELECT);
    assert!(overruled(&elect, &[]).is_empty());
    assert_eq!(overruled(&elect, &["--profile", "now"]), ["wait"]);
    assert_eq!(overruled(&elect, &["--profile", "loud"]), ["quiet"]);
    assert_eq!(overruled(&elect, &["run", "-n"]), ["wait"]);
    assert_eq!(overruled(&elect, &["--profile", "now", "run", "-w", "1"]), ["no-wait"]);
    assert_eq!(overruled(&elect.env("ELECT_VERBOSE", "1"), &[]), ["quiet"]);
    // And truly so: it leaves at once.
    let leader = ground.leader();
    let url = format!("file://{}", ground.state().display());
    let flags = ["-n", "-e", "job", "-b", &url, "true"];
    super::elect("run", &config).args(flags).run().exits(75).is_silent();
    drop(leader);
}

#[test]
fn every_flag_can_be_set_in_the_file() {
    let ground = Ground::new();
    let text = "backend: STATE\nelection: a\nno-wait: false\nwait: 15\nconflict-exit-code: 9\n\
                ttl: 20s\nmax-clock-drift: 10%\nsignal: 15\nkill-grace: 1.5\nid: 7\nleftover: 'wait'\nleftover-grace: 3s\n\
                containment: cgroup\nrequire-containment: scan\n\
                restart: always\nrestart-delay: 2s\nrestart-max-delay: 3m\n\
                stop-timeout: \"1h30m\"\nhold: 0\nafter-loss: campaign\noutcome: /x y\nquiet: no\n\
                verbose: on\nlog-format: json\noutput: yaml\nonce: today\nonce-attempts: 3\nhttp: 9090\n\
                lease-file: /x\ngrace: 2s\nhealth-http: http://127.0.0.1:1/\n\
                health-cmd: curl -d a@b http://x\nhealth-interval: 1s\nhealth-timeout: 1s\n\
                health-threshold: 2\nwatch: no\ncreate: no\nfor: vacant\ntimeout: 5m\nreason: a change\nlast: 10\n\
                require-strong: no\npod-label: yes\nlock-delay: 5s\non-elected: a b\non-lost: c\non-change: d\nhook-timeout: 3s\npriority: 80\npreempt: no\npreempt-after: 1m\nto: db2\nforce: no\neven-if-alive: no\nslots: 3\nshards: 4\nmax-run: 2h\n";
    let config = ground.configure(text);
    for subcommand in
        ["run", "sidecar", "status", "observe", "history", "wait", "resign", "pause", "resume"]
    {
        let report = shown(&Elect::new(ELECT).env("ELECT_CONFIG", &config), &[subcommand]);
        for setting in report["settings"].as_array().unwrap() {
            let (key, value) = (setting["key"].as_str().unwrap(), setting["value"].as_str());
            if key == "once-per" {
                // It excludes `once`.
                continue;
            }
            let line = text.lines().find(|line| line.starts_with(&format!("{key}:")));
            let line = line.unwrap_or_else(|| panic!("{key} is not tried"));
            assert_eq!(setting["from"], "file", "{key}");
            let written = line.split_once(": ").unwrap().1.trim_matches(['"', '\'']);
            assert!(key == "backend" || value == Some(written), "{key}: {value:?}");
        }
    }
    let config = ground.configure("once-per: week@Sun@02:50\n");
    let report = shown(&Elect::new(ELECT).env("ELECT_CONFIG", &config), &["run"]);
    assert_eq!(value(&report, "once-per"), ("week@Sun@02:50".to_owned(), "file".to_owned()));
}

#[test]
fn secrets_are_not_shown() {
    let ground = Ground::new();
    let config = ground.configure("backend: etcd://me:hush@host/x?user=me&token=hush\n");
    for words in [&["-o", "table"][..], &["-o", "json"], &["-o", "yaml"]] {
        let ended = Elect::new(ELECT).args(["config", "show", "--config"]).arg(&config);
        let text = ended.args(words).run().exits(0).is_quiet().stdout;
        assert!(
            text.contains("etcd://host/x?user=me&token=***") && !text.contains("hush"),
            "{text}"
        );
    }
    fs::write(&config, "backend: abacus://me:hush@host\n").unwrap();
    let ended = elect("run", &config)
        .arg("true")
        .run()
        .exits(125)
        .says(":1:10: this build of elect has no store");
    assert!(!ended.stderr.contains("hush"), "{ended:?}");
    fs::write(&config, "ttl: etcd://me:hush@host\n").unwrap();
    let ended = elect("run", &config).arg("true").run().exits(125).says(":1:6: this value");
    assert!(!ended.stderr.contains("hush"), "{ended:?}");
}

#[test]
fn a_broken_file_leaves_no_old_outcome_and_does_not_stop_help() {
    let ground = Ground::new();
    let config = ground.configure("wiat: 5\n");
    let outcome = ground.path().join("outcome");
    fs::write(&outcome, "old").unwrap();
    let run = elect("run", &config).arg("--outcome").arg(&outcome);
    run.clone().args(["--log-format", "json", "true"]).run().exits(125).says("{\"time\"");
    assert_eq!(fs::read_to_string(&outcome).unwrap(), "");
    run.arg("--help").run().exits(0).is_quiet();
    // A subcommand that looks at nothing but its own lease needs no file.
    let check = Elect::new(ELECT).arg("check").env("ELECT_CONFIG", &config);
    check.run().exits(125).says("there is no lease");
}

#[test]
fn the_manual_shows_a_file_and_calls_that_work() {
    let ground = Ground::new();
    let config = ground.configure(&manual::block("configuration", "Configuration", "yaml"));
    let calls = manual::commands(&manual::block("configuration", "Configuration", "console"));
    let calls: Vec<_> = calls.lines().filter(|call| call.contains("config show")).collect();
    let shown = |call: &str| {
        let words = call.split(" #").next().unwrap_or_default().split_whitespace().skip(1);
        Elect::new(ELECT).env("ELECT_CONFIG", &config).args(words).run().exits(0).is_quiet().stdout
    };
    let nightly = shown(calls[0]);
    // However wide the columns are.
    let has = |table: &str, row: &[&str]| {
        let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        assert!(rows.any(|found| found.starts_with(row)), "{row:?} is not in {table}");
    };
    has(&nightly, &["backend", "etcd://10.0.0.1,10.0.0.2,10.0.0.3"]);
    has(&nightly, &["election", "nightly"]);
    let here = shown(calls[1]);
    has(&here, &["wait", "5s", "flag"]);
    assert!(here.contains("(profile here)"), "{here}");
}
