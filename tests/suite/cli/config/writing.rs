//! `elect config set`: what it writes, and what it leaves alone.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::{shown, value, write};
use crate::prelude::*;
use crate::usage::other_user;

#[test]
fn a_written_setting_counts_from_then_on() {
    let ground = Ground::new();
    let file = ground.path().join("new/elect/config.yaml");
    let set =
        |words: &[&str]| Elect::new(ELECT).args(["config", "set", "--file"]).arg(&file).args(words);
    let url = format!("file://{}", ground.state().display());
    let ended = set(&[&format!("backend={url}"), "hold=10ms"]).run().exits(0);
    assert!(ended.stdout.contains("config.yaml: wrote backend, hold"), "{ended:?}");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o644);
    Elect::new(ELECT).args(["run", "-e", "job", "true"]).env("ELECT_CONFIG", &file).run().exits(0);
    assert!(ground.state().join("job").exists());
    // Of a file that people have written all else stays.
    let text = "# ours\nhold: 1s\nprofiles:\n  a: # first\n    hold: 2s\n";
    write(&file, text);
    let link = ground.path().join("link.yaml");
    symlink(&file, &link).expect("a link");
    let by_link = Elect::new(ELECT).args(["config", "set", "hold=3s", "wait=1h", "--file"]);
    by_link.arg(&link).run().exits(0);
    let expected = "# ours\nhold: 3s\nwait: 1h\nprofiles:\n  a: # first\n    hold: 2s\n";
    assert_eq!(fs::read_to_string(&file).expect("a file"), expected);
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    // A password is for its owner alone, and not repeated.
    let secret = ground.path().join("secret.yaml");
    let set = Elect::new(ELECT).args(["config", "set", "backend=etcd://me:hush@a", "--file"]);
    let ended = set.arg(&secret).run().exits(0);
    assert!(!format!("{ended:?}").contains("hush"), "{ended:?}");
    assert_eq!(fs::metadata(&secret).expect("a file").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_wrong_setting_is_not_written() {
    let ground = Ground::new();
    let file = ground.path().join("config.yaml");
    let before = "# ours\nhold: 1s\n";
    for (setting, said) in [
        ("ttl", "write KEY=VALUE"),
        ("ttl=", "the value of ttl is missing"),
        ("=5", "the key is missing"),
        ("ttl=soon", "does not fit `ttl`"),
        ("bakend=etcd://a", "did you mean `backend`?"),
        ("backend=etcdd://a", "no store for"),
        ("backend=etcd://a:x", "is not a number"),
        ("backend=", "the value of backend is missing"),
        ("config=x", "has no meaning in the file itself"),
    ] {
        write(&file, before);
        let set = Elect::new(ELECT).args(["config", "set", "wait=1h", setting, "--file"]);
        set.arg(&file).run().exits(125).prints("").says(said);
        assert_eq!(fs::read_to_string(&file).expect("a file"), before, "{setting}");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("ours");
    let set = Elect::new(ELECT).args(["config", "set", "wait=1h", "--file"]).arg(&file);
    set.run().exits(125).says("can be written by other users");
}

/// Root writes the file of the machine, and another user one of its own.
#[test]
fn each_user_writes_the_file_that_is_its_to_write() {
    let script = "mount -t tmpfs -o mode=755 none /etc && exec \"$@\"";
    let ground = Ground::new();
    let set = Elect::new(ELECT).args(["config", "set", "hold=7s"]).env("HOME", ground.path());
    let set = set.under(["unshare", "--mount", "sh", "-c", script, "sh"]);
    let ended = set.run().exits(0);
    assert!(ended.stdout.starts_with("/etc/elect/config.yaml: wrote hold"), "{ended:?}");
    let user = other_user();
    let home = ground.path().join("home");
    fs::create_dir(&home).expect("a folder");
    fs::set_permissions(ground.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    std::os::unix::fs::chown(&home, Some(user.id), None).expect("root");
    let elect = || user.elect().env("XDG_CONFIG_HOME", home.join(".config"));
    let ended = elect().args(["config", "set", "hold=7s"]).run().exits(0);
    assert!(ended.stdout.contains("home/.config/elect/config.yaml: wrote hold"), "{ended:?}");
    assert_eq!(value(&shown(&elect(), &[]), "hold"), ("7s".into(), "file".into()));
    elect()
        .args(["config", "set", "hold=7s", "--file", "/etc/elect-of-root.yaml"])
        .run()
        .exits(125);
}
