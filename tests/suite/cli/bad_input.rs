//! Wrong or missing arguments: a clear error, exit 125, nothing left behind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::prelude::*;

/// Runs with these flags in front; the command must not run, and no directory come to be.
#[track_caller]
fn refused(flags: &[&str], said: &[&str]) {
    let ground = Ground::new();
    let elect = Elect::new(ELECT).arg("run").env("HOME", ground.path());
    let state = ground.state();
    let elect = elect.env("STATE_DIRECTORY", &state).args(flags).sh("echo ran");
    let ended = elect.run().exits(125).prints("");
    for text in said {
        assert!(ended.stderr.contains(text), "{text:?} is not in {ended:?}");
    }
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    assert!(fs::read_dir(ground.path()).unwrap().next().is_none(), "something was left behind");
}

#[test]
fn flags_that_are_none() {
    refused(&["--frobnicate"], &["--frobnicate", "--help"]);
    refused(&["-z"], &["-z"]);
}

#[test]
fn what_is_not_text_is_named() {
    let odd = |text: &str| OsStr::from_bytes(&[text.as_bytes(), b"\xa3"].concat()).to_owned();
    let ground = Ground::new();
    let said = |elect: Elect, of: &str| {
        let ended = elect.run().exits(125).prints("");
        assert!(ended.stderr.contains(of) && !ended.stderr.contains("secret"), "{ended:?}");
    };
    for (words, of) in [
        (vec![odd("--wait=secret")], "the value of --wait is not text in UTF-8"),
        (vec!["--wait".into(), odd("secret")], "the value of --wait is not"),
        (vec![odd("-wsecret")], "the value of -w is not"),
    ] {
        said(ground.job().args(words).arg("true"), of);
    }
    said(ground.elect("status").arg("-w").arg(odd("name")), "\"name\u{fffd}\" is not text");
    // Paths and the words of the command may be no text.
    let job = ground.job().arg("--lease-file").arg(odd("file")).arg("true").arg(odd("word"));
    let job = job.env("ELECT_OUTCOME", odd("file"));
    let why = "the variable ELECT_WAIT is not text in UTF-8: give it another value, or unset it";
    said(job.clone().env("ELECT_WAIT", odd("secret")), why);
    said(job.env("ELECT_NO_WAIT", odd("")), "the variable ELECT_NO_WAIT is not");
}

#[test]
fn urls_that_name_no_store() {
    for (url, said) in [
        ("", "is not the URL of a store"),
        ("nonsense", "is not the URL of a store"),
        ("k8s", "a colon is missing: write kubernetes: for the namespace of your context"),
        ("kubernetes", "or kubernetes:///NAMESPACE"),
        ("file", "a colon is missing: write file:"),
        ("etcd", "a host is missing: write etcd://HOST"),
        ("zk+tls", "a host is missing: write zk://HOST,HOST"),
        ("/var/lib/elect", "file:///"),
        ("abacus://here", "has no store for \"abacus://here\"; write file:///DIR, "),
        ("https://here:2379", "etcd+tls://HOST"),
        ("http://here:2379", "etcd://HOST"),
        ("etcd://here:2379:x", "the port of the host \"here\" is not a number"),
        ("etcd://here:99999", "the port of the host \"here\" is not a number"),
        ("etcd://", "the URL lacks a host"),
        ("etcd:here:2379", "two slashes: etcd://HOST"),
        ("etcd://one/,two", "a comma after a /"),
        ("zk://one:2181/,two/elections", "a comma after a /"),
        ("etcd://one , two", "has a space inside"),
        ("etcd://one,http://two", "a second scheme"),
        ("etcd://one/;rm", "a semicolon after a /"),
        ("kubernetes://host/x", "three slashes, kubernetes:///NAMESPACE"),
        ("k8s:jobs", "three slashes, k8s:///NAMESPACE"),
        ("kubernetes:///Jobs", "is no namespace"),
        ("kubernetes:///jobs/nightly", "the election with -e NAME"),
        (
            "kubernetes:///jobs?ordr=race",
            "unknown option \"ordr\"; it may have context, kubeconfig, order",
        ),
        ("kubernetes:///jobs?order=random", "the option order is queue or race, not \"random\""),
        ("kubernetes:///jobs?kubeconfig=/no/such", "names /no/such, and no such file exists"),
        ("kubernetes:///jobs?context=prod", "there is no context \"prod\""),
        ("kubernetes:///jobs", "there is no way to an API server: KUBECONFIG is not set"),
        ("file://host/dir", "three slashes"),
        ("file:relative", "three slashes"),
        ("file:///a/../b", ".."),
        ("file:///", "/ is not"),
        ("file:///tmp?tap=water", "allow-network"),
    ] {
        refused(&["-e", "job", "-b", url], &[said]);
    }
    // A password is not repeated.
    let ground = Ground::new();
    let elect = Elect::new(ELECT).arg("run").env("HOME", ground.path());
    let ended = elect.args(["-e", "job", "-b", "abacus://me:secret@here", "true"]).run().exits(125);
    assert!(!ended.stderr.contains("secret"), "{ended:?}");
}

/// Such a URL names another place, and two candidates would lead at once. `docker --env-file` keeps a space.
#[test]
fn urls_with_invisible_characters_are_refused() {
    let ground = Ground::new();
    let dir = ground.path().display();
    let inside = |dir: &str| format!("{dir}/a b");
    let schemes = ["etcd://h/x", "etcd+tls://h/x", "zk://h/x", "zk+tls://h/x", "kubernetes:///x"];
    let urls = schemes.map(str::to_owned).into_iter().chain([format!("file://{dir}/x")]);
    for url in urls {
        for (bad, what, shown) in [
            (format!("{url} "), "a space at its end", "x \""),
            (format!("{url}\r"), "a control character at its end", r#"x\r""#),
            (format!(" {url}"), "a space at its beginning", "\" "),
            (inside(&url), "a space inside", "/a b\""),
            (format!("{url}\u{200b}"), "an invisible character at its end", r#"x\u{200b}""#),
        ] {
            let bare = || Elect::new(ELECT).env("HOME", ground.path());
            let run = || bare().args(["run", "-n", "-e", "job"]);
            let by_flag = run().args(["-b", &bad, "true"]).run().exits(125);
            let by_variable = run().env("ELECT_BACKEND", &bad).arg("true").run().exits(125);
            let looking = bare().arg("status").env("ELECT_BACKEND", &bad).run().exits(125);
            for ended in [&by_flag, &by_variable, &looking] {
                let said = format!("has {what}, which would name another place");
                assert!(ended.stderr.contains(&said) && ended.stderr.contains(shown), "{ended:?}");
                assert!(ended.stderr.contains("as %20 for a space"), "{ended:?}");
            }
            for ended in [by_variable, looking] {
                assert!(ended.stderr.contains("ELECT_BACKEND: the backend"), "{ended:?}");
            }
        }
    }
    let elect = Elect::new(ELECT).args(["run", "-e", "job", "-b"]);
    let ended = elect.args(["zk://me:sec ret@here", "true"]).run().exits(125);
    assert!(ended.stderr.contains("in its user name or password"), "{ended:?}");
    assert!(!ended.stderr.contains("ret@"), "{ended:?}");
    // Encoded characters belong to the name.
    let elect = Elect::new(ELECT).args(["run", "-e", "job", "-b"]);
    elect.args([&format!("file://{dir}/a%20b"), "true"]).run().exits(0);
    assert!(ground.path().join("a b").is_dir());
}

/// A mail does not tell which program it is from.
#[test]
fn all_that_is_wrong_with_words_begins_alike() {
    let calls: [&[&str]; 11] = [
        &[],
        &["config"],
        &["dashboard"],
        &["run"],
        &["run", "--bogus", "x"],
        &["run", "--wait", "soon", "x"],
        &["status", "--bogus"],
        &["wait"],
        &["put"],
        &["nonsense"],
        &["config", "nonsense"],
    ];
    for words in calls {
        let elect = Elect::new(ELECT).args(words);
        let said = elect.env("ELECT_BACKEND", "etcd://a").run().exits(125).prints("").stderr;
        assert!(said.starts_with("elect: error: "), "{words:?}: {said}");
        // A value from a variable need not be given again.
        assert!(!said.contains("--backend"), "{words:?}: {said}");
    }
    for subcommand in elect::cli::grammar().get_subcommands() {
        let words = [subcommand.get_name(), "--bogus"];
        let ended = Elect::new(ELECT).args(words).run();
        let said = &ended.stderr;
        assert!(said.starts_with("elect: error: "), "{words:?}: {ended:?}");
    }
}

#[test]
fn slips_get_a_hint() {
    for (words, tip) in [
        (&["-b", "etcd://me:hush@a", "status"][..], "elect status -b ..."),
        (&["-q", "run", "true"], "elect run -q"),
        (&["status", "-e", "job"], "elect status NAME"),
        (
            &["history"],
            "elect status shows the names of all elections; then elect history ELECTION",
        ),
        (&["run", "-w", "2x", "true"], "try 'elect run --help'"),
        (&["config", "show", "run", "--bogus"], "try 'elect run --help'"),
        (&["--bogus"], "try 'elect --help'"),
        (&["history", "-n", "1"], "--last N"),
        (&["pause", "job", "2h"], "write --for 2h"),
        (&["forget", "one", "two"], "forget takes one election at a time"),
        (&["forget", "--all"], "forget takes one election at a time"),
        (&["rnu"], "'run'"),
        (&["run", "-w", "--", "true"], "the duration is missing"),
        (&["run", "-w", "-e", "job", "true"], "the duration is missing"),
        (&["run", "-w", "-5s", "true"], "cannot be negative"),
        (&["run", "--priority", "-1", "true"], "take a whole number from 0 to 1000000"),
        (&["run", "-E", "-1", "true"], "take a whole number from 0 to 255"),
        (&["history", "job", "--last", "-3"], "take a whole number from 1"),
        (&["run", "-e", "-x", "true"], "a value is required for '--election <ELECTION>'"),
        (
            &["run", "-n", "--election", "-x", "true"],
            "a value is required for '--election <ELECTION>'",
        ),
        (&["run", "--id", "-xyz", "true"], "a value is required for '--id <LABEL>'"),
        (&["status", "-b", "--bogus"], "a value is required for '--backend <URL>'"),
        (&["run", "-e", "job", "-x", "true"], "at most one candidate leads in any case"),
        (&["run", "-n", "-x", "true"], "at most one candidate leads in any case"),
        (&["run", "--max-run", "0", "true"], "leave it out for no limit"),
        (&["run", "--once-per", "day@2:40", "true"], "hours have two digits: 02:40"),
        (&["run", "--once-per", "day@02:40CET", "true"], "names of time zones"),
        (&["status", "etcd://me:hush@here"], "a store is given with -b"),
    ] {
        let said = Elect::new(ELECT).args(words).run().exits(125).says(tip).stderr;
        assert!(!said.contains("as a value") && !said.contains("hush"), "{words:?}: {said}");
    }
    // Without a better answer there is no tip.
    let said = Elect::new(ELECT).args(["status", "--bogus"]).run().exits(125);
    assert!(!said.stderr.contains("tip:"), "{said:?}");
}

#[test]
fn a_relative_path_is_told_with_its_folder() {
    let ground = Ground::new();
    let here = ground.path().canonicalize().unwrap();
    let from = format!("No such file or directory (from {})", here.display());
    let script = "cd \"$D\" && exec \"$@\"";
    let elect = Elect::new(ELECT).arg("run").env("D", &here);
    let elect = elect.args(["-b", &format!("file://{}", ground.state().display())]);
    elect
        .args(["-e", "job", "./nosuch"])
        .under(["sh", "-c", script, "sh"])
        .run()
        .exits(127)
        .says(&from);
}

/// The store is not named, and each machine has its own default store.
#[test]
fn a_store_that_was_left_out_is_told() {
    let ground = Ground::new();
    let elect = |words: &[&str]| {
        let elect = Elect::new(ELECT).args(words).env("HOME", ground.path());
        elect.env("STATE_DIRECTORY", ground.state())
    };
    let warning = "no store is named with -b, ELECT_BACKEND or a configuration file";
    let once = ["--once", "today", "-e", "nightly", "true"];
    elect(&["run", "--once", "today", "-e", "nightly", "true"]).run().exits(0).says(warning);
    elect(&["run", "--once-per", "day", "-e", "nightly", "true"]).run().exits(0).says(warning);
    elect(&["run", "-q"]).args(once).run().exits(0).is_silent();
    elect(&["run", "-b", "file:"]).args(once).run().exits(0).is_silent();
    elect(&["run"]).args(once).env("ELECT_BACKEND", "file:").run().exits(0).is_silent();
    elect(&["run", "-e", "nightly", "true"]).run().exits(0).is_silent();

    let default = "(the default: no -b, no ELECT_BACKEND";
    for (words, code) in [
        (&["resign", "nigthly"][..], 0),
        (&["resume", "nigthly"], 0),
        (&["status", "nigthly"], 1),
        (&["history", "nigthly"], 0),
        (&["pause", "nigthly"], 125),
        (&["forget", "nigthly"], 125),
    ] {
        let told = elect(words).run().exits(code).says("did you mean nightly?");
        assert_eq!(format!("{told:?}").matches(default).count(), 1, "{told:?}");
        let named =
            elect(words).args(["-b", "file:"]).run().exits(code).says("did you mean nightly?");
        assert!(!named.stderr.contains(default), "{named:?}");
    }
}

/// Also where the election is known, so that the answer looks like that of the store that was meant.
#[test]
fn an_answer_of_the_default_store_says_so_once() {
    let ground = Ground::new();
    let elect = |words: &[&str]| {
        let elect = Elect::new(ELECT).args(words).env("HOME", ground.path());
        elect.env("STATE_DIRECTORY", ground.state())
    };
    elect(&["run", "-e", "nightly", "true"]).run().exits(0).is_silent();
    let default = "(the default: no -b, no ELECT_BACKEND, no key in a configuration file)";
    let cases: [(&[&str], i32); 16] = [
        (&["status"], 0),
        (&["status", "-o", "json"], 0),
        (&["history", "nightly"], 0),
        (&["history", "nightly", "-o", "json"], 0),
        (&["done", "nightly"], 0),
        (&["done", "nightly", "-o", "yaml"], 0),
        (&["done", "nightly", "today", "--undo"], 1),
        (&["wait", "nightly", "--for", "vacant"], 0),
        (&["resign", "nightly"], 0),
        (&["resign", "nigthly"], 0),
        (&["pause", "nightly"], 0),
        (&["resume", "nightly"], 0),
        (&["get", "-e", "nightly", "key"], 1),
        (&["put", "-e", "nightly", "--token", "1", "key", "value"], 124),
        (&["fence", "-e", "nightly", "--token", "1", "disk", "true"], 0),
        (&["forget", "nightly", "--yes", "--fences"], 0),
    ];
    for (words, code) in cases {
        let told = elect(words).run().exits(code);
        let all = format!("{}{}", told.stdout, told.stderr);
        assert_eq!(all.matches(default).count(), 1, "{words:?}: {told:?}");
        // Data on stdout stays data.
        assert!(!told.stdout.contains(default) || told.stdout.starts_with("backend: file:"));
        if words[0] != "forget" {
            let named = elect(words).env("ELECT_BACKEND", "file:").run().exits(code);
            assert!(!format!("{named:?}").contains("(the default: no"), "{named:?}");
        }
    }
    let doctor = elect(&["doctor"]).run();
    let first = doctor.stdout.lines().next().expect("a header");
    assert!(first.starts_with("backend: file:") && first.ends_with(default), "{first}");
    elect(&["doctor", "-o", "json"]).run().says(default);
    // The command of a run uses the store of that run.
    let inside = [ELECT, "get", "key"];
    let state = format!("file://{}", ground.state().display());
    let run = elect(&["run", "-b", &state, "-e", "job", "--"]).args(inside).run();
    run.exits(1).is_silent();
}

#[test]
fn internal_subcommands_are_not_suggested() {
    let said = |word: &str| Elect::new(ELECT).arg(word).run().exits(125).prints("").stderr;
    for word in ["nams", "redeen", "redeem1"] {
        let text = said(word);
        assert!(!text.contains("tip:") && !text.contains("\n\n\n"), "{text}");
    }
    let text = said("version");
    assert!(text.contains("elect --version") && !text.contains("resign"), "{text}");
    let text = said("stam");
    assert!(text.contains("'status'") && !text.contains("'stamp'"), "{text}");
    let elect = Elect::new(ELECT).args(["-n", "run", "true"]);
    elect.run().exits(125).says("flags come after the subcommand: elect run -n");
}

#[test]
fn the_name_of_an_election_in_the_place_of_the_command() {
    let ground = Ground::new();
    let elect = || ground.elect("run");
    elect().args(["nightly", "true"]).run().exits(127).says("elect run -e nightly true");
    elect().args(["nightly", "./job"]).run().exits(127).says("elect run -e nightly ./job");
    let ended = elect().args(["nightly", "no-such-program"]).run().exits(127);
    assert!(!ended.stderr.contains("-e nightly"), "{ended:?}");
    let ended = elect().args(["-e", "x", "nightly", "true"]).run().exits(127);
    assert!(!ended.stderr.contains("-e nightly"), "{ended:?}");
}

#[test]
fn programs_that_are_not_there_are_missed_at_once() {
    for flag in ["--health-cmd", "--on-elected", "--on-lost", "--on-change"] {
        let no_program = format!("there is no program \"no-such-program\" for {flag} in PATH");
        refused(&["-e", "job", flag, "no-such-program -x"], &[&no_program]);
        let no_program = format!("there is no program \"/no/such\" for {flag}");
        refused(&["-e", "job", flag, "/no/such"], &[&no_program]);
        let ground = Ground::new();
        let sidecar = ground.elect("sidecar").args(["-e", "job", flag, "/no/such"]);
        sidecar.run().exits(125).says(&no_program);
    }
}

#[test]
fn durations_that_are_none() {
    for flag in ["-w", "-k", "--stop-timeout", "--hold"] {
        for value in ["", "soon", "-1", "-5s", "5 parsecs", "1e9", "99999999999999999999"] {
            refused(&["-e", "job", flag, value], &["500ms, 15s"]);
        }
    }
}

#[test]
fn names_that_cannot_name_an_election() {
    let long = "x".repeat(300);
    for (name, said) in [
        ("", "needs a name"),
        ("a/b", "'/'"),
        ("/", "'/'"),
        ("..", "starts with"),
        (".", "starts with"),
        ("../job", "'/'"),
        ("a\nb", "'\\n'"),
        ("a b", "' '"),
        ("a\u{1b}[2J", "'\\u{1b}'"),
        ("-job", "starts with"),
        ("jöb", "'ö'"),
        (&long, "at most 128"),
        ("0", "-E"),
        ("42", "-E"),
    ] {
        refused(&[&format!("--election={name}")], &[said]);
        let ground = Ground::new();
        ground.elect("status").arg("--").arg(name).run().exits(125).says(said).prints("");
    }
    // A NUL cannot even be asked for: the kernel ends arguments and variables there.
    assert!(Command::new("true").arg("a\0b").spawn().is_err());
}

#[test]
fn values_that_a_flag_does_not_know() {
    for (flag, value) in [
        ("-E", "256"),
        ("-E", "-1"),
        ("-E", "x"),
        ("-s", "NONE"),
        ("-s", "0"),
        ("--leftover", "sell"),
        ("--after-loss", "cry"),
        ("--log-format", "xml"),
        ("--http", "localhost"),
        ("--http", "[::1"),
        ("--id", "a b"),
        ("--id", "\u{1b}]0;title\u{7}"),
        ("--id", ""),
    ] {
        refused(&["-e", "job", &format!("{flag}={value}").replacen("-E=", "-E", 1)], &[]);
    }
}

#[test]
fn an_error_shows_no_escape_of_a_terminal() {
    let ground = Ground::new();
    for (flag, value) in [("--id", "\u{1b}[31m"), ("-e", "\u{1b}[31m"), ("-b", "\u{1b}[31m:x")] {
        let elect = Elect::new(ELECT).arg("run").env("HOME", ground.path());
        let ended = elect.args([flag, value, "true"]).run().exits(125);
        assert!(!ended.stderr.contains('\u{1b}'), "{flag}: {ended:?}");
    }
}
