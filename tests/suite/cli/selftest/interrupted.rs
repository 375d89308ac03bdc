//! Whatever ends it, nothing of it lives on.

use super::selftest;
use super::stores::keys;
use crate::prelude::*;

/// The pids of all processes with this on their command line, or in the environment that they began with.
fn processes(word: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").expect("a proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: i32, file| {
        fs::read(format!("/proc/{pid}/{file}"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
    };
    pids.filter(|&pid| has(pid, "cmdline") || has(pid, "environ")).collect()
}

/// Returns the selftest's files in the folders of temporary files.
fn files(ground: &Ground, name: &str) -> Vec<PathBuf> {
    let folders = [ground.path(), Path::new("/dev/shm"), &std::env::temp_dir()];
    let found = folders.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let found = found.flatten().map(|entry| entry.path());
    found.filter(|path| path.to_string_lossy().contains(name)).collect()
}

/// Waits until a candidate of it leads; returns what the names of its elections begin with.
#[track_caller]
fn leads(selftest: &mut Running) -> String {
    let pid = selftest.pid();
    eventually("a command that stamps", || {
        let line = processes("elect-selftest-").into_iter().find_map(|candidate| {
            let stat = fs::read_to_string(format!("/proc/{candidate}/stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<i32>().ok()?;
            (parent == pid).then(|| fs::read(format!("/proc/{candidate}/cmdline")).ok()).flatten()
        })?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let start = line.find("elect-selftest-")?;
        let name = line[start..].split('\0').next()?.rsplit_once('-')?.0.to_owned();
        // The name of a process that is just starting or ending may be cut short. Other selftests do not count.
        let is_whole = name.len() == "elect-selftest-01234567".len();
        // Two candidates, their guardians, two processes of a tree.
        (is_whole && processes(&name).len() >= 6).then_some(name)
    })
}

#[test]
fn a_key_in_the_terminal_ends_it_and_all_that_it_has_made() {
    let ground = Ground::new();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let url = format!("file://{}", ground.state().display());
        let mut running = selftest(&url).spawn();
        let name = leads(&mut running);
        running.ended_by(signal).exits(code).prints("");
        assert_eq!(processes(&name), [0; 0]);
        assert!(!ground.state().exists());
        assert_eq!(files(&ground, &name), [""; 0].map(PathBuf::from));
    }
    let etcd = Etcd::start(1);
    let mut running = selftest(&etcd.url()).spawn();
    let name = leads(&mut running);
    running.ended_by(Signal::SIGINT).exits(130).prints("");
    assert_eq!(processes(&name), [0; 0]);
    assert_eq!(keys(&etcd.ctl(&["get", "--prefix", "", "--keys-only"])), [""; 0]);
}

/// It cannot tidy up then; but nothing runs on, no candidate is left, and no file.
#[test]
fn a_kill_ends_all_that_runs_and_leaves_no_file() {
    let (etcd, ground) = (Etcd::start(1), Ground::new());
    let mut running = selftest(&etcd.url()).env("TMPDIR", ground.path()).spawn();
    let name = leads(&mut running);
    assert_eq!(files(&ground, &name), [""; 0].map(PathBuf::from));
    running.ended_by(Signal::SIGKILL);
    eventually("the end of all its processes", || processes(&name).is_empty().then_some(()));
    eventually("the end of its entries", || {
        keys(&etcd.ctl(&["get", "--prefix", "", "--keys-only"])).is_empty().then_some(())
    });
    assert_eq!(files(&ground, &name), [""; 0].map(PathBuf::from));
}

#[test]
fn leftovers_of_a_killed_selftest_are_removed_by_the_next() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    let mut killed = selftest(&url).spawn();
    let name = leads(&mut killed);
    killed.ended_by(Signal::SIGKILL);
    eventually("the end of all its processes", || processes(&name).is_empty().then_some(()));
    let elections = || fs::read_dir(ground.state()).expect("a directory").count();
    assert!(elections() > 0, "it had no time to tidy up");
    let mut next = selftest(&url).spawn();
    leads(&mut next);
    next.ended_by(Signal::SIGTERM).exits(143).prints("");
    assert_eq!(elections(), 0);
}
