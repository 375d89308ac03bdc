//! Tests of exhausted resources. They need root.

use std::fs;
use std::io::ErrorKind;
use std::panic::{catch_unwind, resume_unwind};

use tempfile::TempDir;

use crate::fault::{Disk, Limits};
use crate::program::Elect;

fn sh(script: &str) -> Elect {
    Elect::new("sh").args(["-c", script])
}

#[test]
fn a_program_gets_the_limits_set_for_it() {
    let limits = Limits::new().descriptors(10).processes(300).file_size(4096).memory(1 << 30);
    let said = sh("exec cat /proc/self/limits").under(limits).run().exits(0).stdout;
    let line = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)).expect("a limit");
        line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("Max open files"), ["10", "10"]);
    assert_eq!(line("Max processes"), ["300", "300"]);
    assert_eq!(line("Max file size"), ["4096", "4096"]);
    assert_eq!(line("Max address space"), ["1073741824", "1073741824"]);
}

#[test]
fn descriptors_processes_and_sizes_run_out() {
    let folder = TempDir::new().unwrap();
    let three = sh("exec 3</dev/null 4</dev/null; echo opened");
    three.clone().under(Limits::new().descriptors(16)).run().exits(0).prints("opened\n");
    assert_ne!(three.under(Limits::new().descriptors(4)).run().code(), 0);
    // A user without other processes, because the limit counts all that the user has.
    let user = format!("--reuid={}", fastrand::u32(1 << 20..1 << 30));
    let fork =
        |limits: Limits| sh("true & wait; echo forked").under(limits).under(["setpriv", &user]);
    fork(Limits::new().processes(2)).run().exits(0).prints("forked\n");
    fork(Limits::new().processes(1)).run().exits(2).says("fork");
    let file = folder.path().join("file");
    let write = format!("exec head -c 9999 /dev/zero > '{}'", file.display());
    sh(&write).under(Limits::new().file_size(1000)).run().exits(128 + 25);
    assert_eq!(fs::metadata(file).unwrap().len(), 1000);
}

#[test]
fn a_disk_is_full_until_it_is_freed() {
    let disk = Disk::of_kib(16);
    let file = disk.path().join("file");
    fs::write(&file, "room").unwrap();
    disk.fill();
    assert_eq!(fs::read(&file).unwrap(), b"room");
    let error = fs::write(disk.path().join("more"), "more").expect_err("it is full");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    disk.free();
    fs::write(disk.path().join("more"), "more").unwrap();
    disk.make_read_only();
    let error = fs::write(&file, "more").expect_err("it is read-only");
    assert_eq!(error.kind(), ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn a_disk_without_a_file_left_is_full() {
    let disk = Disk::of_files(3);
    for name in ["one", "two"] {
        fs::write(disk.path().join(name), "").unwrap();
    }
    let error = fs::write(disk.path().join("three"), "").expect_err("it is full");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[test]
fn a_disk_is_unmounted_by_a_test_that_fails_with_files_open() {
    let disk = Disk::of_kib(16);
    let path = disk.path().to_owned();
    let file = fs::File::create(path.join("open")).unwrap();
    let mounted =
        || fs::read_to_string("/proc/self/mounts").unwrap().contains(path.to_str().unwrap());
    assert!(mounted());
    let failed = catch_unwind(move || {
        let _dropped = disk;
        resume_unwind(Box::new("a test that fails"));
    });
    assert!(failed.is_err() && !mounted() && !path.exists());
    drop(file);
}
