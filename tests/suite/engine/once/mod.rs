//! Work that must be done once, on every store.

mod attempts;
mod crontab;
mod cut_short;
mod details;
mod kills;

use elect::config;
use elect::election::once::KEPT;
use elect::guard::now;
use elect_api::{Candidate, Cell, Durability, Standing};
use elect_testkit::program::state;

use crate::prelude::*;
use crate::stage::{send, stop};
use crate::store::real::{Brand, Cluster};

/// A store that several hosts use, and a folder where their commands leave word.
struct Scene {
    url: String,
    /// `None` on the local disk.
    _cluster: Option<Box<dyn Cluster>>,
    folder: TempDir,
}

impl Scene {
    fn new(brand: Option<Brand>) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let (url, cluster) = match brand {
            None => (format!("file://{}/state", folder.path().display()), None),
            Some(brand) => {
                let cluster = brand.here(1);
                (brand.url(&cluster.addresses()), Some(cluster))
            }
        };
        Self { url, _cluster: cluster, folder }
    }

    fn elect(&self, subcommand: &str) -> Elect {
        Elect::new(ELECT).args([subcommand, "-b", &self.url]).env("D", self.folder.path())
    }

    /// `elect run --once KEY` in the election "nightly".
    fn once(&self, key: &str) -> Elect {
        self.elect("run").args(["-e", "nightly", "--once", key])
    }

    /// The words that commands have left, each on a line.
    fn word(&self) -> String {
        fs::read_to_string(self.folder.path().join("word")).unwrap_or_default()
    }

    /// Waits until the command has left this.
    #[track_caller]
    fn awaits(&self, word: &str) {
        eventually("a word of the command", || (self.word() == word).then_some(()));
    }

    /// Returns the report of `elect done` on this key.
    fn key(&self, key: &str) -> Value {
        let shown = self.elect("done").args(["-o", "json", "nightly", key]).run();
        let report: Value = serde_json::from_str(&shown.stdout).expect("JSON");
        report["keys"][0].clone()
    }

    /// Writes a cell as a leader that the test does not run.
    async fn plant(&self, cell: Cell<'_>, bytes: &[u8]) {
        let store = config::connect(&self.url.parse().expect("a good URL")).expect("a store");
        let name = "nightly".parse().expect("a good name");
        let ttl = Duration::from_secs(10);
        let mut seat =
            store.open(&name, &Candidate::foreign("planter"), ttl).await.expect("a seat");
        let standing = seat.refresh(now()).await.expect("a standing").standing;
        assert!(matches!(standing, Standing::Leading { .. }), "it does not lead");
        let written = seat.write(now(), cell, bytes, Durability::Usual).await.expect("an answer");
        assert_eq!(written.why_not(), None);
        seat.resign(None).await.expect("a resign");
    }

    fn raise(&self, flag: &str) {
        fs::write(self.folder.path().join(flag), "").expect("a flag");
    }

    /// Waits until so many stand in line behind the leader.
    #[track_caller]
    fn awaits_line(&self, length: usize) {
        eventually("a line", || {
            let ended = self.elect("status").args(["-o", "json", "nightly"]).run();
            let report: Value = serde_json::from_str(&ended.stdout).ok()?;
            let waiting = report["elections"][0]["waiting"].as_array()?;
            (waiting.len() == length).then_some(())
        });
    }
}

/// Leaves word, and goes on until it is told to end.
const STAY: &str =
    r#"echo "$0" >>$D/word; until [ -e $D/end ]; do sleep 0.01; done; exit ${CODE:-0}"#;
const BRIEF: &str = r#"echo "$0" >>$D/word"#;

#[track_caller]
fn was_done_already(ended: Ended) {
    ended.exits(0).is_silent();
}

fn one_of_three_hosts_does_it(scene: &Scene) {
    let hosts = ["a", "b", "c"].map(|host| {
        let run = scene.once("today").sh(STAY).arg(host).spawn();
        if host == "a" {
            scene.awaits("a\n");
        }
        run
    });
    scene.awaits_line(2);
    scene.raise("end");
    for host in hosts {
        was_done_already(host.wait());
    }
    assert_eq!(scene.word(), "a\n");
    // A later run does not even wait for others.
    was_done_already(scene.once("today").arg("-n").sh(BRIEF).arg("d").run());
    scene.once("tomorrow").sh(BRIEF).arg("e").run().exits(0);
    was_done_already(scene.once("today").sh(BRIEF).arg("f").run());
    assert_eq!(scene.word(), "a\ne\n");
    scene.elect("status").arg("nightly").run().exits(1);
}

fn a_run_that_fails_leaves_it_to_the_next(scene: &Scene) {
    let first = scene.once("today").env("CODE", "3").sh(STAY).arg("a").spawn();
    scene.awaits("a\n");
    let second = scene.once("today").sh(BRIEF).arg("b").spawn();
    scene.awaits_line(1);
    scene.raise("end");
    first.wait().exits(3);
    second.wait().exits(0);
    scene.once("today").sh("kill -9 $$").run().exits(0);
    assert_eq!(scene.word(), "a\nb\n");
}

fn a_killed_run_is_not_done(scene: &Scene) {
    let mut first = scene.once("today").sh(STAY).arg("a").spawn();
    scene.awaits("a\n");
    first.signal(Signal::SIGKILL);
    scene.once("today").sh(BRIEF).arg("b").run().exits(0);
    assert_eq!(scene.word(), "a\nb\n");
    was_done_already(scene.once("today").sh(BRIEF).arg("c").run());
}

/// B is next and is stopped; C need not wait for it to hear that all is done.
fn a_waiter_hears_of_it_past_one_that_is_stopped(scene: &Scene) {
    let first = scene.once("today").sh(STAY).arg("a").spawn();
    scene.awaits("a\n");
    let mut second = scene.once("today").sh(BRIEF).arg("b").spawn();
    scene.awaits_line(1);
    let third = scene.once("today").sh(BRIEF).arg("c").spawn();
    scene.awaits_line(2);
    stop(second.pid());
    scene.raise("end");
    was_done_already(first.wait());
    was_done_already(third.wait());
    assert_eq!(state(second.pid()), Some('T'));
    send(second.pid(), Signal::SIGCONT);
    was_done_already(second.wait());
    assert_eq!(scene.word(), "a\n");
}

fn only_so_many_keys_are_known(scene: &Scene) {
    let keys = |range: std::ops::Range<usize>| range.map(|n| format!("key {n}")).collect();
    let all: Vec<String> = keys(0..KEPT);
    let cell = json!({ "done": all }).to_string();
    elect_testkit::run("many keys", scene.plant(Cell::Once, cell.as_bytes()));
    was_done_already(scene.once("key 0").sh(BRIEF).arg("0").run());
    scene.once("one more").arg("true").run().exits(0);
    was_done_already(scene.once("key 1").sh(BRIEF).arg("1").run());
    scene.once("key 0").sh(BRIEF).arg("0").run().exits(0);
    assert_eq!(scene.word(), "0\n");
}

fn the_outcome_tells(scene: &Scene) {
    let file = scene.folder.path().join("outcome");
    let outcome = || {
        let run = scene.once("today").arg("--outcome").arg(&file).arg("true");
        run.run().exits(0);
        let text = fs::read_to_string(&file).expect("an outcome");
        serde_json::from_str::<Value>(&text).expect("JSON")["outcome"].as_str().map(str::to_owned)
    };
    assert_eq!(outcome().as_deref(), Some("exited"));
    assert_eq!(outcome().as_deref(), Some("already_done"));
    let said = scene.once("today").args(["-v", "true"]).run().exits(0).stderr;
    assert!(said.contains("\"today\" was done already"), "{said}");
}

/// A nested run does something else, which must not be taken for done.
fn the_command_does_not_inherit_it(scene: &Scene) {
    let nested = r#"exec "$E" run -b "$B" -e other sh -c 'echo "${ELECT_ONCE-none}" >>$D/word'"#;
    for key in ["one", "two"] {
        let run = scene.elect("run").args(["-e", "nightly"]).env("ELECT_ONCE", key);
        let run = run.env("E", ELECT).env("B", &scene.url);
        run.sh(nested).run().exits(0);
    }
    assert_eq!(scene.word(), "none\nnone\n");
}

macro_rules! on_every_store {
    ($($test:ident)*) => {
        mod file {
            $(#[test] fn $test() { super::$test(&crate::engine::once::Scene::new(None)); })*
        }
        mod etcd {
            $(#[test] fn $test() { super::$test(&crate::engine::once::Scene::new(Some(crate::store::real::Brand::Etcd))); })*
        }
        mod zookeeper {
            $(#[test] fn $test() { super::$test(&crate::engine::once::Scene::new(Some(crate::store::real::Brand::ZooKeeper))); })*
        }
        mod kubernetes {
            $(#[test] fn $test() { super::$test(&crate::engine::once::Scene::new(Some(crate::store::real::Brand::Kubernetes))); })*
        }
    };
}
use on_every_store;

mod periods;

on_every_store! {
    one_of_three_hosts_does_it
    a_run_that_fails_leaves_it_to_the_next
    a_killed_run_is_not_done
    a_waiter_hears_of_it_past_one_that_is_stopped
    only_so_many_keys_are_known
    the_outcome_tells
    the_command_does_not_inherit_it
}

#[test]
fn a_key_says_something() {
    let scene = Scene::new(None);
    for key in ["", "a\nb"] {
        scene.once(key).arg("true").run().exits(125).says("key");
    }
}

/// No run repeats what may have been done.
#[test]
fn a_cell_that_cannot_be_read_is_no_empty_one() {
    let scene = Scene::new(None);
    scene.once("today").arg("true").run().exits(0);
    let cell = scene.folder.path().join("state/nightly/note-once");
    fs::write(&cell, "{").expect("a cell");
    scene.once("tomorrow").sh(BRIEF).arg("a").run().exits(125).says("remove it");
    assert_eq!(scene.word(), "");
    fs::remove_file(&cell).expect("the cell");
    std::os::unix::fs::symlink("/nowhere", &cell).expect("a link");
    scene.once("tomorrow").sh(BRIEF).arg("a").run().exits(125).says("move it away");
    assert_eq!(scene.word(), "");
    fs::remove_file(cell).expect("the link");
    scene.once("tomorrow").sh(BRIEF).arg("a").run().exits(0);
}

/// A run that has done it, and cannot record so as the disk is full, does not do it again.
#[test]
fn a_success_that_cannot_be_recorded_is_not_repeated() {
    let scene = Scene::new(None);
    fs::create_dir(scene.folder.path().join("small")).expect("a folder");
    let script = r#"mount -t tmpfs -o size=100k small "$D/small" || exit 9
        exec "$E" run -b "file://$D/small/state" -e full --once today --after-loss campaign \
            sh -c 'echo ran >>$D/word; dd if=/dev/zero of=$D/small/fill bs=1k 2>/dev/null; exit 0'"#;
    let run = Elect::new("unshare").args(["--mount", "sh", "-c", script]);
    let run = run.env("D", scene.folder.path()).env("E", ELECT).run();
    run.exits(124)
        .says("ENOSPC")
        .says("elect: error: the command exited with code 0, but that could not be recorded");
    assert_eq!(scene.word(), "ran\n");
}
