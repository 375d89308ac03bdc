//! People who name no store, where a job of this machine does: they are told, in words.

use elect_testkit::program::Elect;

use crate::guard::terminal::{does, shell};
use crate::support::Ground;

const STORE: &str = "etcd://10.0.0.1,10.0.0.2";

/// `elect` without any store, on a machine whose `/etc/cron.d/nightly` names one.
fn elect(ground: &Ground, words: &[&str]) -> Elect {
    let script = format!(
        "mount -t tmpfs none /etc/cron.d && printf '%s\\n' 'ELECT_BACKEND={STORE}' \
         '0 3 * * * app elect run -e nightly -- /usr/local/bin/nightly' >/etc/cron.d/nightly && exec \"$@\""
    );
    let elect = Elect::new(env!("CARGO_BIN_EXE_elect")).args(words).env("HOME", ground.path());
    elect
        .env("STATE_DIRECTORY", ground.state())
        .under(["unshare", "--mount", "sh", "-c", &script, "sh"])
}

#[test]
fn an_answer_from_the_default_store_says_so_and_names_the_store_of_the_job() {
    let ground = Ground::new();
    elect(&ground, &["run", "-e", "nightly", "--once", "today", "true"]).run().exits(0);
    let default = "(the default: no -b, no ELECT_BACKEND, no key in a configuration file)";
    let told = format!("/etc/cron.d/nightly names {STORE} for nightly");
    for words in
        [&["status", "nightly"][..], &["status"], &["done", "nightly"], &["history", "nightly"]]
    {
        let ended = elect(&ground, words).run().says(&told);
        let header = ended.stdout.lines().next().expect("a header").to_owned();
        assert!(header.starts_with("backend: file:") && header.ends_with(default), "{header}");
        // A user who names the store means it.
        let named = elect(&ground, words).args(["-b", "file:"]).run();
        assert_eq!(named.stderr, "", "{words:?}");
        assert!(!named.stdout.contains("default"), "{named:?}");
    }
    for words in [&["resign", "nightly"][..], &["pause", "nightly"], &["resume", "nightly"]] {
        elect(&ground, words).run().exits(0).says(&told);
    }
    // Another election is not the job's.
    elect(&ground, &["run", "-e", "other", "true"]).run().exits(0).is_silent();
    let other = elect(&ground, &["history", "other"]).run().exits(0);
    assert_eq!(other.stderr, "", "it has nothing to do with the job");
}

/// By hand, which cron is not: that the job runs beside the cluster's.
#[test]
fn a_run_by_hand_is_told_and_one_of_cron_is_not() {
    let ground = Ground::new();
    let told = format!("/etc/cron.d/nightly names {STORE} for nightly");
    let run = ["run", "-e", "nightly", "true"];
    elect(&ground, &run).run().exits(0).is_silent();
    elect(&ground, &run).arg("-v").run().exits(0);
    elect(&ground, &["run", "-v", "-e", "nightly", "true"]).run().exits(0).says(&told);
    let mut terminal = shell(&ground);
    let line = "unset ELECT_BACKEND; export HOME=$D STATE_DIRECTORY=$D/state; \
                unshare --mount sh -c 'mount -t tmpfs none /etc/cron.d && \
                echo \"0 3 * * * app elect run -b etcd://a -e nightly x\" >/etc/cron.d/nightly && \
                exec $E run -e nightly true'";
    let shown = does(&mut terminal, line);
    assert!(shown.contains("/etc/cron.d/nightly names etcd://a for nightly"), "{shown}");
}
