//! Stores that answer what only reads and take no entry: they have failed, whatever else they answer.

use elect_testkit::fault::Disk;
use elect_testkit::servers::Redis;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::prelude::*;
use crate::store::real::{Brand, Home};

/// Runs with these flags side by side, which takes until they have tried long enough.
fn run_all(url: &str, flags: &[&[&str]]) -> Vec<Ended> {
    let all: Vec<_> = flags
        .iter()
        .map(|flags| {
            let elect = Elect::new(ELECT);
            elect.args(["run", "-b", url, "-e", "job"]).args(*flags).sh("echo ran").spawn()
        })
        .collect();
    all.into_iter().map(Running::wait).collect()
}

/// None of the runs says that a candidate leads, is silent, goes on for ever or ends with 0.
#[track_caller]
fn fails(url: &str, why: &str) {
    let once: &[&str] = &["--once", "today"];
    let waits: [&[&str]; 6] =
        [&["-n"], &["-n", "-E", "0"], &["-q", "-n"], &[], &["-q"], &["-w", "1"]];
    let flags = waits.map(|wait| [once, wait].concat());
    let others: [&[&str]; 3] = [&["-n"], &["--slots", "2", "-n"], &["--priority", "5", "-n"]];
    let all: Vec<&[&str]> = flags.iter().map(Vec::as_slice).chain(others).collect();
    for (flags, ended) in all.iter().zip(run_all(url, &all)) {
        assert!(!ended.stderr.contains("leads"), "{flags:?}: {ended:?}");
        let ended = ended.exits(125).prints("").says(why);
        assert!(ended.stderr.contains("elect: error: "), "{flags:?}: {ended:?}");
        let lines = ended.stderr.lines().count();
        assert!(lines == 1, "{flags:?}: {ended:?}");
    }
}

#[test]
fn a_full_disk_is_a_failed_store() {
    let disk = Disk::of_kib(16);
    disk.fill();
    fails(&format!("file://{}/state", disk.path().display()), "No space left on device");
}

/// A job that frees space would wait for it for ever.
#[test]
fn an_election_that_was_led_before_is_led_on_a_full_disk() {
    let disk = Disk::of_kib(64);
    let url = format!("file://{}/state", disk.path().display());
    let run = |words: &[&str]| {
        Elect::new(ELECT).args(["run", "-b", &url, "-e", "job", "-n"]).args(words).run()
    };
    run(&["true"]).exits(0).is_silent();
    for _ in 0..3 {
        disk.fill();
        let full = fs::write(disk.path().join("more"), [1; 4096]);
        assert!(full.is_err(), "the disk is not full");
        run(&["sh", "-c", "echo ran"]).exits(0).prints("ran\n").is_quiet();
        // It has freed its own entry, and the next one needs that again.
        disk.fill();
        let cleaner = format!("rm {}/filler; echo cleaned", disk.path().display());
        run(&["sh", "-c", &cleaner]).exits(0).prints("cleaned\n");
    }
}

/// With room for an entry and a token, and none for the mark that comes before the command.
#[test]
fn a_disk_that_is_full_after_the_win_is_a_failed_store() {
    let disk = Disk::of_kib(16);
    fs::write(disk.path().join("ballast"), [1; 4096]).expect("a file");
    let url = format!("file://{}/state", disk.path().display());
    for flags in [&["--lock-delay", "1s"][..], &["--lock-delay", "1s", "-n", "-E", "0"]] {
        for ended in run_all(&url, &[flags]) {
            ended.exits(125).prints("").says("No space left on device");
        }
    }
}

/// A lease is renewed in place, and takes no room. A leader whose renewals are refused says why it was lost.
#[test]
fn a_leader_leads_on_in_a_full_redis_and_says_what_else_ends_it() {
    let redis = Home::alone(Brand::Redis);
    let url = format!("{}?promise=weak", redis.url());
    for (setting, code, why) in [
        ("maxmemory 1", 0, ""),
        (
            "min-replicas-to-write 1",
            124,
            "could not be renewed in time: cannot write the row job/leader",
        ),
    ] {
        let elect = Elect::new(ELECT).args(["run", "-b", &url, "-e", "job", "--ttl", "4s"]);
        let folder = TempDir::new().expect("a folder");
        let led = folder.path().join("led");
        let elect = elect.env("LED", &led).sh("echo >\"$LED\"; exec sleep 7").spawn();
        eventually("a leader", || led.exists().then_some(()));
        Redis::ask_at(redis.address(), &format!("CONFIG SET {setting}"));
        let ended = elect.wait().exits(code);
        if code > 0 {
            ended.says(why).says("NOREPLICAS");
        }
        let (name, _) = setting.split_once(' ').expect("a value");
        Redis::ask_at(redis.address(), &format!("CONFIG SET {name} 0"));
    }
}

/// Until it takes nothing more.
pub(crate) fn fill(etcd: &Etcd) {
    let filler = "x".repeat(100_000);
    let full = (0..100).any(|number| {
        let mut put = etcd.etcdctl();
        put.args(["put", &format!("filler{number}"), &filler]);
        !put.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("etcdctl runs").success()
    });
    assert!(full && etcd.ctl(&["alarm", "list"]).contains("NOSPACE"));
}

/// It has its place from before, and renews it: what it does could not be recorded, and would be done again.
#[test]
fn a_winner_on_a_full_etcd_does_not_run_a_once_key() {
    let etcd = Etcd::start_with(1, &["--quota-backend-bytes=1000000"]);
    let folder = tempfile::tempdir().expect("a folder");
    let (started, url) = (folder.path().join("started"), etcd.url());
    let run = || {
        let elect = Elect::new(ELECT);
        elect.args(["run", "-b", &url, "-e", "job", "--once", "today"]).env("STARTED", &started)
    };
    let first = run().sh("echo first >>\"$STARTED\"; exec sleep 3600").spawn();
    let text = || fs::read_to_string(&started).unwrap_or_default();
    eventually("the first to start", || (text() == "first\n").then_some(()));
    let second = run().sh("echo second >>\"$STARTED\"").spawn();
    eventually("the second to wait", || {
        let elect = Elect::new(ELECT);
        let status = elect.args(["status", "-b", &url, "-o", "json", "job"]).run().stdout;
        let status: Value = serde_json::from_str(&status).ok()?;
        (status["elections"][0]["waiting"].as_array()?.len() == 1).then_some(())
    });
    fill(&etcd);
    first.ended_by(Signal::SIGTERM).exits(143);
    second.wait().exits(125).says("its database is full");
    assert_eq!(text(), "first\n");
}

#[test]
fn the_doctor_does_not_wait_for_a_full_etcd_to_get_well() {
    let etcd = Etcd::start_with(1, &["--quota-backend-bytes=1000000"]);
    fill(&etcd);
    let began = now();
    let found = Elect::new(ELECT).args(["doctor", "-b", &etcd.url()]).run().exits(1).stdout;
    assert!(found.contains("the database of etcd is full"), "{found}");
    let took = now().since(began);
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn an_etcd_without_space_is_a_failed_store() {
    let etcd = Etcd::start_with(1, &["--quota-backend-bytes=1000000"]);
    fill(&etcd);
    fails(&etcd.url(), "its database is full");
}

/// Whose rights end with reading.
#[test]
fn a_zookeeper_that_refuses_writes_is_a_failed_store() {
    let server = ZooKeeper::one();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let client = Client::connect(&server.address(0).to_string()).await.expect("a session");
        let mode = CreateMode::Persistent.with_acls(Acls::anyone_read());
        client.create("/readonly", b"", &mode).await.expect("a node");
    });
    fails(&format!("{}/readonly", server.url()), "we lack the right to create there");
}

/// Without their servers: what is refused is the entry, and all else is answered.
#[cfg(feature = "sim")]
mod simulated {
    use elect_testkit::sim::{Effect, Kind, Op, Options, Rule, SimServer};

    use super::{ELECT, Elect, fails};

    #[test]
    fn any_store_that_takes_no_entry_is_a_failed_one() {
        let server = SimServer::start(&Options::new(Kind::Queue));
        server.controls().add(Rule::new(Effect::Refuse).op(Op::Enter).op(Op::Control));
        fails(&server.url(), "the simulated store refuses");
        for kind in [Kind::Record, Kind::Race] {
            let server = SimServer::start(&Options::new(kind));
            server.controls().add(Rule::new(Effect::Refuse).op(Op::Enter));
            let elect = Elect::new(ELECT).args(["run", "-b", &server.url(), "-e", "job", "-q"]);
            elect.args(["--once", "today", "-n", "true"]).run().exits(125).says("error");
        }
    }

    /// An outage that is over before anybody need know of it.
    #[test]
    fn an_outage_ridden_out_before_leading_is_not_reported() {
        let server = SimServer::start(&Options::new(Kind::Queue));
        let rule = server.controls().add(Rule::new(Effect::Refuse).op(Op::Enter));
        let elect = Elect::new(ELECT);
        let elect = elect.args(["run", "-b", &server.url(), "-e", "job", "--ttl", "600s"]);
        let (silent, verbose) = (elect.clone().sh("exit 0"), elect.arg("-v").sh("exit 0"));
        let (silent, verbose) = (silent.spawn(), verbose.spawn());
        elect_testkit::program::eventually("some failures", || {
            (server.controls().hits(rule) > 4).then_some(())
        });
        server.controls().lift(rule);
        silent.wait().exits(0).is_silent();
        verbose.wait().exits(0).says("the simulated store refuses").says("the store answers again");
    }
}
