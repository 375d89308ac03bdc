use elect_testkit::program::Elect;

use super::elect;
use crate::prelude::ELECT;
use crate::support::Ground;

/// A configuration, the line and column that are named, and the way out.
const BROKEN: &[(&str, &str, &str)] = &[
    // Keys.
    ("wiat: 5s\n", "1:1", "did you mean `wait`?"),
    ("no_wait: true\n", "1:1", "did you mean `no-wait`?"),
    ("Backend: 'file:'\n", "1:1", "did you mean `backend`?"),
    ("profile:\n", "1:8", "`profile` has no value: give it one, or remove the line"),
    ("profile: x\n", "1:1", "give --profile, or ELECT_PROFILE"),
    ("password: hush\n", "1:1", "there is no key \"password\""),
    ("# all\nxyzzy: 1\n", "2:1", "keys are the long names of flags"),
    ("wait: 5s\nhold: 1s\nwait: 6s\n", "3:1", "`wait` stands here twice: keep one"),
    ("profiles:\n  a:\n    hold: 1\n    hold: 2\n", "4:5", "`hold` stands here twice: keep one"),
    ("profiles:\n  a:\n    hodl: 1\n", "3:5", "did you mean `hold`?"),
    ("profiles:\n  a: {}\n  a: {}\n", "3:3", "`a` stands here twice: keep one"),
    // Values.
    ("wait: soon\n", "1:7", "write 500ms, 15s"),
    ("hold: -5s\n", "1:7", "a duration cannot be negative; write 500ms"),
    ("ttl: 999ms\n", "1:6", "less than 1s leaves no time to renew it"),
    ("max-clock-drift: 100%\n", "1:18", "write 0.1 or 10%"),
    ("no-wait: perhaps\n", "1:10", "write true or false"),
    ("leftover: sell\n", "1:11", "write kill or wait"),
    ("conflict-exit-code: 256\n", "1:21", "take a whole number from 0 to 255"),
    ("signal: NONE\n", "1:9", "write TERM, SIGTERM or 15"),
    ("output: xml\n", "1:9", "write table or json or yaml"),
    ("election: a b\n", "1:11", "letters, digits and . _ - @ : + ="),
    ("id: a/b\n", "1:5", "1 to 64 printable ASCII"),
    ("backend: /var/lib\n", "1:10", "for a directory write file:///DIR"),
    ("backend: 'zk://here/x '\n", "1:10", "has a space at its end"),
    ("backend: zk://here/x y\n", "1:10", "has a space inside"),
    ("backend: abacus://here\n", "1:10", "this build of elect has no store for"),
    ("backend: STATE\nttl: 20s\n", "2:6", "its key belongs in the profiles of other stores"),
    ("profiles:\n  a:\n    wait: never\n", "3:11", "write 500ms, 15s"),
    ("wait: 5s\nno-wait: true\n", "2:10", "`no-wait` (line 2) and `wait` (line 1)"),
    // Shapes.
    ("wait:\n", "1:5", "give it one, or remove the line"),
    ("wait: ~\n", "1:7", "give it one, or remove the line"),
    ("wait: [1s, 2s]\n", "1:7", "expected a single value"),
    ("wait:\n  seconds: 1\n", "2:3", "expected a single value"),
    ("profiles: mine\n", "1:11", "lines like `key: value`"),
    ("profiles:\n  a: 15s\n", "2:6", "lines like `key: value`"),
    ("- wait: 5s\n", "1:1", "lines like `key: value`"),
    ("just words\n", "1:1", "lines like `key: value`"),
    ("a: &x 1\nb: *x\n", "1:7", "write what profiles share above them"),
    ("wait: 5s\n---\nwait: 6s\n", "3:1", "remove the `---`"),
    // No YAML.
    ("id: a: b\n", "1:6", "quote values with odd characters"),
    ("hold: \"1s\n", "2:1", "quote values with odd characters"),
    ("hold: 1s\n wait: 5s\n", "2:6", "this is not YAML"),
    ("hold: @1s\n", "1:7", "quote values with odd characters"),
];

#[test]
fn a_broken_configuration_is_refused_with_file_line_and_the_way_out() {
    let ground = Ground::new();
    let mut wrong = Vec::new();
    for (text, position, way_out) in BROKEN {
        let config = ground.configure(text);
        let said = elect("run", &config).args(["echo", "ran"]).run().exits(125).prints("").stderr;
        let start = format!("elect: error: {}:{position}: ", config.display());
        if !said.starts_with(&start) || !said.contains(way_out) || said.lines().count() != 1 {
            wrong.push(format!("{text:?} at {position}, {way_out:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!ground.state().exists(), "nothing was run");
}

#[test]
fn a_hostile_file_is_refused_quickly() {
    let ground = Ground::new();
    let laughs = (0..30).fold("a0: &a0 lol\n".to_owned(), |text, i| {
        text + &format!("a{}: &a{} [{}]\n", i + 1, i + 1, format!("*a{i},").repeat(9))
    });
    let deep = "profiles: ".to_owned() + &"{a: ".repeat(100_000);
    let lists = "wait: ".to_owned() + &"[".repeat(500_000);
    let long = "x".repeat(1_000_000) + ": 1";
    let many = "profiles: {}\n".repeat(50_000).replacen("profiles", "k", 1);
    for text in [laughs, deep, lists, long, many] {
        let config = ground.configure(&text);
        let ended = elect("run", &config).args(["-e", "job", "true"]).run().exits(125);
        assert!(ended.stderr.contains("config.yaml:1:"), "{ended:?}");
        assert!(ended.stderr.len() < 400, "{ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    }
}

#[test]
fn a_profile_that_there_is_not_is_refused() {
    let ground = Ground::new();
    let config =
        ground.configure("backend: STATE\nprofiles:\n  nightly:\n  hourly:\n    wait: 5\n");
    let named = |name: &str| elect("run", &config).args(["--profile", name, "true"]).run();
    named("nigtly").exits(125).says("did you mean \"nightly\"").says("config.yaml");
    named("xyz").exits(125).says("has nightly, hourly: name one of them");
    named("nightly").exits(0).is_silent();
    let variable = elect("run", &config).env("ELECT_PROFILE", "xyz").arg("true").run();
    variable.exits(125).says("ELECT_PROFILE: there is no profile \"xyz\"");
    let none = Elect::new(ELECT).args(["run", "--profile", "nightly", "true"]).run().exits(125);
    none.says("/nonexistent/elect/config.yaml").says("leave --profile away");
}

#[test]
fn an_empty_file_sets_nothing() {
    let ground = Ground::new();
    for text in ["", "# nothing\n", "---\n", "profiles:\n", "{}\n", "\u{feff}hold: 0\n"] {
        let config = ground.configure(text);
        let url = format!("file://{}", ground.state().display());
        elect("run", &config).args(["-b", &url, "true"]).run().exits(0).is_silent();
    }
}
