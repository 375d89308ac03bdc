//! A sidecar as the main process of a service.

use std::fs;

use super::LONG;
use super::manager::{KillMode, Manager};
use crate::support::Ground;

#[test]
fn a_sidecar_is_ready_and_alive_whatever_its_application_does() {
    let ground = Ground::new();
    let well = ground.path().join("well");
    let check = format!("test -e {}", well.display());
    let sidecar = ground.elect("sidecar").args(["-e", "job", "--grace", "100ms"]);
    let sidecar = sidecar.args(["--health-interval", "50ms", "--health-cmd", &check]);
    let mut unit = Manager::new().starts(sidecar.env("WATCHDOG_USEC", "300000"));
    unit.hears("READY=1");
    let resting = "STATUS=taking no part in job: the application is not well";
    unit.hears(resting);
    for _ in 0..2 {
        unit.hears("WATCHDOG=1");
    }
    fs::write(&well, "").expect("a file");
    unit.hears("STATUS=leading job");
    fs::remove_file(&well).expect("it is there");
    unit.hears(resting);
    // The loop of the engine turns no more, and that is well.
    for _ in 0..5 {
        unit.hears("WATCHDOG=1");
    }
    assert_eq!(unit.has_heard("STOPPING=1"), 0);
    fs::write(&well, "").expect("a file");
    unit.hears("STATUS=leading job");
    let (ended, killed, heard) = unit.stop(KillMode::ControlGroup, LONG);
    ended.exits(0);
    assert!(!killed && heard.iter().any(|line| line == "STOPPING=1"), "{heard:?}");
    assert_eq!(heard.iter().filter(|line| *line == "READY=1").count(), 1);
}

#[cfg(feature = "sim")]
#[test]
fn a_loss_is_told() {
    use elect_testkit::program::Elect;
    use elect_testkit::sim::{Kind, Options, SimServer};
    let server = SimServer::start(&Options::new(Kind::Queue));
    let ground = Ground::new();
    let lease = ground.path().join("lease").display().to_string();
    let flags = ["sidecar", "-b", &server.url(), "-e", "job", "--id", "me", "--lease-file", &lease];
    let mut unit = Manager::new().starts(Elect::new(env!("CARGO_BIN_EXE_elect")).args(flags));
    unit.hears("STATUS=leading job");
    assert_eq!(server.controls().remove(&"job".parse().expect("a name"), "me"), 1);
    unit.hears("STATUS=leadership of job is lost");
    unit.hears("STATUS=leading job");
    unit.stop(KillMode::ControlGroup, LONG).0.exits(0);
}
