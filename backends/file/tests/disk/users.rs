//! Several users. Each acts in a process of its own: the test's binary, started again under that user's id.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use elect_api::ErrorKind::Denied;
use elect_testkit::run;

use crate::support::{lead, need_root, refused, seat};

const ALICE: u32 = 61_001;
const BOB: u32 = 61_002;
const OPS: u32 = 61_100;

/// The variables that tell a restarted [`act`] its task.
const ROOT: &str = "ELECT_TEST_ROOT";
const UMASK: &str = "ELECT_TEST_UMASK";

/// Not a test of its own. It is the part of another user, when [`as_user`] starts this binary again.
#[test]
fn act() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let umask = std::env::var(UMASK).unwrap().parse().unwrap();
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(umask));
    run("another user", async {
        let mut seat = seat(root.as_ref()).await;
        lead(seat.as_mut())
            .await
            .unwrap_or_else(|error| panic!("REFUSED {:?}: {error}", error.kind()));
        seat.resign(None).await.unwrap();
    });
}

/// Leads and resigns as another user. Returns the error, if there was one.
fn as_user(uid: u32, umask: u32, root: &Path) -> Result<(), String> {
    as_user_under(&[], uid, umask, root)
}

/// As [`as_user`], with the process started by another program.
fn as_user_under(above: &[&str], uid: u32, umask: u32, root: &Path) -> Result<(), String> {
    // The binary may be in a folder that other users cannot enter.
    let copy =
        tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
    let binary = copy.path().join("again");
    fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    let binary = binary.to_str().unwrap();
    let words = [above, &[binary, "users::act", "--exact", "--nocapture"]].concat();
    let output = Command::new(words[0])
        .args(&words[1..])
        .args(["--test-threads=1"])
        .env(ROOT, root)
        .env(UMASK, umask.to_string())
        .uid(uid)
        .gid(OPS)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(text) }
}

/// A directory of root that every user may pass through.
fn top() -> tempfile::TempDir {
    need_root();
    tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap()
}

fn directory(path: &Path, owner: u32, mode: u32) {
    fs::create_dir(path).unwrap();
    chown(path, Some(owner), Some(OPS)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn users_share_an_election_in_a_prepared_directory_with_any_umask() {
    for first in [0o077, 0o022, 0o002] {
        let top = top();
        let root = top.path().join("shared");
        directory(&root, 0, 0o2770);
        as_user(ALICE, first, &root).unwrap();
        as_user(BOB, 0o077, &root).unwrap();
        run("root joins", async {
            lead(seat(&root).await.as_mut()).await.unwrap();
        });
        as_user(ALICE, 0o022, &root).unwrap();
        for (part, mode) in
            [("", 0o2770), ("queue", 0o2770), ("lock", 0o660), ("enter", 0o660), ("token", 0o660)]
        {
            let found = fs::metadata(root.join("conformance").join(part)).unwrap();
            assert_eq!((found.mode() & 0o7777, found.gid()), (mode, OPS), "{part}");
        }
    }
}

/// A directory exists for a moment before it gets its mode, because the umask took bits away. If its maker was
/// killed in between, it stays that way.
#[test]
fn a_directory_that_another_user_is_making_is_waited_for() {
    for closed in ["conformance", "conformance/queue"] {
        let top = top();
        let root = top.path().join("shared");
        directory(&root, 0, 0o2770);
        for part in ["conformance", "conformance/queue"] {
            let mode = if part == closed { 0o2750 } else { 0o2770 };
            directory(&root.join(part), ALICE, mode);
            if part == closed {
                break;
            }
        }
        let error = as_user(BOB, 0o022, &root).unwrap_err();
        assert!(error.contains("REFUSED Unreachable"), "{error}");
        assert!(error.contains(&format!("{closed} is not open to its group")), "{error}");
        fs::set_permissions(root.join(closed), Permissions::from_mode(0o2770)).unwrap();
        as_user(BOB, 0o022, &root).unwrap();
    }
}

/// A process is killed when it has made the directory or a part of it, and before it has opened it to others.
#[test]
fn nothing_stays_closed_to_the_group_after_its_maker_was_killed() {
    // Two directories, and four files on the way to a win.
    let modes = [("fchmodat", 2), ("fchmod", 4)];
    let calls = modes.iter().flat_map(|(call, count)| (1..=*count).map(move |it| (call, it)));
    for ((call, last), umask) in calls.flat_map(|it| [(it, 0o077), (it, 0o777)]) {
        let top = top();
        let root = top.path().join("shared");
        directory(&root, 0, 0o2770);
        let kill = format!("inject={call}:signal=KILL:when={last}");
        let killed = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &kill];
        let made = as_user_under(&killed, ALICE, umask, &root);
        assert!(made.is_err(), "{call} {last}: no process was killed");
        assert_eq!(root.join("conformance").exists(), *call == "fchmod");
        let joined = as_user(BOB, 0o077, &root);
        joined.unwrap_or_else(|why| panic!("{call} {last}, umask {umask:o}: {why}"));
    }
}

/// Even a umask that takes all bits takes none from the user itself.
#[test]
fn nothing_is_closed_to_its_owner_with_any_umask() {
    let top = top();
    let home = top.path().join("home");
    directory(&home, ALICE, 0o755);
    for umask in [0o777, 0o777, 0o022] {
        as_user(ALICE, umask, &home.join("a/b")).unwrap();
    }
    for part in ["a", "a/b", "a/b/conformance", "a/b/conformance/queue"] {
        assert_eq!(fs::metadata(home.join(part)).unwrap().mode() & 0o7777, 0o700, "{part}");
    }
}

#[test]
fn users_do_not_share_by_accident() {
    let top = top();
    let root = top.path().join("private");
    directory(&root, ALICE, 0o700);
    as_user(ALICE, 0o022, &root).unwrap();
    assert_eq!(fs::metadata(root.join("conformance")).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(fs::metadata(root.join("conformance/lock")).unwrap().mode() & 0o7777, 0o600);
    assert!(as_user(BOB, 0o022, &root).unwrap_err().contains("REFUSED Denied"));
    fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
    assert!(as_user(BOB, 0o022, &root).unwrap_err().contains("REFUSED Denied"));
    fs::set_permissions(&root, Permissions::from_mode(0o1777)).unwrap();
    assert!(as_user(BOB, 0o022, &root).unwrap_err().contains("REFUSED Denied"));
}

#[test]
fn root_does_not_follow_where_another_user_could_lead_it() {
    let top = top();
    run("root's ways", async {
        let own = top.path().join("of-alice");
        directory(&own, ALICE, 0o755);
        refused(&own, Denied, &["of-alice", "belongs to user 61001"]).await;
        refused(&own.join("elect"), Denied, &["of-alice", "belongs to user 61001"]).await;
        assert!(!own.join("elect").exists(), "root made a directory there before it looked");
        let open = top.path().join("open");
        directory(&open, 0, 0o775);
        refused(&open.join("elect"), Denied, &["open", "chmod go-w"]).await;
        // In a sticky directory others can add entries, but not replace them.
        let sticky = top.path().join("sticky");
        directory(&sticky, 0, 0o1777);
        lead(seat(&sticky.join("elect")).await.as_mut()).await.unwrap();
        let link = sticky.join("link");
        std::os::unix::fs::symlink("elect", &link).unwrap();
        nix::unistd::fchownat(
            nix::fcntl::AT_FDCWD,
            &link,
            Some(ALICE.into()),
            None,
            nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW,
        )
        .unwrap();
        refused(&link, Denied, &["link", "belongs to user 61001"]).await;
    });
}

#[test]
fn files_of_another_user_are_refused() {
    let top = top();
    run("owners", async {
        let root = top.path().join("root");
        for part in ["lock", "enter", "token", "queue", ""] {
            let mut seat = seat(&root).await;
            lead(seat.as_mut()).await.unwrap();
            seat.resign(None).await.unwrap();
            let path = root.join("conformance").join(part);
            chown(&path, Some(ALICE), None).unwrap();
            refused(&root, Denied, &["belongs to user 61001"]).await;
            chown(&path, Some(0), None).unwrap();
        }
    });
}

/// Someone gave a candidate's private file the name of a file of the election.
#[test]
fn a_file_keeps_its_rights_that_got_a_second_name() {
    let top = top();
    let root = top.path().join("shared");
    directory(&root, 0, 0o2770);
    as_user(ALICE, 0o022, &root).unwrap();
    let private = top.path().join("private");
    fs::write(&private, "").unwrap();
    chown(&private, Some(ALICE), Some(OPS)).unwrap();
    fs::set_permissions(&private, Permissions::from_mode(0o600)).unwrap();
    let lock = root.join("conformance/lock");
    fs::remove_file(&lock).unwrap();
    fs::hard_link(&private, &lock).unwrap();
    let error = as_user(ALICE, 0o022, &root).unwrap_err();
    assert!(error.contains("has a second name"), "{error}");
    assert_eq!(fs::metadata(&private).unwrap().mode() & 0o777, 0o600);
}

/// As above, for a directory of Alice's with another group.
#[test]
fn a_directory_keeps_its_rights_that_is_of_another_group() {
    let top = top();
    let root = top.path().join("shared");
    directory(&root, 0, 0o2770);
    directory(&root.join("conformance"), ALICE, 0o700);
    chown(root.join("conformance"), None, Some(ALICE)).unwrap();
    assert!(as_user(ALICE, 0o022, &root).unwrap_err().contains("REFUSED Denied"));
    assert_eq!(fs::metadata(root.join("conformance")).unwrap().mode() & 0o7777, 0o700);
}

/// In a shared directory, a user that can replace the directory could split the election.
#[test]
fn no_candidate_joins_a_share_that_another_user_can_replace() {
    let top = top();
    for (owner, mode, fits) in [
        (0, 0o755, true),
        (0, 0o1777, true),
        // The group shares the directory anyway.
        (0, 0o775, true),
        (ALICE, 0o755, true),
        (BOB, 0o755, false),
        (0, 0o777, false),
    ] {
        let above = top.path().join(format!("above-{owner}-{mode:o}"));
        directory(&above, owner, mode);
        let root = above.join("shared");
        directory(&root, 0, 0o2770);
        let joined = as_user(ALICE, 0o022, &root);
        match joined {
            Ok(()) => assert!(fits, "{owner} {mode:o}"),
            Err(error) => {
                assert!(!fits && error.contains("REFUSED Denied"), "{owner} {mode:o}: {error}");
                assert!(error.contains("above-"), "{error}");
            }
        }
        // The owner of the share may do so.
        chown(&root, Some(owner), None).unwrap();
        if mode != 0o777 {
            as_user(ALICE, 0o022, &root).unwrap();
        }
        // A user's own directory without sharing is that user's own affair.
        let own = above.join("own");
        directory(&own, ALICE, 0o700);
        as_user(ALICE, 0o022, &own).unwrap();
    }
}
