//! `elect forget`: removes an election that is not needed any more.

use elect_testkit::program::Elect;
use elect_testkit::servers::ApiServer;

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store, on_each_table};

on_each_store! {
    forget_shows_losses_and_removes_with_yes
    an_election_with_candidates_or_a_pause_is_kept
    fences_need_a_word_of_their_own
    with_the_whole_go_its_parts
}

on_each_table! {
    forget_shows_losses_and_removes_with_yes
    an_election_with_candidates_or_a_pause_is_kept
    fences_need_a_word_of_their_own
    with_the_whole_go_its_parts
}

fn names(arena: &Arena) -> String {
    arena.elect("status").args(["-o", "json"]).run().exits(0).stdout
}

fn forget_shows_losses_and_removes_with_yes(arena: &Arena) {
    let forget = |words: &[&str]| arena.elect("forget").args(words).run();
    let script = "exec \"$ELECT\" put cursor 5";
    let leader = arena.elect("run").args(["-e", "nightly", "--id", "one", "--once", "monday"]);
    leader.env("ELECT", env!("CARGO_BIN_EXE_elect")).sh(script).run().exits(0);
    let shown = forget(&["nightly"]).exits(1).says("nothing is removed: --yes removes all").stdout;
    assert!(shown.contains("nightly: 1 --once key, the last monday\n"), "{shown}");
    assert!(shown.contains("nightly: 1 value: cursor\n"), "{shown}");
    assert!(names(arena).contains("nightly"));
    let gone = forget(&["nightly", "--yes"]).exits(0).is_quiet().stdout;
    assert_eq!(gone, format!("{shown}nightly is forgotten\n"));
    assert!(!names(arena).contains("nightly"));
    forget(&["nightly", "--yes"]).exits(125).says("no election nightly at ");
    // It is as if the key had never been done.
    let once = arena.elect("run").args(["-e", "nightly", "--once", "monday"]);
    once.sh("exit 7").run().exits(7);
}

fn an_election_with_candidates_or_a_pause_is_kept(arena: &Arena) {
    let forget = || arena.elect("forget").args(["job", "--yes"]).run();
    let one = arena.leader("one", 15);
    forget().exits(125).says("job has 1 candidate, one-").prints("");
    one.ended_by(nix::sys::signal::Signal::SIGTERM);
    arena.elect("pause").args(["job", "--create"]).run().exits(0);
    forget().exits(125).says("job is paused by ").says("elect resume job");
    assert!(names(arena).contains("job"));
    arena.elect("resume").arg("job").run().exits(0);
    forget();
    assert!(!names(arena).contains("job"));
}

fn fences_need_a_word_of_their_own(arena: &Arena) {
    let forget = |words: &[&str]| arena.elect("forget").args(words).run();
    let fence = |token: &str| {
        let fence = arena.elect("fence").args(["-e", "job", "--token", token, "bucket", "true"]);
        fence.run()
    };
    fence("7").exits(0);
    fence("6").exits(124);
    forget(&["job"]).exits(1).says("nothing is removed: --yes --fences removes all");
    forget(&["job", "--fences"]).exits(1).says("nothing is removed: --yes removes all");
    forget(&["job", "--yes"])
        .exits(125)
        .says("has a fence of bucket")
        .prints("job: 1 fence: bucket\n");
    fence("6").exits(124);
    forget(&["job", "--yes", "--fences"]).exits(0);
    fence("6").exits(0);
}

fn with_the_whole_go_its_parts(arena: &Arena) {
    let run = || arena.elect("run").args(["-e", "job", "--slots", "2", "true"]).run();
    run().exits(0);
    let forget = |words: &[&str]| arena.elect("forget").args(words).run();
    forget(&["job:0", "--yes"]).exits(125).says("job:0 is a part of job");
    forget(&["job", "--yes"]).exits(0);
    assert!(!names(arena).contains("job"));
    run().exits(0);
}

/// On Kubernetes the fences are in an object that people can edit. A damaged object may have had a fence.
#[test]
fn damaged_fences_need_that_word_as_well() {
    let server = ApiServer::start();
    let url = server.url("elect");
    let elect = |words: &[&str]| {
        let elect = Elect::new(env!("CARGO_BIN_EXE_elect")).args(&words[..1]);
        elect.args(["-b", &url]).args(&words[1..]).run()
    };
    let fence = || elect(&["fence", "-e", "job", "--token", "7", "bucket", "true"]);
    fence().exits(0);
    let path = "/apis/coordination.k8s.io/v1/namespaces/elect/leases/job.data";
    let broken = serde_json::json!({"metadata": {"annotations": {"elect/data": "{"}}});
    assert_eq!(server.call("PATCH", path, Some(&broken)).0, 200);
    let damage =
        "the annotation elect/data of the Lease job.data in the namespace elect is damaged";
    for ended in [fence(), elect(&["run", "-e", "job", "true"]), elect(&["forget", "job", "--yes"])]
    {
        ended.exits(125).says(damage).says("elect forget --yes --fences job");
    }
    let shown = elect(&["forget", "job"]).exits(1).says("--yes --fences removes all of this");
    shown.prints("job: fences and values, which cannot be read\n");
    elect(&["forget", "job", "--yes", "--fences"]).exits(0);
    fence().exits(0);
    elect(&["run", "-e", "job", "true"]).exits(0);
}

#[test]
fn a_yes_is_no_setting() {
    let arena = Arena::on(Ground::File);
    let file = arena.path("elect.yaml");
    std::fs::write(&file, "yes: true\n").expect("a file");
    let file = file.to_str().expect("a path");
    arena.elect("forget").args(["job", "--config", file]).run().exits(125).says("yes");
}
