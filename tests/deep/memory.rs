//! The kernel runs out of memory for a cgroup and kills a process in it: the wrapper, the guardian, or the command.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use elect_testkit::program::{eventually, is_alive};
use nix::sys::signal::Signal;

use crate::stage::send_if_alive;
use crate::store::real::case::{Case, Ending, case};
use crate::store::real::cases::ALONE;
use crate::store::real::{Brand, Store, report};

const KILL: Signal = Signal::SIGKILL;

const CASES: [Case; 3] = [
    case("wrapper", "9 out of memory, wrapper killed", ALONE, Ending::Resigns, |duel| {
        starve(duel.wrapper);
    })
    .locally(Ending::Resigns),
    case("guardian", "9 out of memory, guardian killed", ALONE, Ending::Resigns, |duel| {
        starve(duel.guardian);
    })
    .locally(Ending::Resigns),
    case("command", "9 out of memory, command killed", ALONE, Ending::Resigns, |duel| {
        starve(duel.oracle.newest("A").expect("A ran").main().pid);
    })
    .locally(Ending::Resigns),
];

const FILE: Store = Store::File;
const CONSUL: Store = Store::Remote(Brand::Consul);
const ETCD: Store = Store::Remote(Brand::Etcd);
const ZOOKEEPER: Store = Store::Remote(Brand::ZooKeeper);
const KUBERNETES: Store = Store::Remote(Brand::Kubernetes);
const MARIADB: Store = Store::Remote(Brand::MariaDb);
const POSTGRESQL: Store = Store::Remote(Brand::PostgreSql);
const REDIS: Store = Store::Remote(Brand::Redis);

/// The memory limit, in bytes, of a cgroup that holds a hog.
const LIMIT: &str = "33554432";

/// A cgroup of version 1 with its memory controller, removed when this is dropped.
struct Cgroup(PathBuf);

impl Cgroup {
    #[track_caller]
    fn new() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("a list of mounts");
        let place = mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let has_memory = fields.get(3)?.split(',').any(|word| word == "memory");
            (fields[2] == "cgroup" && has_memory).then(|| PathBuf::from(fields[1]))
        });
        let place = place.expect(
            "cgroup v1 with its memory controller; run as root: mkdir -p /sys/fs/cgroup/memory && \
             mount -t cgroup -o memory none /sys/fs/cgroup/memory",
        );
        let name = format!("elect-test-{}-{:016x}", std::process::id(), fastrand::u64(..));
        let folder = place.join(name);
        fs::create_dir(&folder).expect("root's rights");
        fs::write(folder.join("memory.limit_in_bytes"), LIMIT).expect("a limit");
        Self(folder)
    }

    /// Two who want all the memory there is: neither has so much of it as to be the first to be killed.
    fn hogs(&self) -> Child {
        let place = self.0.join("cgroup.procs");
        let script = "echo $$ >\"$0\" && { tail /dev/zero & exec tail /dev/zero; }";
        Command::new("sh").args(["-c", script]).arg(place).spawn().expect("a shell")
    }

    /// Kills all that is in it.
    fn kill(&self) {
        let list = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        list.lines().filter_map(|pid| pid.parse().ok()).for_each(|pid| send_if_alive(pid, KILL));
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        eventually("the end of a cgroup", || {
            self.kill();
            fs::remove_dir(&self.0).ok()
        });
    }
}

/// Has the kernel kill a process for want of memory.
#[track_caller]
fn starve(pid: i32) {
    let cgroup = Cgroup::new();
    fs::write(format!("/proc/{pid}/oom_score_adj"), "1000").expect("root's rights");
    fs::write(cgroup.0.join("cgroup.procs"), pid.to_string()).expect("it lives");
    let mut hogs = cgroup.hogs();
    eventually("the kernel to kill a process", || (!is_alive(pid)).then_some(()));
    cgroup.kill();
    let _ = hogs.wait();
}

fn survive(store: Store, name: &str) {
    let case = CASES.into_iter().find(|case| case.name == name).expect("a case");
    report(case.words, store, &case.survive(store));
}

macro_rules! on {
    ($module:ident, $store:ident) => {
        mod $module {
            #[test]
            fn wrapper() {
                super::survive(super::$store, "wrapper");
            }
            #[test]
            fn guardian() {
                super::survive(super::$store, "guardian");
            }
            #[test]
            fn command() {
                super::survive(super::$store, "command");
            }
        }
    };
}

on!(file, FILE);
on!(consul, CONSUL);
on!(etcd, ETCD);
on!(zookeeper, ZOOKEEPER);
on!(kubernetes, KUBERNETES);
on!(mariadb, MARIADB);
on!(postgresql, POSTGRESQL);
on!(redis, REDIS);
