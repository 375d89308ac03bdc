//! `elect status` of what is divided into slots or shards.

use elect::config;
use elect::election::control::Control;
use elect_api::{Candidate, Cell, Division, ElectionName, If, Seat, Standing, Store, Written};

use super::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;
use crate::support::job;

on_each_store! {
    slots_show_their_leaders_and_waiters
    shards_show_how_many_each_member_holds
    parts_are_shown_once_and_below_their_whole
    a_candidate_that_waits_for_a_slot_is_shown_once
}

const TTL: Duration = Duration::from_secs(15);

/// Candidates of this process in "job", which is divided.
struct Divided<'a> {
    arena: &'a Arena,
    store: Box<dyn Store>,
    division: Division,
    seats: Vec<Box<dyn Seat>>,
}

impl<'a> Divided<'a> {
    async fn new(arena: &'a Arena, division: Division) -> Self {
        let store = config::connect(&arena.url().parse().expect("a good URL")).expect("a store");
        let control = Control::default().divided(division).to_bytes();
        let written = store.write(&job(), Cell::Control, &control, If::Version(0)).await;
        let written = written.expect("an answer");
        assert!(matches!(written, Written::Yes(_)), "{written:?}");
        Self { arena, store, division, seats: Vec::new() }
    }

    async fn enter(&mut self, election: ElectionName, id: &str) -> Standing {
        let candidate = Candidate { division: self.division, ..Candidate::foreign(id) };
        let mut seat = self.store.open(&election, &candidate, TTL).await.expect("a seat");
        let standing = seat.refresh(now()).await.expect("a standing").standing;
        self.seats.push(seat);
        standing
    }

    async fn leads(&mut self, part: u16, id: &str) {
        let part = Division::part(&job(), part).expect("a name");
        let standing = self.enter(part, id).await;
        assert!(matches!(standing, Standing::Leading { .. }), "{id} does not lead");
    }

    async fn resign(&mut self) {
        for mut seat in self.seats.drain(..) {
            seat.resign(None).await.expect("a resign");
        }
    }

    async fn status(&self, words: &[&str]) -> Ended {
        let elect = self.arena.elect("status").args(words);
        // Leases go on meanwhile.
        tokio::task::spawn_blocking(move || elect.run()).await.expect("an end")
    }

    async fn shown(&self, words: &[&str]) -> Value {
        let ended = self.status(&[&["-o", "json"], words].concat()).await;
        serde_json::from_str(&ended.stdout).expect("JSON")
    }
}

/// The ids in a list of candidates.
fn ids(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|entry| entry["id"].as_str()).collect()
}

fn roles(table: &str) -> Vec<(&str, &str)> {
    let rows = table.lines().skip(2).map(|line| line.split_whitespace());
    rows.map(|mut cells| (cells.next().unwrap_or(""), cells.next().unwrap_or(""))).collect()
}

fn slots_show_their_leaders_and_waiters(arena: &Arena) {
    elect_testkit::run("slots", async {
        let mut divided = Divided::new(arena, Division::Slots(3)).await;
        divided.status(&["job"]).await.exits(1).is_quiet();
        divided.leads(2, "b").await;
        divided.enter(job(), "c").await;
        divided.enter(job(), "d").await;
        let report = divided.shown(&["job"]).await;
        let status = &report["elections"][0];
        assert!(status["leader"].is_null(), "{status}");
        assert_eq!(ids(&status["waiting"]), ["c", "d"]);
        let division = &status["division"];
        assert_eq!(division["kind"], "slots");
        assert_eq!(division["members"].as_array().map(Vec::len), Some(0));
        let parts = division["parts"].as_array().expect("parts");
        assert_eq!(parts.len(), 3);
        assert_eq!(
            (&parts[2]["election"], &parts[2]["leader"]["id"]),
            (&"job:2".into(), &"b".into())
        );
        assert!(parts[2]["leader"]["token"].is_u64() && parts[0]["leader"].is_null());
        let table = divided.status(&["job"]).await.exits(0).stdout;
        let expected = [
            ("job", "slots"),
            ("job", "waiting"),
            ("job", "waiting"),
            ("job:0", "no-leader"),
            ("job:1", "no-leader"),
            ("job:2", "leader"),
        ];
        assert_eq!(roles(&table), expected);
        assert!(table.contains("1 of 3 led"), "{table}");
        divided.resign().await;
    });
}

fn shards_show_how_many_each_member_holds(arena: &Arena) {
    elect_testkit::run("shards", async {
        let mut divided = Divided::new(arena, Division::Shards(4)).await;
        divided.enter(job(), "a").await;
        divided.enter(job(), "b").await;
        divided.enter(job(), "c").await;
        for (part, id) in [(0, "b"), (1, "a"), (3, "a")] {
            divided.leads(part, id).await;
        }
        // One has no leader.
        let table = divided.status(&["job"]).await.exits(1).stdout;
        assert!(table.contains("3 of 4 led"), "{table}");
        divided.leads(2, "b").await;
        let table = divided.status(&["job"]).await.exits(0).stdout;
        assert_eq!(roles(&table)[..2], [("job", "shards"), ("job", "member")]);
        assert!(table.lines().nth(1).is_some_and(|line| line.ends_with("HOLDS  NOTE")), "{table}");
        let report = divided.shown(&["job"]).await;
        let status = &report["elections"][0];
        let members = &status["division"]["members"];
        assert_eq!(ids(members), ["a", "b", "c"]);
        let holds: Vec<_> =
            members.as_array().expect("a list").iter().map(|it| it["holds"].as_u64()).collect();
        assert_eq!(holds, [Some(2), Some(2), Some(0)]);
        assert_eq!(ids(&status["waiting"]), [""; 0]);
        divided.resign().await;
    });
}

fn parts_are_shown_once_and_below_their_whole(arena: &Arena) {
    elect_testkit::run("all", async {
        let mut divided = Divided::new(arena, Division::Slots(2)).await;
        // No candidate waits. An election whose name only looks like the name of a part is an election of its own.
        divided.leads(0, "a").await;
        divided.leads(1, "b").await;
        for other in ["job:2", "other:0"] {
            divided.enter(other.parse().expect("a name"), "o").await;
        }
        let report = divided.shown(&[]).await;
        let names: Vec<_> = report["elections"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|election| election["election"].as_str().unwrap_or(""))
            .collect();
        assert_eq!(names, ["job", "job:2", "other:0"]);
        let part = divided.shown(&["job:0"]).await;
        assert_eq!(part["elections"][0]["leader"]["id"], "a");
        assert!(part["elections"][0].get("division").is_none());
        divided.resign().await;
    });
}

fn a_candidate_that_waits_for_a_slot_is_shown_once(arena: &Arena) {
    let run = |label: &str| {
        let run = arena.elect("run").args(["-e", "job", "--slots", "2", "--id", label]);
        run.args(["--", "sleep", "3600"]).spawn()
    };
    let status = || arena.status();
    let (mut all, labels) = (Vec::new(), ["a", "b", "c", "d"]);
    for (label, waiting) in labels.iter().zip([0, 0, 1, 2]) {
        all.push(run(label));
        eventually(&format!("{label} to take part"), || {
            let status = status();
            let parts = status["division"]["parts"].as_array()?;
            let led = parts.iter().filter(|part| part["leader"].is_object()).count();
            (led + ids(&status["waiting"]).len() == all.len()
                && ids(&status["waiting"]).len() == waiting)
                .then_some(())
        });
    }
    let table = arena.elect("status").arg("job").run().exits(0).stdout;
    let expected = [
        ("job", "slots"),
        ("job", "waiting"),
        ("job", "waiting"),
        ("job:0", "leader"),
        ("job:1", "leader"),
    ];
    assert_eq!(roles(&table), expected, "{table}");
    for running in all {
        running.ended_by(Signal::SIGTERM).exits(143);
    }
}
