//! An ordinary user, and where elections are kept.

use std::os::unix::fs::{MetadataExt, chown};

use crate::prelude::*;
use crate::usage::{User, other_user};

/// A user with a home of its own.
struct Home {
    user: User,
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let (user, folder) = (other_user(), TempDir::new().expect("a temporary folder"));
        chown(folder.path(), Some(user.id), Some(user.id)).expect("we are root");
        Self { user, folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn elect(&self) -> Elect {
        self.user.elect().env("HOME", self.folder.path()).env("XDG_STATE_HOME", "")
    }
}

/// Runs and looks with these variables and flags: the elections are at `root`.
#[track_caller]
fn keeps_elections_at(root: &Path, elect: &Elect, flags: &[&str], owner: u32) {
    let shown = format!("file://{}", root.display());
    let run = elect.clone().args(["run", "-v", "-e", "job"]).args(flags);
    run.sh("echo ran").run().exits(0).prints("ran\n").says(&format!("store {shown},"));
    let status = elect.clone().arg("status").args(flags).run().exits(0);
    let header = format!("backend: {shown}");
    let (shown, rest) = status.stdout.split_once('\n').expect("a header");
    // If the user has not named it, the header says so.
    let is_named = shown == header || shown.starts_with(&format!("{header} (the default: "));
    assert!(is_named && !rest.is_empty(), "{status:?}");
    let made = fs::metadata(root.join("job")).unwrap();
    assert_eq!((made.uid(), made.mode() & 0o777), (owner, 0o700));
}

#[test]
fn an_ordinary_user_needs_to_set_up_nothing() {
    let home = Home::new();
    let root = home.path(".local/state/elect");
    keeps_elections_at(&root, &home.elect(), &[], home.user.id);
}

#[test]
fn variables_and_urls_choose_the_directory() {
    let home = Home::new();
    let xdg = home.elect().env("XDG_STATE_HOME", home.path("xdg"));
    keeps_elections_at(&home.path("xdg/elect"), &xdg, &[], home.user.id);
    let systemd = xdg.clone().env("STATE_DIRECTORY", home.path("systemd"));
    keeps_elections_at(&home.path("systemd"), &systemd, &[], home.user.id);
    let url = format!("file://{}", home.path("a dir").display()).replace(' ', "%20");
    let elect = systemd.env("ELECT_BACKEND", &url);
    elect.clone().args(["run", "-e", "job", "true"]).run().exits(0).is_silent();
    assert!(home.path("a dir/job").is_dir());
    let flag = format!("file://{}", home.path("flag").display());
    keeps_elections_at(&home.path("flag"), &elect, &["-b", &flag], home.user.id);
    assert!(!home.path(".local").exists());
}

#[test]
fn root_finds_the_directory_of_its_service() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("service");
    let elect = Elect::new(ELECT).env("STATE_DIRECTORY", &root);
    keeps_elections_at(&root, &elect, &[], 0);
}

#[test]
fn without_a_place_for_state_the_user_is_told_a_way_out() {
    let home = Home::new();
    for (name, value) in [("HOME", ""), ("HOME", "relative"), ("STATE_DIRECTORY", "relative")] {
        let elect = home.elect().env(name, value);
        let ended = elect.clone().args(["run", "-e", "job"]).sh("echo ran").run();
        ended.exits(125).prints("").says("absolute");
        elect.arg("status").run().exits(125).prints("").says("absolute");
    }
}

#[test]
fn everything_works_for_an_ordinary_user() {
    let home = Home::new();
    let job = || home.elect().args(["run", "-e", "job"]).env("D", home.folder.path());
    let mut leader = job().sh(crate::usage::STAY).spawn();
    elect_testkit::program::line_of(&home.path("started"));
    job().args(["-n", "true"]).run().exits(75);
    let waiter = job().sh("exit 3").spawn();
    eventually("a waiter", || {
        let status = home.elect().args(["status", "job"]).run().exits(0).stdout;
        status.contains("waiting").then_some(())
    });
    leader.signal(Signal::SIGKILL);
    waiter.wait().exits(3);
    job().arg(home.user.program()).arg("check").run().exits(0).prints("leading, no time limit\n");
    home.user.has_no_process_of("elect");
}

/// Files that it makes are not closed to itself, now or later.
#[test]
fn a_umask_that_takes_everything_closes_nothing_to_its_user() {
    let home = Home::new();
    let masked = "umask 0777; exec \"$0\" \"$@\"";
    let run = || home.elect().args(["run", "-e", "job"]).sh("echo ran");
    for _ in 0..2 {
        run().under(["sh", "-c", masked]).run().exits(0).prints("ran\n").is_quiet();
        run().run().exits(0).prints("ran\n").is_quiet();
    }
    for (part, mode) in [("", 0o700), ("job", 0o700), ("job/queue", 0o700), ("job/lock", 0o600)] {
        let made = fs::metadata(home.path(".local/state/elect").join(part)).unwrap();
        assert_eq!(made.mode() & 0o777, mode, "{part}");
    }
    // One that is closed is one's own affair.
    let closed = home.path("closed");
    fs::create_dir(&closed).unwrap();
    chown(&closed, Some(home.user.id), Some(home.user.id)).unwrap();
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o0)).unwrap();
    let refused = run().env("ELECT_BACKEND", format!("file://{}", closed.display())).run();
    refused
        .exits(125)
        .prints("")
        .says("is yours, and its mode (0000) keeps you out: chmod u+rwx it");
}
