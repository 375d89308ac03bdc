//! Passwords that others may come to know: elect says so once, and `elect doctor` finds it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use crate::cli::see::{Arena, Ground, on_etcd_and_zookeeper};
use crate::prelude::*;

on_etcd_and_zookeeper! {
    a_password_that_other_users_can_read_is_reported_once
    so_it_is_by_members_of_shards_and_sidecars
    doctor_finds_it
}

const SENT: &str = "the password of \"me\" goes over the network unencrypted";
const KEPT: &str = "everybody can read the password in ";

/// Returns the URL of the store with a password, whose file all users may read. The server's name is not literally a
/// loopback address.
fn url(arena: &Arena) -> String {
    let file = arena.path("password");
    fs::write(&file, "hush").unwrap();
    fs::set_permissions(arena.path(""), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let url = arena.url().replace("://127.0.0.1", "://me@0x7f000001");
    assert!(url.contains("me@"), "{url}");
    format!("{url}?password-file={}", file.display())
}

fn a_password_that_other_users_can_read_is_reported_once(arena: &Arena) {
    let (url, elect) = (url(arena), Elect::new(ELECT));
    let run = elect.args(["run", "-b", &url, "-e", "job", "--after-loss", "campaign"]);
    let record = arena.path("record");
    let run = run.sh("echo led >>\"$RECORD\"; exec sleep 3600").env("RECORD", &record).spawn();
    let has_led = |times| {
        eventually("a command", || {
            let text = fs::read_to_string(&record).unwrap_or_default();
            (text.lines().count() == times).then_some(())
        });
    };
    has_led(1);
    Elect::new(ELECT).args(["resign", "-b", &url, "job"]).run().exits(0);
    has_led(2);
    let said = run.ended_by(Signal::SIGTERM).exits(143).stderr;
    for warning in [SENT, KEPT] {
        assert_eq!(said.matches(warning).count(), 1, "{said}");
    }
    assert!(!said.contains("hush"), "{said}");
}

fn so_it_is_by_members_of_shards_and_sidecars(arena: &Arena) {
    let url = url(arena);
    let elect = |words: &[&str]| Elect::new(ELECT).args(words);
    let shards = elect(&["run", "-b", &url, "-e", "job", "--shards", "2", "sleep", "3600"]);
    let sidecar = elect(&["sidecar", "-b", &url, "-e", "web"]);
    for (run, leads, code) in [(shards, "job:0", 143), (sidecar, "web", 0)] {
        let run = run.spawn();
        let wait = elect(&["wait", "-b", &url, leads]);
        wait.run().exits(0);
        let said = run.ended_by(Signal::SIGTERM).exits(code).stderr;
        for warning in [SENT, KEPT] {
            assert_eq!(said.matches(warning).count(), 1, "{said}");
        }
    }
}

fn doctor_finds_it(arena: &Arena) {
    let found = Elect::new(ELECT).args(["doctor", "-b", &url(arena)]).run().exits(1).stdout;
    for warning in [SENT, KEPT, "+tls://", "chmod o-r"] {
        assert!(found.contains(warning), "{found}");
    }
    assert!(!found.contains("hush"), "{found}");
}

/// The store cannot be reached: the password is out in any case.
#[test]
fn one_in_the_list_of_processes_is_told_once() {
    const SHOWN: &str = "the list of processes shows the password in -b";
    let url = "etcd://me:hush@127.0.0.1:1";
    for command in ["status", "doctor"] {
        let given = Elect::new(ELECT).args([command, "-b", url]).run().stderr;
        assert_eq!(given.matches(SHOWN).count(), 1, "{given}");
        assert!(!given.contains("hush"), "{given}");
        let set = Elect::new(ELECT).env("ELECT_BACKEND", url).args([command]).run().stderr;
        assert!(!set.contains(SHOWN), "{set}");
    }
    let amazon = Elect::new(ELECT).args(["status", "-b", "s3://key:hush@jobs"]).run().stderr;
    assert!(amazon.contains(&format!("{SHOWN}: leave it out, as credentials come")), "{amazon}");
    assert!(!amazon.contains("hush") && !amazon.contains("password-file"), "{amazon}");
    let user = Elect::new(ELECT).args(["status", "-b", "etcd://me@127.0.0.1:1"]).run().stderr;
    assert!(!user.contains(SHOWN), "{user}");
}

/// Secrets as Kubernetes mounts them are in memory, and read-only.
#[test]
fn a_file_that_only_its_own_may_read_or_that_was_handed_over_is_not_told() {
    let script = r#"
        umask 022
        [ -z "$MOUNT" ] || mount -t tmpfs -o mode=755 none "$D"
        printf hush >"$D/password"
        chmod "$MODE" "$D/password"
        [ "$MOUNT" != ro ] || mount -o remount,ro "$D"
        exec "$0" "$@""#;
    let cases = [
        ("", "644", true),
        ("", "640", false),
        ("", "600", false),
        ("rw", "644", true),
        ("ro", "644", false),
    ];
    let runs = cases.map(|(mount, mode, is_told)| {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        // No server is there.
        let url =
            format!("etcd://me@127.0.0.1:1?password-file={}/password", folder.path().display());
        let run = Elect::new(ELECT);
        let run = run.args(["run", "-b", &url, "-e", "job", "-w", "100ms", "true"]);
        let run = run.under(["unshare", "--mount", "sh", "-euc", script]);
        let run = run.env("D", folder.path()).env("MOUNT", mount).env("MODE", mode);
        (run.spawn(), folder, format!("{mount} {mode}"), is_told)
    });
    for (run, _folder, case, is_told) in runs {
        let said = run.wait().exits(125).stderr;
        assert_eq!(said.contains(KEPT), is_told, "{case}: {said}");
        assert!(!said.contains(SENT), "{said}");
    }
}
