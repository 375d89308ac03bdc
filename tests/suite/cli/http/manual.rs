//! The blocks of the manual's section on `--http`, run as they are written.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use crate::cli::manual;
use crate::prelude::*;

/// The commands of each block of the section.
fn blocks() -> Vec<Vec<String>> {
    let of = |block: &String| {
        block.lines().filter_map(|line| Some(line.strip_prefix("$ ")?.to_owned())).collect()
    };
    manual::blocks("metrics", "Watch it over HTTP", "console").iter().map(of).collect()
}

/// The keys that a line of the manual shows, and those of the answer.
fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().expect("an object").keys().cloned().collect()
}

#[test]
fn the_blocks_work_as_they_are_written() {
    let blocks = blocks();
    let [server, clients, dashboards] = &blocks[..] else { panic!("{blocks:?}") };
    let [page, leader, events] = &clients[..] else { panic!("{clients:?}") };
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("server");
    fs::write(&path, "#!/bin/sh\nexec sleep 3600\n").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
    // A network of its own, so that the port is free.
    let script = format!(
        "set -e; ip link set lo up; {} & elect=$!\n\
         until curl --silent --fail http://127.0.0.1:9090/leader >/dev/null; do kill -0 $elect; sleep 0.02; done\n\
         {page} >page; {leader} >leader; {events} >events & events=$!\n\
         until [ -s events ]; do kill -0 $elect; sleep 0.02; done\n\
         {}\n\
         kill $elect; wait $events; wait $elect || [ $? = 143 ]",
        server[0],
        dashboards.join("\n"),
    );
    let elect = Path::new(ELECT).parent().expect("a folder");
    let search = std::env::var("PATH").expect("a search path");
    let output = Command::new("unshare")
        .args(["--net", "--", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("STATE_DIRECTORY", folder.path().join("state"))
        .env("PATH", format!("{}:{search}", elect.display()))
        .output()
        .expect("unshare runs: apt-get install util-linux");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{script}\n{said}");

    let text = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    let page: Value = serde_json::from_str(&text("page")).expect("JSON");
    let shown = manual::page("metrics");
    let shown = shown.lines().find(|line| line.starts_with("{\"name\"")).expect("an example");
    let shown: Value = serde_json::from_str(&shown.replace("{...}", "{}")).expect("JSON");
    assert_eq!((keys(&page), &page["name"]), (keys(&shown), &shown["name"]));
    assert_eq!(text("leader"), "leading\n");
    let events = text("events");
    assert!(events.starts_with("id: 1\nevent: present\ndata: {\"name\":\"server\","), "{events}");
    assert!(events.contains("event: ended\n"), "{events}");
    assert!(text("elect-alerts.yaml").contains("for: 60s"));
    assert!(serde_json::from_str::<Value>(&text("elect-dashboard.json")).is_ok());
}
