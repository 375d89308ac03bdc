//! A newcomer that has stopped in the middle of joining, and so holds the lock of `enter`.

use std::fs::File;
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};

use crate::support::Ground;

#[test]
fn newcomers_wait_for_a_process_in_the_doorway() {
    let ground = Ground::new();
    ground.job().arg("true").run().exits(0);
    let enter = File::options().write(true).open(ground.state().join("job/enter")).unwrap();
    let lock = libc::flock {
        l_type: libc::c_short::try_from(libc::F_WRLCK).expect("a small number"),
        l_whence: 0,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(&enter, FcntlArg::F_OFD_SETLK(&lock)).expect("a free lock");
    let mut patient = ground.job().sh("echo ran").spawn();
    let hasty = ground.job().args(["-n"]).sh("echo ran").spawn();
    hasty.wait().exits(75).prints("");
    // They came together: what made the one give up would make the other by now.
    std::thread::sleep(Duration::from_secs(1));
    assert!(patient.is_running());
    drop(enter);
    patient.wait().exits(0).prints("ran\n");
}
