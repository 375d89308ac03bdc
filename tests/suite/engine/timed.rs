//! Leases that end by time, as the program asks for them and keeps them.

use std::time::Duration;

use elect_testkit::program::{Elect, eventually};
use elect_testkit::sim::{Cause, Effect, Kind, Op, Options, Rule, SimServer};

use crate::support::{Ground, job, run_at};

const KINDS: [Kind; 3] = [Kind::Queue, Kind::Record, Kind::Race];

fn run(server: &SimServer, id: &str) -> Elect {
    run_at(&server.url(), id)
}

#[test]
fn a_lease_of_the_length_asked_for_is_taken_and_given_back() {
    for kind in KINDS {
        let server = SimServer::start(&Options::new(kind));
        run(&server, "me").args(["sh", "-c", "echo $ELECT_TOKEN; exit 7"]).run().exits(7);
        let history = server.controls().history();
        assert_eq!(history.len(), 1, "{kind:?}: {history:?}");
        assert!(history[0].candidate.starts_with("me-"), "{history:?}");
        assert_eq!(history[0].over.map(|(_, cause)| cause), Some(Cause::Left), "{history:?}");
        let lease = history[0].lease_end.since(history[0].from);
        assert!((Duration::from_secs(5)..Duration::from_secs(10)).contains(&lease), "{lease:?}");
    }
}

#[test]
fn a_store_that_answers_no_renewals_costs_the_leadership() {
    for kind in KINDS {
        let server = SimServer::start(&Options::new(kind));
        let mut leader = run(&server, "cut").args(["sleep", "1000"]).spawn();
        eventually("a leader", || server.controls().leader(&job()));
        let rule = server.controls().add(Rule::new(Effect::LoseReply).op(Op::Renew).client("cut-"));
        eventually("a renewal", || (server.controls().hits(rule) > 0).then_some(()));
        assert!(leader.is_running());
        leader.wait().exits(124).says("lost");
        // The entry was renewed all the time; only its holder did not know, and resigned in the end.
        assert_eq!(server.controls().leader(&job()), None);
    }
}

#[test]
fn a_definite_loss_is_one_at_once() {
    let server = SimServer::start(&Options::new(Kind::Queue));
    let leader = run(&server, "me").args(["sleep", "1000"]).spawn();
    let lease = eventually("a leader", || server.controls().leader(&job()));
    assert_eq!(server.controls().remove(&job(), "me-"), 1);
    leader.wait().exits(124);
    let history = server.controls().history();
    assert_eq!(history[0].over.map(|(_, cause)| cause), Some(Cause::Removed));
    assert_eq!(history[0].token, lease.token);
}

#[test]
fn flags_about_time_are_refused_where_leases_have_no_limit() {
    let ground = Ground::new();
    for flag in ["--ttl=30s", "--max-clock-drift=5%"] {
        let name = flag.split('=').next().expect("a name");
        ground.run().args([flag, "true"]).run().exits(125).says(name).says("no time limit");
    }
}

#[test]
fn lengths_and_drifts_that_make_no_sense_are_refused() {
    let server = SimServer::start(&Options::new(Kind::Queue));
    for (flag, says) in [
        ("--ttl=0", "less than 1s"),
        ("--ttl=2days", "24 hours"),
        ("--max-clock-drift=100%", "10%"),
        // Allowed as such, but it leaves no time to renew.
        ("--ttl=2s", "take a TTL of"),
    ] {
        let elect = Elect::new(env!("CARGO_BIN_EXE_elect"));
        elect.args(["run", "-b", &server.url(), flag, "true"]).run().exits(125).says(says);
    }
    assert!(server.controls().history().is_empty());
}

#[test]
fn the_command_sees_the_deadline_that_is_kept() {
    let server = SimServer::start(&Options::new(Kind::Queue));
    let elect = env!("CARGO_BIN_EXE_elect");
    let script = format!(
        "{elect} check && {elect} check --remaining 3s; {elect} check --remaining 5s; echo $?"
    );
    let ended = run(&server, "me").args(["sh", "-c", &script]).run().exits(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    // 5 s / 1.1 less half a second, counted from before the win.
    let left = lines[0].strip_prefix("leading, ").and_then(|line| line.strip_suffix("s left"));
    let left: f64 = left.and_then(|left| left.parse().ok()).expect("a number of seconds");
    assert!((3.0..=4.05).contains(&left), "{lines:?}");
    assert_eq!(lines.last(), Some(&"1"), "{lines:?}");
}
