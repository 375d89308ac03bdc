//! Leases that candidates judge: a leader that crashed leaves its entry, and who looks on finds that its lease is over.

use elect::config;
use elect_api::{Candidate, Seat, Standing};

use super::arena::{Arena, Ground};
use super::observer::Observer;
use crate::prelude::*;

/// As long as a quick look waits for a renewal, so that it is over before this lease is.
const TTL: Duration = Duration::from_secs(4);

/// A leader that does nothing any more, on a machine that is gone: no guardian gives its entry up.
fn crashed(arena: &Arena) -> Box<dyn Seat> {
    let candidate =
        Candidate { host: "gone".into(), pid: 7, ..Candidate::foreign("dead-0123456789") };
    let mut seat = None;
    elect_testkit::run("crashed", async {
        let store = config::connect(&arena.url().parse().expect("a good URL")).expect("a store");
        let job = "job".parse().expect("a good name");
        let mut one = store.open(&job, &candidate, TTL).await.expect("a seat");
        let standing = one.refresh(now()).await.expect("a standing").standing;
        assert!(matches!(standing, Standing::Leading { .. }), "it does not lead");
        seat = Some(one);
    });
    seat.expect("a seat")
}

fn status(arena: &Arena) -> Ended {
    arena.elect("status").args(["job"]).run()
}

#[test]
fn a_crashed_leader_without_a_successor_is_found_out() {
    let arena = Arena::on(Ground::Kubernetes);
    let _seat = crashed(&arena);
    let observer = Observer::start(&arena.elect("observe"), arena.path("told"));
    let vacant = arena.elect("wait").args(["job", "--for", "vacant", "--timeout", "1m"]).spawn();
    // One look cannot tell, and says so.
    let told = eventually("a look that cannot tell", || {
        let told = status(&arena);
        (told.code() == 2).then_some(told)
    });
    assert!(
        told.stdout.contains(" unknown ") && told.stdout.contains("not renewed for"),
        "{told:?}"
    );
    let json = arena.status();
    assert!(json["leader"].is_null() && json["unproven"]["renewed"].is_string(), "{json}");
    assert_eq!(json["unproven"]["id"], "dead-0123456789");
    vacant.wait().exits(0);
    observer.wait_for_last("vacant");
    assert_eq!(observer.told(), ["leader dead", "left dead", "vacant"]);
    arena.elect("wait").args(["job", "--timeout", "0"]).run().exits(75).says("may be dead");
    let forgotten = arena.elect("forget").args(["--yes", "job"]).run().exits(0);
    assert!(forgotten.stdout.ends_with("job is forgotten\n"), "{forgotten:?}");
    status(&arena).exits(1);
}

#[test]
fn a_leader_that_lives_is_not_taken_for_dead() {
    let arena = Arena::on(Ground::Kubernetes);
    let _one = arena.leader("one", 15);
    status(&arena).exits(0);
    arena.elect("wait").args(["job", "--timeout", "0"]).run().exits(0);
    arena.elect("wait").args(["job", "--for", "vacant", "--timeout", "0"]).run().exits(75);
    arena.elect("forget").args(["--yes", "job"]).run().exits(125).says("stop it first");
}
