//! A user who may write into the store writes with ill intent.

use super::{Arena, Ground, Troop};
use crate::prelude::*;

const SHARDS: u32 = 3;

/// The shards that the members of "job" must hold, as the local disk keeps them: a number, and JSON behind it.
struct Control(PathBuf);

impl Control {
    fn read(&self) -> (u64, Value) {
        let text = fs::read_to_string(&self.0).expect("a file");
        let (version, control) = text.split_once('\n').expect("a line");
        (version.parse().expect("a number"), serde_json::from_str(control).expect("JSON"))
    }

    /// Has the member with this label hold these.
    fn give(&self, label: &str, shards: &Value) {
        let (version, mut control) = self.read();
        let held = control["spread"]["held"].as_object_mut().expect("a spread");
        let (_, held) = held.iter_mut().find(|(id, _)| id.starts_with(label)).expect("a member");
        *held = shards.clone();
        let written = self.0.with_extension("written");
        fs::write(&written, format!("{}\n{control}", version + 1)).expect("a file");
        fs::rename(&written, &self.0).expect("the same file system");
    }
}

#[test]
fn shards_that_there_are_not_are_ignored() {
    let arena = Arena::slow(Ground::File);
    let mut troop = Troop::new(&arena, SHARDS as usize);
    troop.join("a");
    troop.wait_for_even(&["a"]);
    troop.join("b");
    let shard = *troop.wait_for_even(&["a", "b"]).held_by("b").first().expect("a shard");
    // It coordinates, and would see to it.
    troop.signal("a", Signal::SIGSTOP);
    let control = Control(arena.path("state/job/orders"));
    let strange: Vec<u32> = (3..100).chain([65535]).collect();
    control.give("b", &json!(strange));
    troop.wait_until("the shard to be given up", |picture| !picture.held_by("b").contains(&shard));
    // The strange shards stand before this one in the list. Once it runs again, any strange one that would start has
    // started.
    control.give("b", &json!([strange, vec![shard]].concat()));
    troop.wait_until("the shard to be led again", |picture| picture.held_by("b").contains(&shard));
    let runs = troop.oracle.verdict().runs;
    let parts: Vec<_> = runs.iter().filter_map(|run| run.part).collect();
    assert!(parts.iter().all(|part| *part < SHARDS), "{parts:?}");
    troop.signal("b", Signal::SIGTERM);
    let told = troop.ended("b").stderr;
    assert_eq!(told.matches("by the store").count(), 1, "{told}");
    troop.signal("a", Signal::SIGCONT);
    eventually("a sound spread", || {
        let (_, control) = control.read();
        (!control["spread"].to_string().contains("65535")).then_some(())
    });
    troop.signal("a", Signal::SIGTERM);
    troop.ended("a");
}
