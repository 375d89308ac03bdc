//! A sidecar hands over too, and stays.

use elect_testkit::program::{Running, eventually};

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    it_goes_on_as_a_standby
    it_goes_on_as_an_observer
}

fn sidecar(arena: &Arena) -> Running {
    let sidecar = arena.elect("sidecar").args(["-e", "job", "--id", "app", "--lease-file"]);
    sidecar.arg(arena.path("lease")).args(["--grace", "100ms"]).spawn()
}

#[track_caller]
fn wait_until_it_leads(arena: &Arena, label: &str) {
    eventually(&format!("{label} to lead"), || {
        let status = arena.status();
        status["leader"]["id"].as_str()?.starts_with(&format!("{label}-")).then_some(())
    });
}

fn it_goes_on_as_a_standby(arena: &Arena) {
    let _sidecar = sidecar(arena);
    let leads = |label| wait_until_it_leads(arena, label);
    leads("app");
    let _one = arena.candidate("one", 15);
    arena.wait_for_waiter("one");
    let resigned = arena.elect("resign").arg("job").run().exits(0);
    assert!(resigned.stdout.starts_with("one-"), "{}", resigned.stdout);
    arena.wait_for_waiter("app");
    arena.elect("resign").arg("job").run().exits(0);
    leads("app");
}

fn it_goes_on_as_an_observer(arena: &Arena) {
    let _sidecar = sidecar(arena);
    wait_until_it_leads(arena, "app");
    let said = arena.elect("priority").args(["job", "app", "0"]).run().exits(0);
    said.prints("nobody leads\n");
    arena.wait_for_waiter("app");
    let _one = arena.leader("one", 15);
    // A candidate that must not lead makes room, and comes back behind the others.
    arena.wait_for_waiter("app");
    arena.elect("priority").args(["job", "app", "200"]).run().exits(0);
    arena.elect("resign").arg("job").run().exits(0);
    wait_until_it_leads(arena, "app");
}
