//! A sidecar hands over too, and stays.

use elect_testkit::program::eventually;

use crate::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! { it_goes_on_as_a_standby }

fn it_goes_on_as_a_standby(arena: &Arena) {
    let file = arena.path("lease");
    let sidecar = arena.elect("sidecar").args(["-e", "job", "--id", "app", "--lease-file"]);
    let _sidecar = sidecar.arg(&file).args(["--grace", "100ms"]).spawn();
    let leads = |label: &str| {
        eventually(&format!("{label} to lead"), || {
            let status = arena.status();
            status["leader"]["id"].as_str()?.starts_with(&format!("{label}-")).then_some(())
        });
    };
    leads("app");
    let _one = arena.candidate("one", 15);
    arena.wait_for_waiter("one");
    let resigned = arena.elect("resign").arg("job").run().exits(0);
    assert!(resigned.stdout.starts_with("one-"), "{}", resigned.stdout);
    arena.wait_for_waiter("app");
    arena.elect("resign").arg("job").run().exits(0);
    leads("app");
}
