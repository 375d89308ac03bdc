//! The pauses between restarts.

use crate::prelude::*;

#[test]
fn pauses_grow_and_are_no_shorter_than_was_asked() {
    let ground = Ground::new();
    let script = "echo >>\"$D/starts\"; [ $(wc -l <\"$D/starts\") -ge 4 ]";
    let flags =
        ["--restart", "on-failure", "--restart-delay", "100ms", "--restart-max-delay", "1h"];
    let began = now();
    let ended = ground.job().args(["-v"]).args(flags).sh(script).run().exits(0);
    assert!(now().since(began) >= Duration::from_millis(100 + 200 + 400), "{}", ended.stderr);
    for pause in ["100ms", "200ms", "400ms"] {
        assert!(ended.stderr.contains(&format!("again in {pause}")), "{}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(ground.path().join("starts")).unwrap().lines().count(), 4);
}

#[test]
fn a_busy_loop_is_refused() {
    let ground = Ground::new();
    for flag in ["--restart-delay", "--restart-max-delay"] {
        ground
            .job()
            .args(["--restart", "always", flag, "0", "true"])
            .run()
            .exits(125)
            .says("less than 10ms");
    }
    ground.job().args(["--restart", "now", "true"]).run().exits(125).says("on-failure");
}
