//! An unavailable containment is refused before anything starts. The message says what failed, and the way out.

use elect_testkit::program::{Elect, Ended};

use super::Runner;
use crate::usage::other_user;

fn forbidding(call: &str, error: &str) -> [String; 7] {
    let inject = format!("inject={call}:error={error}");
    ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject].map(ToOwned::to_owned)
}

/// Without the right to make namespaces, as root has it in most containers.
const CONTAINED: [&str; 6] =
    ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", "--"];

#[track_caller]
fn is_refused(run: &Elect, says: &[&str]) {
    let ended: Ended = run.clone().sh("echo ran").run().exits(125).prints("");
    for text in says {
        assert!(ended.stderr.contains(text), "{text}: {}", ended.stderr);
    }
}

#[test]
fn a_pid_namespace_that_is_forbidden_is_refused() {
    let (root, user) = (Runner::root(), Runner::ordinary());
    let walled = |runner: &Runner| runner.run().args(["--containment", "pidns"]);
    let why = "containment pidns is not available here: ";
    is_refused(&walled(&root).under(CONTAINED), &[why, "refuses a pid namespace", "CAP_SYS_ADMIN"]);
    for (error, way_out) in [("EPERM", "run elect as root"), ("ENOSPC", "user.max_user_namespaces")]
    {
        let forbidden = walled(&user).under(forbidding("unshare", error));
        is_refused(&forbidden, &[why, "refuses a user namespace", way_out]);
    }
    is_refused(
        &walled(&root).under(forbidding("clone3", "ENOSYS")),
        &[why, "Function not implemented"],
    );
}

#[test]
fn a_cgroup_that_may_not_be_made_is_refused() {
    let user = Runner::new(Some(other_user()));
    std::os::unix::fs::chown(user.cgroup.folder(), Some(0), Some(0)).unwrap();
    let run = user.run().args(["--containment", "cgroup"]);
    is_refused(
        &run,
        &["containment cgroup is not available here: ", "Permission denied", "Delegate=yes"],
    );
    let root = Runner::root();
    let run = root.run().args(["--containment", "cgroup"]);
    is_refused(
        &run.under(forbidding("clone3", "ENOSYS")),
        &["cgroup is not available", "Linux 5.14"],
    );
}

#[test]
fn a_mount_that_a_bare_root_lacks_is_named() {
    let runner = Runner::root();
    let without = |place: &str| {
        let script = format!("mount -t tmpfs none {place} && exec \"$@\"");
        ["unshare", "-m", "sh", "-c", &script, "sh"].map(ToOwned::to_owned)
    };
    is_refused(&runner.run().under(without("/dev")), &["cannot open /dev/null: "]);
    let cgroup = runner.run().args(["--containment", "cgroup"]).under(without("/proc"));
    is_refused(&cgroup, &["/proc/self/cgroup: ", "; mount /proc"]);
}

#[test]
fn auto_takes_an_invisible_containment_and_never_fails() {
    let (root, user) = (Runner::root(), Runner::ordinary());
    for runner in [&root, &user] {
        for forbidden in [
            vec![],
            CONTAINED.map(ToOwned::to_owned).to_vec(),
            forbidding("clone3,unshare", "EPERM").to_vec(),
        ] {
            let run = runner.run().args(["-v", "true"]).under(forbidden);
            run.run().exits(0).says("containment scan");
        }
    }
    let run =
        root.run().args(["-v", "--containment", "auto", "--require-containment", "scan", "true"]);
    run.run().exits(0).says("containment scan");
}

#[test]
fn a_required_containment_is_in_force_or_refused() {
    let user = Runner::ordinary();
    let requiring = |tier: &str| user.run().args(["-v", "--require-containment", tier]);
    let had = |run: &Elect, tier: &str| {
        run.clone().arg("true").run().exits(0).says(&format!("containment {tier}"));
    };
    had(&requiring("group"), "scan");
    had(&requiring("scan"), "scan");
    had(&requiring("cgroup"), "cgroup");
    if user.can_have("pidns") {
        had(&requiring("pidns"), "pidns");
        had(&user.run().args(["-v", "true"]).env("ELECT_CONTAINMENT", "pidns"), "pidns");
        // A containment that changes more for the command will do if the required one is not available.
        had(&requiring("cgroup").under(forbidding("mkdir,mkdirat", "EROFS")), "pidns");
    }
    let too_weak = requiring("pidns").args(["--containment", "scan"]);
    is_refused(&too_weak, &["containment scan is less than pidns, which is required"]);
    let neither = requiring("cgroup").under(forbidding("clone3", "ENOSYS"));
    is_refused(&neither, &["cgroup, which is required", "cgroup: ", "; pidns: "]);
    let variable =
        user.run().env("ELECT_REQUIRE_CONTAINMENT", "pidns").args(["--containment", "group"]);
    is_refused(&variable, &["containment group is less than pidns"]);
}
