//! If candidates judge when a lease is over, a dead leader looks alive at first: to runs that do not wait, or not for
//! long, and to people who remove it.

use std::time::Duration;

use elect_api::{Candidate, Standing};
use elect_testkit::program::{Elect, eventually};
use elect_testkit::sim::{Effect, Kind, Op, Options, Rule, SimServer, boottime};

use crate::support::{job, run_at};

const TTL: Duration = Duration::from_secs(5);

/// Lets a candidate lead for a moment, and die without a word.
fn leave_a_dead_leader(server: &SimServer) {
    elect_testkit::run("a leader that dies", async {
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign("dead") };
        let mut seat = server.connect().open(&job(), &candidate, TTL).await.expect("a seat");
        let standing = seat.refresh(boottime()).await.expect("a standing").standing;
        assert!(matches!(standing, Standing::Leading { .. }));
    });
}

#[test]
fn a_run_that_hardly_waits_follows_a_leader_that_died() {
    for kind in [Kind::Record, Kind::Race] {
        for patience in [&["-n"][..], &["--wait", "1s"]] {
            let server = SimServer::start(&Options::new(kind));
            leave_a_dead_leader(&server);
            let began = boottime();
            run_at(&server.url(), "cron").args(patience).args(["echo", "done"]).run().exits(0);
            let took = boottime().since(began);
            println!("{kind:?}, {patience:?}: after {took:.1?}");
            assert!(took >= TTL && took < TTL * 2, "{took:?}");
        }
    }
}

#[test]
fn a_run_that_does_not_wait_leaves_soon_where_a_leader_lives() {
    for kind in [Kind::Record, Kind::Race] {
        let server = SimServer::start(&Options::new(kind));
        let leader = run_at(&server.url(), "leader").args(["sleep", "1000"]).spawn();
        eventually("a leader", || server.controls().leader(&job()));
        let renewal = Rule::new(Effect::DelayReply(Duration::from_millis(1))).op(Op::Renew);
        let renewals = server.controls().add(renewal.client("leader-"));
        let cron = run_at(&server.url(), "cron").args(["-n", "true"]);
        cron.run().exits(75).says("leads");
        // Six of them are as long as a lease. It leaves once it has seen one.
        let seen = server.controls().hits(renewals);
        println!("{kind:?}: after {seen} renewals");
        assert!((1..6).contains(&seen), "{seen}");
        drop(leader);
    }
}

/// No waiter would take its place, so it is in the store for ever.
#[test]
fn a_dead_leader_is_seen_off() {
    for kind in [Kind::Record, Kind::Race] {
        let server = SimServer::start(&Options::new(kind));
        leave_a_dead_leader(&server);
        let elect = || Elect::new(env!("CARGO_BIN_EXE_elect"));
        let resign = elect().args(["resign", "-b", &server.url(), "job", "--force"]);
        resign.run().exits(0).is_quiet();
        assert_eq!(server.controls().leader(&job()), None, "{kind:?}");
    }
}

/// With priorities, a run looks for the leader: a dead leader is there, and outdoes no candidate.
#[test]
fn a_run_that_does_not_wait_follows_a_leader_that_died_where_priorities_count() {
    let server = SimServer::start(&Options::new(Kind::Record));
    run_at(&server.url(), "once").args(["--priority", "50", "true"]).run().exits(0);
    leave_a_dead_leader(&server);
    let began = boottime();
    run_at(&server.url(), "cron").args(["-n", "true"]).run().exits(0);
    let took = boottime().since(began);
    println!("after {took:.1?}");
    assert!(took >= TTL && took < TTL * 2, "{took:?}");
}

/// Of three that come at once after a leader that died one does the job, and the others leave.
#[test]
fn of_crons_on_three_hosts_one_runs() {
    let server = SimServer::start(&Options::new(Kind::Record));
    leave_a_dead_leader(&server);
    let crons: Vec<_> = ["one", "two", "three"]
        .map(|id| run_at(&server.url(), id).args(["-n", "sh", "-c", "sleep 8; echo done"]).spawn())
        .into();
    let mut codes: Vec<_> = crons.into_iter().map(|cron| cron.wait().code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 75, 75]);
}
