//! A store without an order, in which the first to ask leads: flags that need an order are refused there, with the
//! reason.

use elect_testkit::program::{Elect, Ended, eventually};
use elect_testkit::servers::ApiServer;
use elect_testkit::servers::kubernetes::Rule;
use elect_testkit::sim::{Kind, Options, SimServer};

/// All that a Role needs for candidates that race.
const VERBS: [&str; 4] = ["get", "watch", "create", "update"];

/// A store that races.
struct Race {
    url: String,
    name: &'static str,
}

impl Race {
    fn elect(&self, words: &[&str]) -> Elect {
        let elect = Elect::new(env!("CARGO_BIN_EXE_elect")).arg(words[0]);
        elect.args(["-b", &self.url]).args(&words[1..])
    }

    #[track_caller]
    fn refuses(&self, ended: Ended, what: &str) {
        let why = "needs a store in which candidates queue";
        let name = self.name;
        ended
            .exits(125)
            .prints("")
            .says(&format!("{what} {why}; in {name} the first to ask leads"));
    }

    #[track_caller]
    fn refuses_flags_that_need_an_order(&self) {
        for (flags, what) in [
            (&["--priority", "5"][..], "--priority"),
            (&["--priority", "0"], "--priority"),
            (&["--preempt"], "--preempt"),
            (&["--preempt-after", "1s"], "--preempt"),
            (&["--slots", "2"], "--slots"),
            (&["--shards", "2"], "--shards"),
        ] {
            let run = self.elect(&["run", "-e", "job"]).args(flags).sh("echo ran");
            self.refuses(run.clone().run(), what);
            self.refuses(run.arg("-n").run(), what);
        }
        for flags in [&["--priority", "5"][..], &["--preempt"]] {
            self.refuses(self.elect(&["sidecar", "-e", "job"]).args(flags).run(), flags[0]);
        }
        let variable = self.elect(&["run", "-e", "job", "true"]).env("ELECT_PRIORITY", "5");
        self.refuses(variable.run().says("ELECT_PRIORITY"), "--priority");
        self.refuses(self.elect(&["priority", "job", "web", "0"]).run(), "elect priority");
        self.refuses(self.elect(&["resign", "job", "--to", "web"]).run(), "--to");
        self.elect(&["run", "-e", "job", "true"]).run().exits(0).is_silent();
    }
}

#[test]
fn flags_that_need_an_order_are_refused_by_a_store_that_races() {
    let server = SimServer::start(&Options::new(Kind::Race));
    Race { url: server.url(), name: "sim" }.refuses_flags_that_need_an_order();
}

#[test]
fn flags_that_need_an_order_are_refused_by_raced_leases() {
    let server = ApiServer::start();
    let user = server.kubeconfig_of(&[Rule::leases("elect", &VERBS)]);
    let url = format!("{}&order=race", ApiServer::url_with("elect", &user));
    let race = Race { url, name: "kubernetes" };
    race.refuses_flags_that_need_an_order();
    // With those rights two take turns, and people look on and steer.
    let folder = tempfile::tempdir().expect("a folder");
    let run = |id: &str| {
        let run = race.elect(&["run", "-e", "job", "--ttl", "30s", "--id", id]);
        run.env("D", folder.path())
    };
    let first = run("one").sh("touch $D/one; until [ -e $D/end ]; do sleep 0.01; done").spawn();
    eventually("a command", || folder.path().join("one").exists().then_some(()));
    race.elect(&["status", "job"]).run().exits(0);
    let second = run("two").sh("echo two").spawn();
    std::fs::write(folder.path().join("end"), "").expect("a file");
    first.wait().exits(0).is_silent();
    second.wait().exits(0).prints("two\n").is_quiet();
    for words in [["pause", "job"], ["resume", "job"], ["history", "job"]] {
        race.elect(&words).run().exits(0);
    }
    let counts = server.counts();
    // No candidate needs the right to report by events.
    let refused = counts.answers.get(&403).copied().unwrap_or_default();
    assert_eq!(refused, counts.of("create", "events"), "{counts:?}");
    assert_eq!(counts.of("list", "leases") + counts.of("delete", "leases"), 0, "{counts:?}");
}

#[test]
fn a_store_that_queues_takes_all_of_it() {
    let simulated = [Kind::Queue, Kind::Record].map(|kind| SimServer::start(&Options::new(kind)));
    let leases = ApiServer::start();
    let urls = simulated.iter().map(SimServer::url).chain([leases.url("elect")]);
    for url in urls {
        let store = Race { url, name: "none" };
        for flags in [&["--priority", "5"][..], &["--preempt"], &["--slots", "2"]] {
            let run = store.elect(&["run", "-e", &format!("job{}", flags[0])]);
            run.args(flags).sh("echo ran").run().exits(0).prints("ran\n");
        }
    }
}
