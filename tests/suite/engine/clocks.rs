//! A clock that is slewed further than leases allow for.

use elect_testkit::sim::{Cause, Kind, Options, SimServer};

use crate::prelude::*;
use crate::stage::Stage;
use crate::support::job;

/// A store, and a clock that runs as a file says.
struct Ground {
    server: SimServer,
    oracle: Oracle,
    folder: TempDir,
}

impl Ground {
    fn new() -> Self {
        let server = SimServer::start(&Options::new(Kind::Queue));
        Self { server, oracle: Oracle::new(), folder: TempDir::new().expect("a folder") }
    }

    fn slew(&self) -> PathBuf {
        self.folder.path().join("slew")
    }

    /// As `adjtimex(2)` would tell it.
    fn tick(&self, tick: u32) {
        // In one step: it is read all the time.
        let new = self.folder.path().join("new");
        fs::write(&new, format!("{tick} -6553600")).expect("a slew");
        fs::rename(new, self.slew()).expect("the slew");
    }

    fn run(&self, flags: &[&str], tag: &str) -> Elect {
        let elect = Elect::new(ELECT);
        let elect = elect.args(["run", "-b", &self.server.url(), "-e", "job", "--ttl", "9s"]);
        let command = self.oracle.stamper(tag).children(2).command();
        elect.env("ELECT_TEST_SLEW", self.slew()).args(flags).arg("--").args(command)
    }
}

#[test]
fn a_leader_whose_clock_is_slewed_too_far_steps_down_and_says_why() {
    let ground = Ground::new();
    ground.tick(9_500);
    let a = ground.run(&["--max-clock-drift", "6%"], "A").spawn();
    ground.oracle.wait_for_run("A");
    // Several renewals with a clock that is within the bound.
    ground.oracle.wait_for_stamps("A", Duration::from_secs(4));
    ground.tick(9_300);
    let ended = a.wait().exits(124);
    ended.says("clock is slewed to run 7.01 % too slow").says("--max-clock-drift");
    let history = ground.server.controls().history();
    assert_eq!(history.len(), 1, "{history:?}");
    assert_eq!(history[0].over.map(|(_, cause)| cause), Some(Cause::Left), "{history:?}");
    assert!(!ground.oracle.newest("A").expect("A ran").is_alive());
}

#[test]
fn a_candidate_whose_clock_is_slewed_too_far_never_starts_its_command() {
    let ground = Ground::new();
    ground.tick(11_100);
    let says = "clock is slewed to run 10.99 % too fast";
    ground.run(&[], "A").run().exits(125).says(says);
    assert!(ground.server.controls().history().is_empty());
    // Nor when the clock goes wrong in the queue.
    ground.tick(10_000);
    let a = ground.run(&[], "A").spawn();
    ground.oracle.wait_for_run("A");
    let b = ground.run(&["--id", "B"], "B").spawn();
    let status = Elect::new(ELECT);
    let status = status.args(["status", "-b", &ground.server.url(), "-o", "json"]);
    eventually("B in line", || status.run().stdout.contains("\"B-").then_some(()));
    ground.tick(11_100);
    b.wait().exits(125).says(says);
    a.wait().exits(124).says(says);
    assert!(ground.oracle.newest("B").is_none());
    assert_eq!(ground.server.controls().leader(&job()), None);
}

#[test]
fn on_the_local_disk_no_clock_matters() {
    let (stage, ground) = (Stage::new(), Ground::new());
    ground.tick(5_000);
    let run = stage.run(&stage.brief("A")).env("ELECT_TEST_SLEW", ground.slew());
    run.run().exits(0).is_silent();
    stage.assert_runs(&["A"]);
}
