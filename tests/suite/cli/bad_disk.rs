//! A directory or a disk that elect cannot use: exit 125, and nothing left behind.

use std::os::unix::fs::PermissionsExt;

use elect_testkit::fault::Disk;

use crate::prelude::*;
use crate::usage::other_user;

#[test]
fn a_directory_without_rights() {
    let ground = Ground::new();
    let user = other_user();
    let closed = ground.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(ground.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (mode, path) in
        [(0o755, closed.join("state")), (0o700, closed.join("state")), (0o755, closed.clone())]
    {
        fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
        let url = format!("file://{}", path.display());
        let run = user.elect().args(["run", "-e", "job", "-b", &url]).sh("echo ran");
        let ended = run.run().exits(125).prints("");
        assert!(ended.stderr.contains(&closed.display().to_string()), "{ended:?}");
        assert!(fs::read_dir(&closed).unwrap().next().is_none(), "something was left behind");
    }
    // Another user cannot use the files that one user made for itself.
    ground.job().arg("true").run().exits(0);
    let url = format!("file://{}", ground.state().display());
    let ended = user.elect().args(["run", "-e", "job", "-b", &url]).sh("echo ran").run();
    ended.exits(125).prints("").says(&ground.state().display().to_string());
    user.elect().args(["status", "job", "-b", &url]).run().exits(125).prints("").says("ermission");
}

fn on(disk: &Disk) -> Elect {
    let url = format!("file://{}", disk.path().join("state").display());
    Elect::new(ELECT).args(["run", "-n", "-e", "job", "-b", &url]).sh("echo ran")
}

fn entries(disk: &Disk) -> usize {
    fs::read_dir(disk.path().join("state/job/queue")).into_iter().flatten().count()
}

#[test]
fn a_disk_without_a_file_left() {
    // From the one that has no room for anything on, one file more each time; side by side, as what
    // may be over soon is tried again for a while.
    let runs: Vec<_> = (1..=12)
        .map(|inodes| {
            let disk = Disk::of_files(inodes);
            let elect = on(&disk).env("ELECT_VERBOSE", "1").spawn();
            (inodes, disk, elect)
        })
        .collect();
    let mut ran = Vec::new();
    for (inodes, disk, elect) in runs {
        let ended = elect.wait();
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        if ended.code() == 0 {
            ran.push(inodes);
            assert_eq!(ended.stdout, "ran\n");
        } else {
            let said = ended.exits(125).prints("").says("No space left on device").stderr;
            // However often it is tried, people read it once.
            let told = said.lines().filter(|line| line.contains("; trying again (")).count();
            assert!(told <= 1 && !said.contains(".new-"), "{said}");
        }
        assert_eq!(entries(&disk), 0, "an entry was left behind with {inodes} inodes");
    }
    assert!(ran.contains(&12) && !ran.contains(&1), "ran with: {ran:?}");
}

#[test]
fn a_disk_without_a_block_left() {
    // The blocks that an election takes: one for the entry, and one for each slot of the token.
    let disk = Disk::of_kib(12);
    disk.fill();
    on(&disk).run().exits(125).prints("").says("No space left on device");
    assert_eq!(entries(&disk), 0);
    // Room again: nothing is in the way of the next.
    disk.free();
    on(&disk).run().exits(0).prints("ran\n");
}
