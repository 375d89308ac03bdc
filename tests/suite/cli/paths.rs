//! Paths that elect is given, and other users on the way: what they put there is neither written nor believed.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::prelude::*;
use crate::usage::{User, other_user};

/// A machine on which a stranger lives, and a folder of root's in which everybody may make files, as in `/tmp`.
struct Town {
    ground: Ground,
    other_user: User,
}

impl Town {
    fn new() -> Self {
        let ground = Ground::new();
        fs::set_permissions(ground.path(), Permissions::from_mode(0o755)).unwrap();
        let town = Self { ground, other_user: other_user() };
        town.folder("public", 0, 0o1777);
        town.folder("home", town.other_user.id, 0o755);
        town
    }

    fn path(&self, below: &str) -> PathBuf {
        self.ground.path().join(below)
    }

    fn folder(&self, below: &str, owner: u32, mode: u32) -> PathBuf {
        let path = self.path(below);
        fs::create_dir(&path).unwrap();
        chown(&path, Some(owner), None).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    /// A link that the user with this number has made.
    fn link(&self, below: &str, target: &Path, owner: u32) -> PathBuf {
        let link = self.path(below);
        symlink(target, &link).unwrap();
        lchown(&link, Some(owner), Some(owner)).unwrap();
        link
    }

    /// `elect run` of root's, in an election of its own.
    fn run(&self) -> Elect {
        self.ground.job()
    }

    /// `elect run` of the stranger's.
    fn run_of_the_other_user(&self) -> Elect {
        let home = format!("file://{}", self.path("home/state").display());
        self.other_user.elect().args(["run", "-e", "job", "-b", &home])
    }

    /// The stranger leads, and says so in this file.
    fn led_by_the_other_user(&self, lease: &Path) -> Running {
        let elect = self.run_of_the_other_user().arg("--lease-file").arg(lease);
        let run = elect.args(["sleep", "3600"]).spawn();
        let check = || self.other_user.elect().args(["check", "--lease-file"]).arg(lease).run();
        eventually("the other user to lead", || (check().code() == 0).then_some(()));
        run
    }
}

fn check(lease: &Path) -> Ended {
    Elect::new(ELECT).args(["check", "--lease-file"]).arg(lease).run()
}

fn end(run: Running) {
    run.ended_by(Signal::SIGTERM);
}

#[test]
fn nothing_is_written_through_a_link_of_another_user() {
    let town = Town::new();
    let private = town.folder("private", 0, 0o755);
    let victim = private.join("file");
    let secret = |owner| {
        fs::write(&victim, "").unwrap();
        chown(&victim, Some(owner), None).unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
    };
    let is_untouched = || {
        let found = fs::metadata(&victim).unwrap();
        assert_eq!((found.len(), found.mode() & 0o777), (0, 0o600));
    };
    let other_user = town.other_user.id;
    for (me, owner) in [(0, other_user), (other_user, other_user + 1)] {
        secret(me);
        let way = town.link(&format!("public/way-{owner}"), &private, owner);
        for flag in ["--outcome", "--lease-file"] {
            let elect = if me == 0 { town.run() } else { town.run_of_the_other_user() };
            let elect = elect.arg(flag).arg(way.join("file")).sh("echo ran");
            elect.run().exits(125).prints("").says(&format!("belongs to user {owner}"));
            is_untouched();
        }
    }
    // Their own links, and root's, they follow.
    chown(&private, Some(other_user), None).unwrap();
    for (name, owner) in [("own", other_user), ("roots", 0)] {
        let way = town.link(&format!("public/{name}"), &private, owner);
        let elect = town.run_of_the_other_user().arg("--outcome").arg(way.join(name)).arg("true");
        elect.run().exits(0).is_silent();
        assert!(fs::metadata(private.join(name)).is_ok_and(|found| found.len() > 0));
    }
}

/// In such a folder a stranger could replace an existing file before elect writes, but not a new one.
#[test]
fn in_a_folder_of_all_users_an_outcome_is_a_new_file() {
    let town = Town::new();
    for (mode, fits) in [(0o777, true), (0o2777, true), (0o1777, false)] {
        let folder = town.folder(&format!("pod-{mode:o}"), 0, mode);
        let record = folder.join("outcome");
        fs::write(&record, "of another user").unwrap();
        fs::hard_link(&record, town.path(&format!("kept-{mode:o}"))).unwrap();
        chown(&record, Some(town.other_user.id), None).unwrap();
        let elect = town.run().arg("--outcome").arg(&record).arg("true");
        if fits {
            elect.run().exits(0).is_silent();
            assert!(fs::read_to_string(&record).unwrap().contains("exited"));
            assert_eq!(fs::metadata(&record).unwrap().uid(), 0);
        } else {
            elect.run().exits(125).says("outcome belongs to user");
        }
        let kept = fs::read_to_string(town.path(&format!("kept-{mode:o}"))).unwrap();
        assert_eq!(kept, "of another user");
        let of_theirs = folder.join("theirs");
        let elect = town.run_of_the_other_user().arg("--outcome").arg(&of_theirs).arg("true");
        for _ in 0..2 {
            elect.run().exits(0).is_silent();
            assert!(fs::read_to_string(&of_theirs).unwrap().contains("exited"));
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no draft is left");
    }
    // Elsewhere it stays the same file, with the rights that it was given.
    let kept = town.path("kept");
    fs::write(&kept, "old").unwrap();
    fs::set_permissions(&kept, Permissions::from_mode(0o640)).unwrap();
    let number = fs::metadata(&kept).unwrap().ino();
    town.run().arg("--outcome").arg(&kept).arg("true").run().exits(0).is_silent();
    let found = fs::metadata(&kept).unwrap();
    assert_eq!((found.ino(), found.mode() & 0o777), (number, 0o640));
    // A service's file in a folder of root's stays, too, and so does a path that is no file.
    chown(&kept, Some(town.other_user.id), None).unwrap();
    town.run_of_the_other_user().arg("--outcome").arg(&kept).arg("true").run().exits(0);
    assert_eq!(fs::metadata(&kept).unwrap().ino(), number);
    for elect in [town.run(), town.run_of_the_other_user()] {
        elect.args(["--outcome", "/dev/null", "true"]).run().exits(0).is_silent();
    }
}

#[test]
fn root_does_not_touch_files_that_another_user_made_first() {
    let town = Town::new();
    let theirs = town.folder("public/theirs", town.other_user.id, 0o777);
    for flag in ["--outcome", "--lease-file"] {
        let run = || town.run().arg(flag);
        run().arg(theirs.join("file")).arg("true").run().exits(125).says("theirs belongs to user");
        // In a home that root made for them they do what they like, and root's file is new there.
        run().arg(town.path("home").join(flag)).arg("true").run().exits(0);
    }
    let lease = town.path("public/lease");
    fs::write(&lease, "").unwrap();
    chown(&lease, Some(town.other_user.id), None).unwrap();
    let elect = town.run().arg("--lease-file").arg(&lease).arg("true");
    elect.run().exits(125).says("lease belongs to user");
    assert_eq!(fs::metadata(&lease).unwrap().len(), 0);
}

#[test]
fn a_lease_of_another_user_is_not_believed() {
    let town = Town::new();
    let other_user = town.other_user.id;
    let lease = town.path("public/lease");
    let forged = town.led_by_the_other_user(&lease);
    let owner = other_user.to_string();
    let hint = format!("lease belongs to user {owner}");
    check(&lease).exits(125).prints("").says(&hint).says(&format!("--lease-owner {owner}"));
    let other = || {
        let other = (other_user + 1).to_string();
        Elect::new("setpriv")
            .args(["--reuid", &other, "--regid", &other, "--clear-groups", "--"])
            .arg(town.other_user.program())
            .args(["check", "--lease-file"])
            .arg(&lease)
    };
    other().run().exits(125).prints("").says(&hint);
    // As in another container of their pod.
    other().args(["--lease-owner", &owner]).run().exits(0).prints("leading, no time limit\n");
    let believed = Elect::new(ELECT).args(["check", "--lease-owner", &owner, "--lease-file"]);
    believed.arg(&lease).run().exits(0);
    // Nor by a variable, a link, or a second name.
    Elect::new(ELECT).arg("check").env("ELECT_LEASE", &lease).run().exits(125).says(&hint);
    end(forged);
    let folder = town.folder("roots", 0, 0o755);
    let true_one = folder.join("lease");
    let leader = town.run().arg("--lease-file").arg(&true_one).args(["sleep", "3600"]).spawn();
    eventually("root to lead", || (check(&true_one).code() == 0).then_some(()));
    let link = town.link("public/link", &true_one, other_user);
    check(&link).exits(125).says("link belongs to user");
    let second = town.path("public/second");
    fs::hard_link(&true_one, &second).unwrap();
    check(&second).exits(125).says("has a second name");
    fs::remove_file(second).unwrap();
    // Everybody believes root.
    let shown = town.other_user.elect().args(["check", "--lease-file"]).arg(&true_one).run();
    shown.exits(0).prints("leading, no time limit\n");
    end(leader);
    // Its page is below a folder of a process, so no user could have put it there.
    let script = "import os, sys
os.setresgid(int(sys.argv[1]), int(sys.argv[1]), int(sys.argv[1]))
os.setresuid(int(sys.argv[1]), int(sys.argv[1]), int(sys.argv[1]))
page = os.memfd_create('elect-lease')
os.write(page, b''.join(word.to_bytes(8, sys.byteorder) for word in (int.from_bytes(b'elect\\0\\0\\x01', 'big'), 1, 7, 2**64 - 1)))
print(f'/proc/{os.getpid()}/fd/{page}', flush=True)
sys.stdin.read()";
    let mut python = Command::new("python3")
        .args(["-c", script, &owner])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut page = String::new();
    BufReader::new(python.stdout.take().unwrap()).read_line(&mut page).unwrap();
    let told = Elect::new(ELECT).arg("check").env("ELECT_LEASE", page.trim_end()).run();
    told.exits(125).prints("").says(&format!("belongs to user {owner}"));
    drop(python.stdin.take());
    python.wait().unwrap();
}

#[test]
fn a_lease_in_the_folder_of_a_service_is_believed() {
    let town = Town::new();
    let lease = town.path("home/lease");
    let service = town.led_by_the_other_user(&lease);
    check(&lease).exits(0).prints("leading, no time limit\n");
    end(service);
    check(&lease).exits(1).prints("leadership has ended\n");
}

/// Kubernetes makes them so, for all containers of a pod, and some file systems in memory are sticky as well.
#[test]
fn a_folder_of_a_pod_keeps_a_lease() {
    let town = Town::new();
    for mode in [0o777, 0o1777, 0o2777, 0o3777] {
        let lease = town.folder(&format!("pod-{mode:o}"), 0, mode).join("lease");
        for _ in 0..2 {
            end(town.led_by_the_other_user(&lease));
        }
        fs::remove_file(&lease).unwrap();
        for _ in 0..2 {
            let run = town.run().arg("--lease-file").arg(&lease).args(["sleep", "3600"]).spawn();
            let check =
                || town.other_user.elect().args(["check", "--lease-file"]).arg(&lease).run();
            eventually("root to lead", || (check().code() == 0).then_some(()));
            end(run);
        }
    }
}

/// A container may have the file alone: nothing can take its place there.
#[test]
fn files_that_are_mounted_by_themselves_are_written() {
    let town = Town::new();
    let pod = town.folder("pod", 0, 0o777);
    for name in ["outcome", "lease"] {
        fs::write(pod.join(name), "").unwrap();
        fs::write(town.path(name), "").unwrap();
    }
    let script =
        "for it in outcome lease; do mount --bind \"$D/$it\" \"$D/pod/$it\"; done; exec \"$@\"";
    let elect = town.run().under(["unshare", "--mount", "sh", "-ec", script, "sh"]);
    let elect = elect.arg("--outcome").arg(pod.join("outcome"));
    let elect = elect.arg("--lease-file").arg(pod.join("lease"));
    elect.arg("true").run().exits(0).is_silent();
    assert!(fs::read_to_string(town.path("outcome")).unwrap().contains("exited"));
    check(&town.path("lease")).exits(1).prints("leadership has ended\n");
    assert_eq!(fs::read_dir(&pod).unwrap().count(), 2, "no draft is left");
}

#[test]
fn pictures_and_figures_follow_no_links_of_another_user() {
    let town = Town::new();
    let victim = town.path("victim");
    let simulate = |words: &[&str], path: &Path| {
        Elect::new(ELECT).args(["simulate", "what-if", "--runs", "1"]).args(words).arg(path).run()
    };
    for flag in ["--svg", "--html"] {
        fs::write(&victim, "precious").unwrap();
        // The kernel follows no such link in a folder of everybody, and all of them elsewhere.
        let link = town.link(&format!("home/link{flag}"), &victim, town.other_user.id);
        simulate(&[flag], &link).exits(125).prints("").says("cannot write");
        let hard = town.path(&format!("public/hard{flag}"));
        fs::hard_link(&victim, &hard).unwrap();
        simulate(&[flag], &hard).exits(125).prints("").says("a second name");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        fs::remove_file(&hard).unwrap();
        simulate(&[flag], &hard).exits(0);
        assert!(fs::metadata(&hard).is_ok_and(|it| it.len() > 100));
        simulate(&[flag], Path::new("/dev/null")).exits(0);
        assert!(!fs::metadata("/dev/null").unwrap().is_file(), "it stays a device");
        simulate(&[flag], &hard).exits(0);
    }
    fs::write(&victim, "1ms\n2ms\n").unwrap();
    let link = town.link("home/trips", &victim, town.other_user.id);
    let at = |path: &Path| PathBuf::from(format!("@{}", path.display()));
    simulate(&["--rtt"], &at(&victim)).exits(0);
    let refused = simulate(&["--rtt"], &at(&link)).exits(125).prints("");
    refused.says("cannot read").says("home/trips belongs to user");
}

#[test]
fn pages_and_scripts_replace_links_and_do_not_follow_them() {
    let town = Town::new();
    let victim = town.path("victim");
    fs::write(&victim, "precious").unwrap();
    for (subcommand, name) in [("man", "man1/elect.1"), ("completions", "_elect")] {
        let folder = town.folder(subcommand, 0, 0o777);
        if subcommand == "man" {
            town.folder("man/man1", 0, 0o777);
        }
        let elect = || Elect::new(ELECT).args([subcommand, "--dir"]);
        town.link(&format!("{subcommand}/{name}"), &victim, town.other_user.id);
        elect().arg(&folder).run().exits(0).is_silent();
        assert!(fs::symlink_metadata(folder.join(name)).unwrap().is_file());
        fs::remove_file(folder.join(name)).unwrap();
        fs::hard_link(&victim, folder.join(name)).unwrap();
        elect().arg(folder.join("../").join(subcommand)).run().exits(0).is_silent();
        assert!(fs::metadata(folder.join(name)).is_ok_and(|it| it.nlink() == 1 && it.len() > 100));
        // A missing folder is made, and a stranger's link leads nowhere.
        let way = town.link(&format!("public/{subcommand}"), &folder, town.other_user.id);
        let refused = elect().arg(way.join("new")).run().exits(125).prints("");
        refused.says(&format!("public/{subcommand} belongs to user"));
        assert!(!folder.join("new").exists());
        elect().arg(folder.join("new/er")).run().exits(0).is_silent();
        assert!(folder.join("new/er").join(name).exists());
        let is_draft = |name: &str| name.starts_with(".elect-");
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!names.into_iter().any(|name| is_draft(&name.to_string_lossy())));
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn no_secret_is_read_through_a_link_of_another_user() {
    let town = Town::new();
    let secret = town.path("secret");
    fs::write(&secret, "hush\n").unwrap();
    let link = town.link("public/password", &secret, town.other_user.id);
    for option in ["password-file", "ca"] {
        let url = format!("etcd+tls://me@127.0.0.1:1?{option}={}", link.display());
        let ended =
            Elect::new(ELECT).args(["status", "-b", &url]).env("ELECT_PASSWORD_FILE", &link);
        ended.run().exits(125).prints("").says("public/password belongs to user");
    }
    // Nor where root has given them the folder.
    let given = town.link("home/link", &secret, town.other_user.id);
    let (pipe, endless) = (town.path("home/pipe"), town.path("home/endless"));
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    fs::File::create(&endless).unwrap().set_len(1 << 30).unwrap();
    for (path, why) in [
        (&given, "home/link belongs to user"),
        (&pipe, "it is a pipe"),
        (&endless, "it is longer than"),
    ] {
        let url = format!("etcd://me@127.0.0.1:1?password-file={}", path.display());
        Elect::new(ELECT)
            .args(["run", "-n", "-e", "job", "-b", &url, "true"])
            .run()
            .exits(125)
            .says(why);
    }
    // elect reads it from a pipe of its own user.
    let script = "echo hush | exec \"$@\"";
    let url = "etcd://me@127.0.0.1:1?password-file=/dev/stdin";
    let elect = Elect::new(ELECT).args(["status", "-b", url]);
    let ended =
        elect.under(["sh", "-c", script, "sh"]).run().exits(125).says("nothing listens there");
    assert!(!ended.stderr.contains("password"), "{ended:?}");
}
