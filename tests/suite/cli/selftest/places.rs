//! The places in which people try it.

use std::fs;
use std::os::unix::fs::chown;

use super::{CHECKS, selftest};
use crate::cli::manual;
use crate::support::Ground;
use crate::usage::other_user;

#[test]
fn as_the_first_process_of_a_container() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    let unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    selftest(&url).under(unshare).run().exits(0).is_quiet();
    assert!(!ground.state().exists());
}

/// With a home, and nothing set up.
#[test]
fn as_an_ordinary_user() {
    let (user, ground) = (other_user(), Ground::new());
    chown(ground.path(), Some(user.id), Some(user.id)).expect("we are root");
    let elect = user.elect().arg("selftest").env("HOME", ground.path()).env("XDG_STATE_HOME", "");
    let ended = elect.run().exits(0).is_quiet();
    assert!(ended.stdout.contains("/.local/state/elect\n"), "{}", ended.stdout);
    assert!(!fs::exists(ground.path().join(".local/state/elect")).expect("an answer"));
}

/// The manual's commands, as they stand there.
#[test]
fn the_manual_shows_how_to_try_it() {
    let block = manual::block("selftest", "Try it", "console");
    let said = manual::typed(&block);
    // It prints what is shown there, but for times.
    let words = |text: &str| {
        let lines = text.lines().filter(|line| CHECKS.iter().any(|check| line.starts_with(check)));
        lines.map(|line| line.split("  ").take(2).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(words(&said), words(&block));
}
