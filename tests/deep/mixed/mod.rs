//! Elections that releases share: one of today, and each of three from before a change. Each release reads what the
//! other writes, and no expected failure lets both run at once. Each feature that only one of the two has is tried
//! beside a release without it.

mod once;
mod scene;
mod steering;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::thread;

use elect_testkit::program::{Elect, Ended};
use tempfile::TempDir;

use crate::store::real::{Brand, Home};

/// The last commit in which notes, orders, fences and values were four protocols. Cells have replaced them, with the
/// same bytes in the store.
static FOUR_PROTOCOLS: Release = Release::of("4e80cac");
/// The last commit without what `once` and `steering` try: details of runs, `elect done`, `--once-attempts`,
/// `--once-per`, `--max-run`, pauses that end by themselves, and `elect forget`.
static WITHOUT_RUNS: Release = Release::of("a186a91");
/// The last commit in which an entry says nothing of the candidate's command.
static WITHOUT_WORK: Release = Release::of("43e46095");
static RELEASES: [&Release; 3] = [&FOUR_PROTOCOLS, &WITHOUT_RUNS, &WITHOUT_WORK];

/// At once: most of the time they wait.
const WORKERS: usize = 4;

/// The faults in which an overlap would show.
const EVERYWHERE: [&str; 7] = [
    "wrapper_stopped",
    "guardian_stopped",
    "all_stopped",
    "wrapper_killed",
    "guardian_killed",
    "both_killed_at_once",
    "term_ignored",
];
const ON_SERVERS: [&str; 3] = ["slow_exit_and_cut_off", "packets_rejected", "replies_late"];

/// An earlier release.
struct Release {
    commit: &'static str,
    built: OnceLock<PathBuf>,
}

impl Release {
    const fn of(commit: &'static str) -> Self {
        Self { commit, built: OnceLock::new() }
    }

    /// The program of that commit, built as it was. Tests are processes of their own: one builds at a time.
    fn binary(&self) -> &Path {
        self.built.get_or_init(|| {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            let folder = here.join("target/before").join(self.commit);
            let source = folder.join("source");
            std::fs::create_dir_all(&source).expect("a folder");
            let script = format!(
                "exec 9>{folder}/lock; flock 9; git archive {commit} | tar -x -C {source}; cd {source}; \
                 cargo build --quiet --release --locked --bin elect --target-dir {folder}",
                commit = self.commit,
                source = source.display(),
                folder = folder.display(),
            );
            let built = Command::new("sh").args(["-ec", &script]).current_dir(here).status();
            assert!(built.expect("sh runs").success(), "cannot build {}", self.commit);
            folder.join("release/elect")
        })
    }
}

/// A test of a fault, in which one of the two that take part is of an earlier release.
struct Job {
    test: String,
    commit: &'static str,
    binary: &'static Path,
    /// The variable that says so.
    who: &'static str,
}

fn jobs() -> Vec<Job> {
    let local = EVERYWHERE.iter().map(|fault| format!("store::real::file::{fault}"));
    let remote = ["etcd", "zookeeper"].into_iter().flat_map(|store| {
        let faults = EVERYWHERE.iter().chain(&ON_SERVERS);
        faults.map(move |fault| format!("store::real::{store}::{fault}"))
    });
    let tests: Vec<String> = local.chain(remote).collect();
    let mut jobs = Vec::new();
    for release in RELEASES {
        let (commit, binary) = (release.commit, release.binary());
        for who in ["ELECT_BINARY_A", "ELECT_BINARY_B"] {
            let job = |test: &String| Job { test: test.clone(), commit, binary, who };
            jobs.extend(tests.iter().map(job));
        }
    }
    jobs
}

#[test]
fn releases_share_an_election_under_faults() {
    let jobs = jobs();
    let count = jobs.len();
    let (jobs, failures) = (Mutex::new(jobs.into_iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let job = jobs.lock().expect("no worker panics with it").next();
            let Some(job) = job else { break };
            let output = Command::new(std::env::current_exe().expect("this binary"))
                .args([&job.test, "--exact", "--nocapture"])
                .env(job.who, job.binary)
                .output()
                .expect("this binary runs");
            let said = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() || !said.contains("1 passed") {
                let job = format!("{}, {} of {}", job.test, job.who, job.commit);
                println!("{job}: {said}{}", String::from_utf8_lossy(&output.stderr));
                failures.lock().expect("no worker panics with it").push(job);
            }
        }
    };
    thread::scope(|scope| (0..WORKERS).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().expect("no worker panicked with it");
    assert!(failures.is_empty(), "{failures:#?}");
    println!("{count} runs, with {} earlier releases", RELEASES.len());
}

/// Two releases, and a store; of each test of the older one the elections have a name of their own.
struct Pair {
    url: String,
    /// Of the older one.
    commit: &'static str,
    binaries: [PathBuf; 2],
}

impl Pair {
    fn run(&self, who: usize, words: &[&str]) -> Ended {
        Elect::new(&self.binaries[who]).args(words).env("ELECT_BACKEND", &self.url).run()
    }

    /// Whatever the one writes, the other reads.
    fn write_and_read(&self, writer: usize, reader: usize) {
        let job = format!("job-{}-{writer}", self.commit);
        let write = |words: &[&str]| self.run(writer, words).exits(0);
        let read = |words: &[&str]| self.run(reader, words);
        // The work that is done once, and its history. A command that ends at once may be missing from the history.
        let script = "until \"$SELF\" history -o json \"$ELECT_LEADER_ELECTION\" | grep -q writer-; do :; done";
        let once = ["run", "-e", &job, "--once", "key", "--id", "writer"];
        let first = Elect::new(&self.binaries[writer]).args(once).sh(script);
        let first = first.env("ELECT_BACKEND", &self.url).env("SELF", &self.binaries[writer]);
        first.run().exits(0);
        read(&["run", "-e", &job, "--once", "key", "--", "false"]).exits(0);
        let history = read(&["history", "-o", "json", &job]).exits(0);
        assert!(history.stdout.contains("\"writer-"), "{}", history.stdout);
        // Values and fences: a leader of the one, with what the other has written.
        let script = "\"$OTHER\" put cursor 4711 && [ \"$(\"$SELF\" get cursor)\" = 4711 ] &&
            \"$SELF\" put state kept && [ \"$(\"$OTHER\" get state)\" = kept ] &&
            \"$SELF\" fence disk true && \"$OTHER\" fence disk true &&
            ! \"$OTHER\" fence --token 1 disk true";
        let leader = Elect::new(&self.binaries[writer]).args(["run", "-e", &job]).sh(script);
        let leader = leader.env("ELECT_BACKEND", &self.url).env("SELF", &self.binaries[writer]);
        leader.env("OTHER", &self.binaries[reader]).run().exits(0);
        // The requests of users.
        write(&["pause", "--reason", "release", &job]);
        let status = read(&["status", "-o", "json", &job]);
        assert!(status.stdout.contains("release"), "{}", status.stdout);
        read(&["run", "-n", "-e", &job, "--", "true"]).exits(75);
        read(&["resume", &job]).exits(0);
        write(&["run", "-n", "-e", &job, "--", "true"]);
        let script = "\"$SELF\" priority --timeout 0 \"$ELECT_LEADER_ELECTION\" somebody 0";
        let asker =
            Elect::new(&self.binaries[writer]).args(["run", "-e", &job, "--id", "somebody"]);
        let asker = asker.env("ELECT_BACKEND", &self.url).env("SELF", &self.binaries[writer]);
        // It is asked to hand over as it asks.
        asker.sh(script).run();
        read(&["run", "-n", "-e", &job, "--id", "somebody", "--", "true"]).exits(75);
        // The slots into which an election is divided.
        let slots = format!("slots-{}-{writer}", self.commit);
        write(&["run", "-e", &slots, "--slots", "2", "--", "true"]);
        read(&["run", "-e", &slots, "--slots", "2", "--", "true"]).exits(0);
    }
}

fn both_ways(url: &str) {
    for release in RELEASES {
        let now = PathBuf::from(env!("CARGO_BIN_EXE_elect"));
        let binaries = [release.binary().to_owned(), now];
        let pair = Pair { url: url.to_owned(), commit: release.commit, binaries };
        pair.write_and_read(0, 1);
        pair.write_and_read(1, 0);
    }
}

#[test]
fn both_releases_read_each_others_data_on_the_local_disk() {
    let folder = TempDir::new().expect("a folder");
    both_ways(&format!("file://{}", folder.path().join("state").display()));
}

#[test]
fn both_releases_read_each_others_data_in_etcd() {
    both_ways(&Home::alone(Brand::Etcd).url());
}

#[test]
fn both_releases_read_each_others_data_in_zookeeper() {
    both_ways(&Home::alone(Brand::ZooKeeper).url());
}
