//! `--restart`: a command that is started again is no end of a leadership.

use super::client::{Events, address, get, sample, serving};
use crate::prelude::*;

#[test]
fn a_leader_whose_command_rests_says_so() {
    let (ground, server) = (Ground::new(), address());
    let script = "[ ! -e \"$D/ran\" ] || exec sleep 3600; until [ -e \"$D/go\" ]; do sleep 0.02; done; touch \"$D/ran\"";
    let flags = ["-v", "--restart", "always", "--restart-delay", "1h"];
    let elect = serving(&ground, server).args(flags).sh(script).spawn();
    let shows = |runs: bool| {
        eventually("the page to show it", || {
            let page = get(server, "/metrics").body;
            let shown = get(server, "/").json()["command_running"].as_bool();
            let runs = f64::from(u8::from(runs));
            let is_so = sample(&page, "elect_command_running{") == Some(runs);
            (is_so && shown == Some(runs > 0.0)).then_some(())
        });
    };
    shows(true);
    fs::write(ground.path().join("go"), "").unwrap();
    shows(false);
    assert_eq!(get(server, "/").json()["is_leader"], true);
    assert_eq!(get(server, "/leader").code, 200);
    let present = Events::of(server).next().expect("how things are");
    assert_eq!(present.data["command_running"], false);
    drop(elect);
}

#[test]
fn a_restarted_command_keeps_leadership_and_is_counted() {
    let (ground, server) = (Ground::new(), address());
    let script =
        "echo >>\"$D/starts\"; [ $(wc -l <\"$D/starts\") -ge 3 ] || exit 4; exec sleep 3600";
    let flags = ["--restart", "on-failure", "--restart-delay", "1s", "--restart-max-delay", "1s"];
    let elect = serving(&ground, server).args(flags).sh(script).spawn();
    get(server, "/leader");
    let events = Events::of(server).map(|event| event.kind);
    let kinds: Vec<String> = events
        .filter(|kind| kind != "present" && kind != "leading")
        .take_while(|kind| kind != "ended")
        .take(3)
        .collect();
    let again = ["resting", "restarting"];
    assert!(kinds.iter().all(|kind| again.contains(&kind.as_str())), "{kinds:?}");
    let page = eventually("the last start", || {
        let page = get(server, "/metrics").body;
        (sample(&page, "elect_command_restarts_total") == Some(2.0)).then_some(page)
    });
    assert_eq!(sample(&page, "elect_is_leader"), Some(1.0));
    assert_eq!(sample(&page, "elect_command_exits_total{code=\"4\",outcome=\"exited\""), Some(2.0));
    assert_eq!(sample(&page, "elect_leadership_changes_total{reason=\"ended\""), Some(0.0));
    assert_eq!(get(server, "/leader").code, 200);
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
}
