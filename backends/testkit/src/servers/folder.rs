//! The folder of a server that refuses to run as root, and the user that runs there.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;
use tempfile::TempDir;

/// The words before a program of the server.
pub(super) type Prefix = &'static [&'static str];

/// It keeps the right to read what root can read, wherever the build is. Both the kernel and `access` go by this right.
pub(super) const SERVER_USER: u32 = 65534;
pub(super) const AS_ANOTHER_USER: [&str; 12] = [
    "setpriv",
    "--reuid",
    "65534",
    "--regid",
    "65534",
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
    "--securebits=+no_setuid_fixup",
    // `setpriv` sets this last, because a change of user clears it.
    "--pdeathsig",
    "KILL",
    "--",
];

/// Returns a folder for a server with an empty folder `data` in it, and the words before its programs. It is on the
/// disk of this folder, if one is named.
pub(super) fn new_folder(disk: Option<&Path>) -> (TempDir, Prefix) {
    let folder = disk.map_or_else(TempDir::new, TempDir::new_in).expect("a temporary folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    fs::set_permissions(&data, Permissions::from_mode(0o700)).expect("our own");
    if !geteuid().is_root() {
        return (folder, &[]);
    }
    for path in [folder.path(), &data] {
        chown(path, Some(SERVER_USER), Some(SERVER_USER)).expect("we are root");
    }
    (folder, &AS_ANOTHER_USER)
}

/// Runs a program as the server's user.
#[track_caller]
pub(super) fn run(prefix: Prefix, words: &[&str]) {
    let words = [prefix, words].concat();
    let output = Command::new(words[0]).args(&words[1..]).output().expect("setpriv");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
}
