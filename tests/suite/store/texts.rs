//! A user who may write to a store may write anything. elect shows only clean text of it to people and programs, on
//! each store.

use elect::config;
use elect_api::text::{NAME, WORDS, escape};
use elect_api::{Candidate, Cell, Durability, If, Seat, Standing, Store};

use crate::cli::http::client::{address, get};
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;
use crate::support::job;

on_each_store! {
    slow: foreign_text_is_shown_clean_everywhere
}

/// A new screen, a new line, a variable's end, letters in another order; and no end.
fn hostile(what: &str) -> String {
    format!("{what}\0\n\r\u{1b}[2J\u{9b}31m\u{2028}\u{202e}{{}}\",\\{}", "x".repeat(1500))
}

/// A candidate in this process that leads.
async fn lead(store: &dyn Store, candidate: &Candidate) -> Box<dyn Seat> {
    let ttl = Duration::from_secs(600);
    let mut seat = store.open(&job(), candidate, ttl).await.expect("a seat");
    let standing = seat.refresh(now()).await.expect("a standing").standing;
    assert!(matches!(standing, Standing::Leading { .. }), "it does not lead");
    seat
}

/// No character of it is obeyed, and it is no longer than it may be.
#[track_caller]
fn assert_clean(text: &str, most: usize) {
    assert_eq!(escape(text), text);
    assert!(text.chars().count() <= most, "{text}");
}

fn foreign_text_is_shown_clean_everywhere(arena: &Arena) {
    let candidate = Candidate {
        id: hostile("id"),
        host: hostile("host"),
        pid: std::process::id(),
        command: hostile("command"),
        containment: hostile("containment"),
        ..Candidate::foreign("")
    };
    let clean = candidate.clone().cleaned();
    elect_testkit::run("hostile", async {
        let store = config::connect(&arena.url().parse().expect("a good URL")).expect("a store");
        let mut seat = lead(store.as_ref(), &candidate).await;
        let history = json!({ "leaderships": [
            { "token": 1, "id": hostile("id"), "start": 5, "end": 6, "reason": hostile("reason") },
        ] });
        let history = history.to_string();
        seat.write(now(), Cell::History, history.as_bytes(), Durability::Usual)
            .await
            .expect("a note");
        // It asks for nothing but room.
        let asked = json!({ "priorities": {
            (hostile("id")): { "priority": 7, "by": hostile("by"), "at": 5, "reason": hostile("reason") },
        } });
        let asked = asked.to_string();
        let first = If::Version(0);
        store.write(&job(), Cell::Control, asked.as_bytes(), first).await.expect("an answer");

        let report = arena.status();
        assert_eq!(report["leader"]["id"], clean.id);
        for (name, most) in
            [("id", NAME), ("host", NAME), ("command", WORDS), ("containment", NAME)]
        {
            assert_clean(report["leader"][name].as_str().expect("a text"), most);
        }
        let told = arena.elect("status").arg("job").run().exits(0).stdout;
        assert!(told.lines().all(|line| escape(line) == line), "{told}");
        assert_eq!(told.lines().count(), 3, "{told}");

        let told = arena.elect("history").args(["-o", "json", "job"]).run().exits(0).stdout;
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let record = &told["leaderships"][0];
        assert_clean(record["id"].as_str().expect("an id"), NAME);
        assert_clean(record["reason"].as_str().expect("a reason"), WORDS);

        let (server, told) = (address(), arena.path("told"));
        let tell = r#"sh -c 'printf %s "$ELECT_LEADER_ID" >"$TOLD.new"; mv "$TOLD.new" "$TOLD"'"#;
        let run = arena.elect("run").args(["-e", "job", "-v", "--http", &server.to_string()]);
        let run = run.args(["--on-change", tell]).env("TOLD", &told).arg("true");
        let waiter = run.spawn();
        let told = eventually("a word of the hook", || fs::read_to_string(&told).ok());
        assert_eq!(told, clean.id);
        let shown = eventually("the leader to be seen", || {
            let shown = get(server, "/").json();
            shown["candidates"]["leader"]["id"].as_str().map(str::to_owned)
        });
        assert_eq!(shown, clean.id);
        let metrics = get(server, "/metrics").body;
        assert!(metrics.lines().all(|line| escape(line) == line), "{metrics}");
        let said = waiter.ended_by(Signal::SIGTERM).exits(143).stderr;
        assert!(said.lines().all(|line| escape(line) == line), "{said}");
        seat.resign(None).await.expect("a resign");
    });
}
