//! The units that elect shows, in the manual and beside it.

use std::os::unix::fs::{PermissionsExt, chown};

use elect_testkit::fault::{Filter, Refusal};

use super::LONG;
use super::manager::Manager;
use super::unit_file::{UnitFile, at_home, shown};
use crate::cli::manual;
use crate::prelude::*;
use crate::support::{WallClock, installed};
use crate::usage::other_user;

const SERVER: &str = "#!/bin/sh\ntrap 'echo term >>\"$D/terms\"; exit 0' TERM\necho >\"$D/started\"\n\
                      while :; do sleep 0.01; done\n";

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine with the server that the manual speaks of, `/etc/elect`, and a `systemctl` that only writes down
/// what it was told.
fn machine() -> Ground {
    let ground = Ground::new();
    fs::create_dir(ground.path().join("etc")).unwrap();
    fs::create_dir(ground.path().join("bin")).unwrap();
    program(&ground.path().join("server"), SERVER);
    program(&ground.path().join("bin/systemctl"), "#!/bin/sh\necho \"$@\" >>\"$D/told\"\n");
    ground
}

/// Types the commands of a block of the manual.
#[track_caller]
fn type_in(ground: &Ground, block: &str) {
    let path = std::env::join_paths(
        [ground.path().join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut bash = Command::new("bash");
    bash.args(["-euc", &at_home(ground, &manual::commands(block))]);
    bash.env("PATH", path.unwrap()).env("D", ground.path());
    assert!(bash.status().unwrap().success(), "{block}");
}

/// What a unit and a file in its `.d` folder say together.
fn with(unit: &str, example: &str) -> String {
    [unit, &shown_unit(&format!("examples/{example}.conf"))].concat()
}

fn shown_unit(name: &str) -> String {
    fs::read_to_string(shown().join(name)).unwrap()
}

/// Two machines with this unit: one leads, the other stands by, and takes over when the first is stopped.
#[track_caller]
fn serves(ground: &Ground, unit: &UnitFile) {
    serves_under(ground, unit, |elect| elect);
}

/// The same under what other programs take away from elect.
#[track_caller]
fn serves_under(ground: &Ground, unit: &UnitFile, confine: impl Fn(Elect) -> Elect) {
    assert_eq!(unit.get("Type"), "notify");
    let elect = || confine(unit.exec_start().env("D", ground.path()));
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
fn the_unit_of_the_manual_works() {
    let ground = machine();
    let shown = manual::block("systemd", "systemd", "ini");
    assert_eq!(manual::block("README", "Many machines: a daemon with a standby", "ini"), shown);
    let text = at_home(&ground, &shown);
    serves(&ground, &UnitFile::read(&text, ""));
    let terms = fs::read_to_string(ground.path().join("terms")).unwrap();
    assert!((1..=2).contains(&terms.lines().count()), "each is told once: {terms}");
    verified(&ground, &[("server.service", text)]);
}

#[test]
fn the_units_that_are_shipped_work_as_the_manual_has_it() {
    let ground = machine();
    let blocks = manual::blocks("systemd", "systemd", "console");
    let [service, timer] = &blocks[..] else { panic!("two blocks of commands") };
    type_in(&ground, service);
    let server = at_home(&ground, &shown_unit("elect@.service"));
    serves(&ground, &UnitFile::read(&server, "server"));
    let killed = UnitFile::read(&server, "server");
    assert!(killed.is_success(143) && !killed.is_success(124));

    let mode = fs::metadata(ground.path().join("etc/server.env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "there may be a password in it");

    type_in(&ground, timer);
    let told = fs::read_to_string(ground.path().join("told")).unwrap();
    assert_eq!(told, "enable --now elect@server\nenable --now elect-once@nightly.timer\n");
    program(&ground.path().join("nightly"), "#!/bin/sh\necho ran >>\"$D/runs\"\n");
    let nightly = at_home(&ground, &shown_unit("elect-once@.service"));
    let unit = UnitFile::read(&nightly, "nightly");
    assert_eq!(unit.get("Type"), "oneshot");
    let clock = WallClock::new();
    // Three hosts on time, one that boots after midnight, in UTC and elsewhere, and all of them at the next time.
    for (times, time) in [
        (1, "2026-11-26T03:00:00Z"),
        (1, "2026-11-27T00:10:00Z"),
        (1, "2026-11-27T02:49:00Z"),
        (2, "2026-11-27T02:59:00Z"),
        (2, "2026-11-27T03:00:00Z"),
    ] {
        clock.set(time);
        let zones = ["UTC", "Asia/Tokyo", "America/Los_Angeles"];
        let hosts = zones.map(|zone| {
            clock.of(unit.exec_start().env("D", ground.path()).env("TZ", zone)).spawn()
        });
        for host in hosts {
            host.wait().exits(0).is_silent();
        }
        let runs = fs::read_to_string(ground.path().join("runs")).unwrap();
        assert_eq!(runs, "ran\n".repeat(times), "{time}");
    }
    assert!(shown_unit("elect-once@.timer").contains("OnCalendar=*-*-* 03:00:00 UTC\n"));
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

/// How much of the machine is exposed to a unit with these files in its `.d` folder, in tenths: systemd's own count.
#[track_caller]
fn exposure(ground: &Ground, unit: &str, example: Option<&str>) -> u32 {
    let folder = ground.path().join(format!("exposed-{}", example.unwrap_or_default()));
    let more = folder.join(format!("{unit}.d"));
    fs::create_dir_all(&more).unwrap();
    fs::write(folder.join(unit), at_home(ground, &shown_unit(unit))).unwrap();
    if let Some(example) = example {
        let text = shown_unit(&format!("examples/{example}.conf"));
        fs::write(more.join(format!("{example}.conf")), text).unwrap();
    }
    let analyze = || Elect::new(installed(&["systemd-analyze"], "systemd"));
    let verify = analyze().args(["verify", "--man=no"]);
    verify.arg(folder.join(unit.replace('@', "@server"))).run().exits(0).is_silent();
    let security = analyze().args(["security", "--offline=true", "--no-pager"]);
    let found = security.arg(folder.join(unit)).run().exits(0).stdout;
    let (_, level) = found.rsplit_once("exposure level for ").expect(&found);
    let level = level.split_whitespace().nth(1).expect(&found);
    level.replace('.', "").parse().expect("tenths")
}

#[test]
fn the_units_expose_less_than_half_of_the_machine() {
    let ground = machine();
    for unit in ["elect@.service", "elect-once@.service"] {
        let own = exposure(&ground, unit, None);
        assert!(own < 50, "{unit}: {own}");
        assert!(exposure(&ground, unit, Some("hardened")) < own.min(40), "{unit}");
        assert!(exposure(&ground, unit, Some("user")) < own, "{unit}");
        // This one gives everything back.
        assert!(exposure(&ground, unit, Some("administration")) > 90, "{unit}");
    }
}

/// The units withhold rights, files of the system and the kernel, and the one call that `RestrictNamespaces=` forbids
/// as a whole. This test covers the restrictions that elect itself could mind.
#[test]
fn elect_works_with_the_rights_that_units_leave() {
    let ground = machine();
    type_in(&ground, &manual::blocks("systemd", "systemd", "console")[0]);
    let text = with(&at_home(&ground, &shown_unit("elect@.service")), "hardened");
    let unit = UnitFile::read(&text, "server");
    let withheld: Vec<String> = unit
        .all("CapabilityBoundingSet")
        .flat_map(|set| set.strip_prefix('~').expect("a list of what is withheld").split(' '))
        .map(|name| name.replace("CAP_", "-").to_lowercase())
        .collect();
    assert!(withheld.len() > 10, "{withheld:?}");
    let read_only = "for place in /proc/sys /sys /usr; do mount --rbind $place $place; \
                     mount -o remount,bind,ro $place; done; exec \"$0\" \"$@\"";
    let no_clone3 =
        Filter { call: libc::SYS_clone3, argument: None, refusal: Refusal::Error(libc::ENOSYS) };
    serves_under(&ground, &unit, |elect| {
        elect
            .under(["unshare", "--mount", "--uts", "sh", "-euc", read_only])
            .under(["setpriv", "--no-new-privs", "--bounding-set", &withheld.join(","), "--"])
            .under(no_clone3.words())
    });
}

/// As systemd gives a user all that is in its unit's directory, root's elections must not be there.
#[test]
fn a_unit_of_a_user_and_those_of_root_keep_their_elections_apart() {
    let (user, home) = (other_user(), TempDir::new().unwrap());
    chown(home.path(), Some(user.id), Some(user.id)).unwrap();
    let unit = shown_unit("elect@.service");
    let directory = |text: &str| {
        let unit = UnitFile::read(text, "server");
        unit.all("StateDirectory").last().map(str::to_owned)
    };
    assert_eq!([directory(&unit), directory(&shown_unit("elect-once@.service"))], [None, None]);
    let directory = directory(&with(&unit, "user")).expect("a directory");
    let script = r#"
        mount -t tmpfs -o mode=755 none /var/lib
        as_user() { setpriv --reuid "$U" --regid "$U" --clear-groups -- "$@"; }
        for turn in first second; do
            "$E" run -e job echo "$turn of root"
            as_user "$E" run -e job echo "$turn with User= alone"
            install -d -o "$U" -g "$U" -m 700 "$S"
            STATE_DIRECTORY=$S as_user "$E" run -e job echo "$turn with the file"
        done
        stat -c '%u %n' /var/lib/elect/job "$HOME/.local/state/elect/job" "$S/job""#;
    let state = format!("/var/lib/{directory}");
    let bash = Elect::new("unshare").args(["--mount", "bash", "-euc", script]);
    let ended = bash
        .env("E", user.program())
        .env("U", user.id.to_string())
        .env("S", &state)
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", "")
        .run();
    let ended = ended.exits(0).is_quiet();
    let places: Vec<&str> = ended.stdout.lines().skip(6).collect();
    let own = format!("{}/.local/state/elect/job", home.path().display());
    let owned = |id: u32, place: &str| format!("{id} {place}");
    assert_eq!(
        places,
        [
            owned(0, "/var/lib/elect/job"),
            owned(user.id, &own),
            owned(user.id, &format!("{state}/job"))
        ]
    );
}
