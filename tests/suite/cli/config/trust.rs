use std::os::unix::fs::{PermissionsExt, chown, symlink};

use nix::sys::stat::Mode;

use super::{elect, shown, write};
use crate::prelude::*;
use crate::usage::other_user;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn refused(config: &Path, said: &str) {
    elect("run", config).sh("echo ran").run().exits(125).prints("").says(said);
}

#[track_caller]
fn taken(config: &Path) {
    let report = shown(&Elect::new(ELECT).env("ELECT_CONFIG", config), &[]);
    assert_eq!(report["file"], config.display().to_string());
}

#[test]
fn a_config_that_other_users_can_write_is_refused() {
    let ground = Ground::new();
    let config = ground.configure("backend: STATE\n");
    for (bits, fits) in [
        (0o600, true),
        (0o644, true),
        (0o444, true),
        (0o620, false),
        (0o602, false),
        (0o666, false),
    ] {
        mode(&config, bits);
        if fits {
            taken(&config);
        } else {
            refused(&config, "config.yaml: can be written by other users");
        }
    }
    mode(&config, 0o644);
    for (bits, fits) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, true)] {
        mode(ground.path(), bits);
        let said = format!("{}: can be written by other users", ground.path().display());
        if fits {
            taken(&config);
        } else {
            refused(&config, &said);
        }
    }
    // Also further up, and on the way over a link.
    mode(ground.path(), 0o755);
    let inner = ground.path().join("open/closed");
    write(&inner.join("config.yaml"), "");
    mode(&ground.path().join("open"), 0o777);
    refused(&inner.join("config.yaml"), "open: can be written");
    symlink(inner.join("config.yaml"), ground.path().join("link.yaml")).unwrap();
    refused(&ground.path().join("link.yaml"), "open: can be written");
    mode(&ground.path().join("open"), 0o1777);
    taken(&ground.path().join("link.yaml"));
}

#[test]
fn a_file_of_another_user_is_refused() {
    let ground = Ground::new();
    mode(ground.path(), 0o755);
    let user = other_user();
    let theirs = |path: &Path| chown(path, Some(user.id), Some(user.id)).unwrap();
    let config = ground.configure("backend: STATE\n");
    theirs(&config);
    refused(&config, &format!("config.yaml: belongs to user {}", user.id));
    // Its owner may use it, and anybody what is root's.
    mode(&config, 0o644);
    fs::create_dir(ground.state()).unwrap();
    theirs(&ground.state());
    let as_user = || user.elect().args(["status", "--config"]);
    as_user().arg(&config).run().exits(0);
    chown(&config, Some(0), Some(0)).unwrap();
    as_user().arg(&config).run().exits(0);
    taken(&config);
    chown(&config, Some(user.id + 1), None).unwrap();
    as_user().arg(&config).run().exits(125).says("belongs to user");
    // A directory of theirs, in which they may put what they like.
    let folder = ground.path().join("theirs");
    write(&folder.join("config.yaml"), "");
    theirs(&folder);
    mode(&folder, 0o755);
    refused(&folder.join("config.yaml"), "theirs: belongs to user");
    // A link of theirs, in a directory where everybody may make one.
    let public = ground.path().join("public");
    fs::create_dir(&public).unwrap();
    mode(&public, 0o1777);
    let link = public.join("link.yaml");
    symlink(ground.path().join("config.yaml"), &link).unwrap();
    chown(ground.path().join("config.yaml"), Some(0), None).unwrap();
    taken(&link);
    std::os::unix::fs::lchown(&link, Some(user.id), None).unwrap();
    refused(&link, "link.yaml: belongs to user");
    // Other users may have given the file a second name here. Elsewhere only its owner could.
    for (folder, is_taken) in [(ground.path(), true), (&public, false)] {
        let second = folder.join("second.yaml");
        fs::hard_link(ground.path().join("config.yaml"), &second).unwrap();
        if is_taken {
            taken(&second);
        } else {
            refused(&second, "second.yaml: has a second name");
        }
    }
}

#[test]
fn a_home_of_another_user_is_ignored_while_it_has_no_file() {
    let ground = Ground::new();
    mode(ground.path(), 0o755);
    let user = other_user();
    let home = ground.path().join("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(user.id), None).unwrap();
    let root = Elect::new(ELECT).env("HOME", &home).env("XDG_CONFIG_HOME", "");
    assert!(shown(&root, &[])["file"].is_null());
    let config = home.join(".config/elect/config.yaml");
    write(&config, "wait: 5\n");
    root.args(["run", "true"]).run().exits(125).says("home: belongs to user");
    // Nor can a file be meant for us that we may not see.
    chown(&home, Some(0), None).unwrap();
    mode(&home, 0o700);
    let theirs = user.elect().env("HOME", &home).env("XDG_CONFIG_HOME", "");
    assert!(shown(&theirs, &[])["file"].is_null());
    theirs
        .clone()
        .args(["run", "--config"])
        .arg(&config)
        .arg("true")
        .run()
        .exits(125)
        .says("cannot be read");
    // A file that we see, but may not read, is meant for us.
    mode(&home, 0o755);
    for folder in [home.join(".config"), home.join(".config/elect")] {
        mode(&folder, 0o755);
    }
    theirs
        .args(["run", "true"])
        .run()
        .exits(125)
        .says("config.yaml: cannot be read: Permission denied");
}

#[test]
fn a_path_that_is_no_regular_file_is_refused_without_hanging() {
    let ground = Ground::new();
    let fifo = ground.path().join("fifo");
    nix::unistd::mkfifo(&fifo, Mode::S_IRUSR).unwrap();
    let link = ground.path().join("loop");
    symlink(&link, &link).unwrap();
    for path in [&fifo, Path::new("/dev/zero"), ground.path(), Path::new("/")] {
        elect("run", path).arg("true").run().exits(125).prints("");
    }
    refused(&fifo, "fifo: is not a regular file");
    refused(ground.path(), "is not a regular file");
    refused(&link, "loop: cannot be read: Too many levels of symbolic links");
    let huge = ground.path().join("huge.yaml");
    write(&huge, &"# padding\n".repeat(120_000));
    refused(&huge, "huge.yaml: is larger than 1 MiB");
    fs::write(&huge, b"hold: 1\nid: \xff\n").unwrap();
    refused(&huge, "huge.yaml:2:5: is not UTF-8");
}

#[test]
fn a_read_only_mount_needs_no_closed_modes() {
    // As Kubernetes mounts a ConfigMap: directories with all rights, links, read-only.
    let ground = Ground::new();
    let script = "mount -t tmpfs -o mode=777 none \"$D\" && mkdir -m 777 \"$D/..now\" && \
                  echo 'hold: 7' >\"$D/..now/config.yaml\" && ln -s ..now \"$D/..data\" && \
                  ln -s ..data/config.yaml \"$D/config.yaml\" && mount -o remount,ro \"$D\" && exec \"$@\"";
    let config = ground.path().join("config.yaml");
    let mounted = Elect::new(ELECT)
        .under(["unshare", "--mount", "sh", "-c", script, "sh"])
        .env("D", ground.path())
        .env("ELECT_CONFIG", &config);
    assert_eq!(super::value(&shown(&mounted, &[]), "hold").0, "7");
}

#[test]
fn a_password_that_all_users_can_read_gives_a_warning() {
    let ground = Ground::new();
    let text = "backend: STATE\nprofiles:\n  far:\n    backend: etcd://me:hush@host\n";
    let config = ground.configure(text);
    mode(&config, 0o640);
    elect("run", &config).arg("true").run().exits(0).is_silent();
    mode(&config, 0o644);
    let ended = elect("run", &config)
        .arg("true")
        .run()
        .exits(0)
        .says("config.yaml:4:14: `backend` has a secret");
    assert!(ended.stderr.contains("chmod o-r") && !ended.stderr.contains("hush"), "{ended:?}");
    elect("run", &config).args(["-q", "true"]).run().exits(0).is_silent();
}
