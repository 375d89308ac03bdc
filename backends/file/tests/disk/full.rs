//! Full disks and used-up descriptors.

use std::fs::{self, File};

use elect_api::ErrorKind::Unreachable;
use elect_testkit::fault::Disk;
use elect_testkit::run;
use nix::unistd::dup;

use crate::support::{lead, refused, seat};

#[test]
fn a_full_disk_is_said_and_forgotten() {
    run("a full disk", async {
        let disk = Disk::of_kib(16);
        let root = disk.path();
        let ballast = root.join("ballast");
        // There is room for nothing, then for the entry only, then for the entry and one slot of
        // the token.
        for blocks in [4, 3, 2] {
            let mut seat = seat(root).await;
            fs::write(&ballast, vec![1; blocks * 4096]).unwrap();
            for _ in 0..3 {
                let error = lead(seat.as_mut()).await.expect_err("the disk is full");
                assert_eq!(error.kind(), Unreachable, "{error}");
                assert!(error.to_string().contains("free some space"), "{error}");
            }
            let queue = fs::read_dir(root.join("conformance/queue")).unwrap().count();
            assert!(queue <= 1, "failed attempts left {queue} files");
            fs::remove_file(&ballast).unwrap();
            lead(seat.as_mut()).await.expect("there is room again");
            seat.resign(None).await.unwrap();
            fs::remove_dir_all(root.join("conformance")).unwrap();
        }
    });
}

#[test]
fn without_descriptors_it_says_so_and_leaves_nothing_behind() {
    run("descriptors", async {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let mut first = seat(&root).await;
        lead(first.as_mut()).await.unwrap();
        first.resign(None).await.unwrap();
        let (_, hard) =
            nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE).unwrap();
        nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 64, hard)
            .unwrap();
        let null = File::open("/dev/null").unwrap();
        let mut taken = Vec::new();
        while let Ok(copy) = dup(&null) {
            taken.push(copy);
        }
        let mut seat = seat(&root).await;
        loop {
            match lead(seat.as_mut()).await {
                Ok(_) => break,
                Err(error) => {
                    assert_eq!(error.kind(), Unreachable, "{error}");
                    assert!(error.to_string().contains("ulimit -n"), "{error}");
                }
            }
            taken.pop().expect("no number of descriptors is enough");
        }
        seat.resign(None).await.unwrap();
        assert_eq!(fs::read_dir(root.join("conformance/queue")).unwrap().count(), 0);
    });
}

#[test]
fn a_read_only_disk_is_said_to_be_one() {
    run("a read-only disk", async {
        let disk = Disk::of_kib(16);
        disk.make_read_only();
        refused(disk.path(), elect_api::ErrorKind::Denied, &["can be written", "file:///DIR"])
            .await;
    });
}
