//! The units that elect shows, in README and beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use elect_testkit::program::Elect;

use super::LONG;
use super::manager::Manager;
use super::unit_file::{UnitFile, at_home, shown};
use crate::readme;
use crate::support::{Ground, installed};

const SERVER: &str = "#!/bin/sh\ntrap 'echo term >>\"$D/terms\"; exit 0' TERM\necho >\"$D/started\"\n\
                      while :; do sleep 0.01; done\n";

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine with the server that README speaks of, `/etc/elect`, and a `systemctl` that only writes down
/// what it was told.
fn machine() -> Ground {
    let ground = Ground::new();
    fs::create_dir(ground.path().join("etc")).unwrap();
    fs::create_dir(ground.path().join("bin")).unwrap();
    program(&ground.path().join("server"), SERVER);
    program(&ground.path().join("bin/systemctl"), "#!/bin/sh\necho \"$@\" >>\"$D/told\"\n");
    ground
}

/// Types the commands of a block of README.
#[track_caller]
fn type_in(ground: &Ground, block: &str) {
    let path = std::env::join_paths(
        [ground.path().join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut bash = Command::new("bash");
    bash.args(["-euc", &at_home(ground, &readme::commands(block))]);
    bash.env("PATH", path.unwrap()).env("D", ground.path());
    assert!(bash.status().unwrap().success(), "{block}");
}

fn shown_unit(name: &str) -> String {
    fs::read_to_string(shown().join(name)).unwrap()
}

/// Two machines with this unit: one leads, the other stands by, and takes over when the first is stopped.
fn serves(ground: &Ground, unit: &UnitFile) {
    assert_eq!(unit.get("Type"), "notify");
    let elect = || unit.exec_start().env("D", ground.path());
    let mut first = Manager::new().starts(elect());
    first.hears("READY=1");
    first.hears("STATUS=leading server since ");
    ground.said("started");
    let mut second = Manager::new().starts(elect());
    second.hears("READY=1");
    second.hears("STATUS=waiting for server, place 1 of 1, led by ");
    let (ended, killed, _) = first.stop(unit.kill_mode(), LONG);
    assert!(!killed && unit.is_success(ended.code()), "{ended:?}");
    second.hears("STATUS=leading server since ");
    let (ended, killed, _) = second.stop(unit.kill_mode(), LONG);
    assert!(!killed, "{ended:?}");
}

#[test]
fn the_unit_of_readme_works() {
    let ground = machine();
    let text = at_home(&ground, &readme::block("systemd", "ini"));
    serves(&ground, &UnitFile::read(&text, ""));
    let terms = fs::read_to_string(ground.path().join("terms")).unwrap();
    assert!((1..=2).contains(&terms.lines().count()), "each is told once: {terms}");
    verified(&ground, &[("server.service", text)]);
}

#[test]
fn the_units_that_are_shipped_work_as_readme_has_it() {
    let ground = machine();
    let blocks = readme::blocks("systemd", "console");
    let [service, timer] = &blocks[..] else { panic!("two blocks of commands") };
    type_in(&ground, service);
    let server = at_home(&ground, &shown_unit("elect@.service"));
    serves(&ground, &UnitFile::read(&server, "server"));
    let killed = UnitFile::read(&server, "server");
    assert!(killed.is_success(143) && !killed.is_success(124));

    type_in(&ground, timer);
    let told = fs::read_to_string(ground.path().join("told")).unwrap();
    assert_eq!(told, "enable --now elect@server\nenable --now elect-once@nightly.timer\n");
    program(&ground.path().join("nightly"), "#!/bin/sh\necho ran >>\"$D/runs\"\n");
    let nightly = at_home(&ground, &shown_unit("elect-once@.service"));
    let unit = UnitFile::read(&nightly, "nightly");
    assert_eq!(unit.get("Type"), "oneshot");
    let host = || unit.exec_start().env("D", ground.path()).spawn();
    for host in [host(), host(), host()] {
        host.wait().exits(0).is_silent();
    }
    assert_eq!(fs::read_to_string(ground.path().join("runs")).unwrap(), "ran\n");
}

#[test]
fn systemd_has_no_complaints_about_the_units() {
    let ground = machine();
    let units = ["elect@.service", "elect-once@.service", "elect-once@.timer"];
    let units = units.map(|name| (name, at_home(&ground, &shown_unit(name))));
    verified(&ground, &units);
}

#[track_caller]
fn verified(ground: &Ground, units: &[(&str, String)]) {
    let folder = ground.path().join("units");
    fs::create_dir(&folder).unwrap();
    let mut analyze =
        Elect::new(installed(&["systemd-analyze"], "systemd")).args(["verify", "--man=no"]);
    for (name, text) in units {
        fs::write(folder.join(name), text).unwrap();
        analyze = analyze.arg(folder.join(name.replace('@', "@server")));
    }
    analyze.run().exits(0).is_silent();
}
