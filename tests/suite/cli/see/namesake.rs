//! Two jobs of one name: one that gives way to the other says so.

use std::os::unix::fs::PermissionsExt;

use super::arena::{Arena, Ground};
use super::{on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    a_job_that_gives_way_to_another_one_of_its_name_says_so
}

/// A wrapper that elect does not know, and which runs what it is told to.
fn wrapper(arena: &Arena) -> PathBuf {
    let path = arena.path("job");
    fs::write(&path, "#!/bin/sh\nexec \"$@\"\n").expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable");
    path
}

fn a_job_that_gives_way_to_another_one_of_its_name_says_so(arena: &Arena) {
    let wrapper = wrapper(arena);
    let run = |flags: &[&str]| -> Elect { arena.elect("run").args(flags).arg(&wrapper) };
    let told = |flags: &[&str], word: &str| {
        let silent = run(&[&["-n", "-E", "0"], flags].concat());
        silent.args(["sleep", word]).run().exits(0).prints("")
    };
    let secret = "2971215073";
    for named in [&[][..], &["-e", "job"]] {
        let leader = run(&[named, &["--id", "one"]].concat()).args(["sleep", secret]).spawn();
        eventually("one to lead", || arena.status()["leader"]["id"].as_str().map(drop));
        told(named, secret).is_silent();
        told(&["-e", "job"], secret).is_silent();
        if named.is_empty() {
            for ours in [&[][..], &["-e", "job"]] {
                let said = told(ours, "433494437").says("the same program with other arguments");
                assert!(
                    said.stderr.contains("-e NAME") && !said.stderr.contains(secret),
                    "{said:?}"
                );
                assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
            }
        } else {
            told(&[], "433494437").says("the same program with other arguments");
            told(named, "433494437").is_silent();
        }
        leader.ended_by(Signal::SIGTERM).exits(143);
    }
}
