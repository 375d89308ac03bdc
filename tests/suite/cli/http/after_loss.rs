//! `--after-loss campaign`: elect starts over, and its clients do not notice.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::client::{connect, get, sample, sockets};
use crate::prelude::*;

#[test]
fn a_restart_of_elect_refuses_no_client_and_forgets_nothing() {
    let ground = Ground::new();
    let script = "echo $ELECT_HTTP_ADDRESS >>\"$D/addresses\"; env >\"$D/env\"; exec sleep 3600";
    let flags = ["--after-loss", "campaign", "--http", "0"];
    let mut elect = ground.job().args(flags).sh(script).spawn();
    let addresses = |count| {
        eventually(&format!("{count} runs"), || {
            let text = fs::read_to_string(ground.path().join("addresses")).unwrap_or_default();
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            (lines.len() == count).then_some(lines)
        })
    };
    let server = addresses(1)[0].parse().unwrap();
    get(server, "/leader");
    let sockets_before = sockets(elect.pid()).len();
    let ended = Arc::new(AtomicBool::new(false));
    let connected = Arc::new(AtomicU32::new(0));
    let client = thread::spawn({
        let (ended, connected) = (Arc::clone(&ended), Arc::clone(&connected));
        move || {
            while !ended.load(Ordering::Relaxed) {
                connect(server).expect("no client is refused");
                connected.fetch_add(1, Ordering::Relaxed);
                thread::yield_now();
            }
        }
    });
    for losses in 1..=3 {
        crate::engine::loss::evict(&ground);
        let known = addresses(losses + 1);
        assert!(known.iter().all(|other| *other == known[0]), "{known:?}");
        let lost = f64::from(u32::try_from(losses).unwrap());
        let page = get(server, "/metrics").body;
        assert_eq!(
            sample(&page, "elect_leadership_changes_total{reason=\"lost\""),
            Some(lost),
            "{page}"
        );
        assert_eq!(
            sample(&page, "elect_leadership_changes_total{reason=\"won\""),
            Some(lost + 1.0)
        );
        assert_eq!(
            sample(&page, "elect_command_exits_total{code=\"15\",outcome=\"signaled\""),
            Some(lost),
            "{page}"
        );
    }
    ended.store(true, Ordering::Relaxed);
    client.join().expect("no client was refused");
    println!("{} connections", connected.load(Ordering::Relaxed));
    eventually("the clients to be gone", || {
        (sockets(elect.pid()).len() <= sockets_before).then_some(())
    });
    let variables = fs::read_to_string(ground.path().join("env")).unwrap();
    assert!(!variables.contains("HANDOFF"), "{variables}");
    elect.ended_by(Signal::SIGTERM).exits(143);
}

/// elect ignores the variable if another program has set it.
#[test]
fn a_socket_that_no_process_left_is_not_inherited() {
    let ground = Ground::new();
    for odd in ["", "1 3 []", "x", "999999999 3 [", "1 2", &"9".repeat(4000)] {
        let elect = ground.job().env("ELECT_HEIRLOOM", odd).args(["--http", "0"]);
        elect.sh("[ -z \"$ELECT_HEIRLOOM\" ]").run().exits(0).is_quiet();
    }
    // Its own number is no secret, and a file is no socket.
    let script = "exec 7</dev/null; export ELECT_HEIRLOOM=\"$$ 0 - - - 7 []\"; exec \"$@\"";
    let elect =
        ground.job().args(["--http", "0"]).arg("true").under(["bash", "-c", script, "bash"]);
    elect.run().exits(0).is_quiet();
}
