//! A store in which whoever asks first leads: what needs an order is refused there, with the reason.

use elect_testkit::program::{Elect, Ended};
use elect_testkit::sim::{Kind, Options, SimServer};

const WHY: &str = "needs a store in which candidates queue; in sim the first to ask leads";

fn elect(server: &SimServer, words: &[&str]) -> Elect {
    let elect = Elect::new(env!("CARGO_BIN_EXE_elect")).arg(words[0]);
    elect.args(["-b", &server.url()]).args(&words[1..])
}

#[track_caller]
fn is_refused(ended: Ended, what: &str) {
    ended.exits(125).prints("").says(&format!("{what} {WHY}"));
}

#[test]
fn what_needs_an_order_is_refused_by_a_store_that_races() {
    let server = SimServer::start(&Options::new(Kind::Race));
    for (flags, what) in [
        (&["--priority", "5"][..], "--priority"),
        (&["--priority", "0"], "--priority"),
        (&["--preempt"], "--preempt"),
        (&["--preempt-after", "1s"], "--preempt"),
        (&["--slots", "2"], "--slots"),
        (&["--shards", "2"], "--shards"),
    ] {
        let run = elect(&server, &["run", "-e", "job"]).args(flags).sh("echo ran");
        is_refused(run.clone().run(), what);
        is_refused(run.arg("-n").run(), what);
    }
    for flags in [&["--priority", "5"][..], &["--preempt"]] {
        is_refused(elect(&server, &["sidecar", "-e", "job"]).args(flags).run(), flags[0]);
    }
    let variable = elect(&server, &["run", "-e", "job", "true"]).env("ELECT_PRIORITY", "5");
    is_refused(variable.run().says("ELECT_PRIORITY"), "--priority");
    is_refused(elect(&server, &["priority", "job", "web", "0"]).run(), "elect priority");
    is_refused(elect(&server, &["resign", "job", "--to", "web"]).run(), "--to");
    elect(&server, &["run", "-e", "job", "true"]).run().exits(0).is_silent();
}

#[test]
fn a_store_that_queues_takes_all_of_it() {
    for kind in [Kind::Queue, Kind::Record] {
        let server = SimServer::start(&Options::new(kind));
        for flags in [&["--priority", "5"][..], &["--preempt"], &["--slots", "2"]] {
            let run = elect(&server, &["run", "-e", &format!("job{}", flags[0])]);
            run.args(flags).sh("echo ran").run().exits(0).prints("ran\n");
        }
    }
}
