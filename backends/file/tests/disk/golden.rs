//! The bytes on the disk, which must stay the same because different releases of elect share
//! elections.

use std::fs;

use elect_api::{Cell, Durability, If, Written, fence};
use elect_testkit::{Contender, election, run};

use crate::support::{bench, election_dir};

#[test]
fn cells_are_the_files_that_they_always_were() {
    run("golden", async {
        let (bench, disk) = bench();
        let mut leader = Contender::new(&bench, "leader").await;
        let token = leader.lead().await;
        let name = "x".parse().unwrap();
        for (cell, bytes) in
            [(Cell::Once, &b"done"[..]), (Cell::Runs, b"ran"), (Cell::History, b"led")]
        {
            let now = bench.now();
            let written = leader.seat().write(now, cell, bytes, Durability::Usual).await.unwrap();
            assert_eq!(written.why_not(), None);
        }
        let store = bench.connect().await;
        let kept = (Cell::Value(&name), If::Leads(token));
        store.write(&election(), kept.0, b"kept", kept.1).await.unwrap();
        let asked =
            store.write(&election(), Cell::Control, b"asked", If::Version(0)).await.unwrap();
        let Written::Yes(version) = asked else { panic!("{asked:?}") };
        fence(store.as_ref(), &election(), &name, token).await.unwrap();
        let read = |name: &str| fs::read_to_string(election_dir(&disk).join(name)).unwrap();
        for (file, text) in [
            ("note-once", "done".to_owned()),
            ("note-runs", "ran".to_owned()),
            ("orders", format!("{version}\nasked")),
            ("value-x", "kept".to_owned()),
            ("fence-x", token.to_string()),
        ] {
            assert_eq!(read(file), text, "{file}");
        }
        let history = read("note-history");
        let (head, text) = history.split_once('\n').unwrap();
        assert!(head.starts_with("elect slate 00000000000000000000 000003 "), "{head}");
        assert!(text.starts_with("led"), "{text}");
    });
}
