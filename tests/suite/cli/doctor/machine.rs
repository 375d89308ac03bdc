//! The doctor's findings about the machine.

use elect_testkit::fault::Limits;

use super::{doctor, list, only, report};
use crate::support::Ground;
use crate::usage::other_user;

#[test]
fn few_descriptors_are_found() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    let found = report(&doctor(&url).under(Limits::new().descriptors(40)), 1);
    only(&found, "warning", &["ulimit -n", "40"]);
}

#[test]
fn few_processes_are_found() {
    let (user, ground) = (other_user(), Ground::new());
    std::os::unix::fs::chown(ground.path(), Some(user.id), Some(user.id)).expect("we are root");
    let url = format!("file://{}", ground.state().display());
    let elect = user.elect().args(["doctor", "-o", "json", "-b", &url]);
    let found = report(&elect.under(Limits::new().processes(9)), 1);
    only(&found, "warning", &["ulimit -u", "8 left"]);
}

/// A containment that is reported as available works. Any other is refused with the same words.
#[test]
fn doctor_reports_the_containments_that_a_run_finds() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    let found = report(&doctor(&url), 0);
    let tiers = list(&found, "containment");
    let names: Vec<_> =
        tiers.iter().map(|tier| tier["containment"].as_str().expect("a name")).collect();
    assert_eq!(names, ["pidns", "cgroup", "scan", "group"]);
    for (name, tier) in names.into_iter().zip(tiers) {
        let run = ground.run().args(["--containment", name, "true"]).run();
        match tier["why_not"].as_str() {
            None => {
                assert_eq!(tier["at_hand"], true);
                run.exits(0);
            }
            Some(why) => {
                assert_eq!(tier["at_hand"], false);
                run.exits(125).says(why);
            }
        }
    }
}

#[test]
fn a_tracer_is_found_where_leases_end_by_time() {
    let etcd = elect_testkit::servers::Etcd::start(1);
    let traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=none"];
    let found = report(&doctor(&etcd.url()).under(traced), 1);
    only(&found, "warning", &["traces elect"]);
}

#[test]
#[cfg(feature = "sim")]
fn a_slewed_clock_is_found_where_leases_end_by_time() {
    let ground = Ground::new();
    let slew = ground.path().join("slew");
    std::fs::write(&slew, "8800 0").expect("a file");
    let etcd = elect_testkit::servers::Etcd::start(1);
    let found = report(&doctor(&etcd.url()).env("ELECT_TEST_SLEW", &slew), 1);
    only(&found, "error", &["clock is slewed to run 12.00 % too slow"]);
    assert_eq!(found["clock"]["rate"], 0.88);
    let url = format!("file://{}", ground.state().display());
    let found = report(&doctor(&url).env("ELECT_TEST_SLEW", &slew), 0);
    assert_eq!(found["clock"]["rate"], 0.88);
}
