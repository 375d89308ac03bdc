//! Law 9: a survey disturbs nobody and needs no candidate's rights.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use elect_api::text::{NAME, WORDS, escape};
use elect_api::{Candidate, ElectionName, Order, Scope, Survey};

use crate::{Contender, LineUp, Shared, apart, election, expect_empty, order};

/// A survey of an election without entries is no error, and creates nothing.
pub async fn an_election_without_entries_is_empty(bench: Shared) {
    let store = bench.connect().await;
    assert_eq!(store.survey(&election()).await.expect("a survey"), Survey::default());
    assert_eq!(store.list(Scope::Entered).await.expect("a list"), []);
}

/// A survey shows the candidates' own descriptions, whatever characters these have.
pub async fn a_survey_shows_candidates_as_they_described_themselves(bench: Shared) {
    let line = Contender::in_line(&bench, &["a", "b \u{1F642} \"x\"\n\\"]).await;
    let survey = bench.connect().await.survey(&election()).await.expect("a survey");
    assert_eq!(&survey.leader.expect("a leader").entry.candidate, line[0].candidate());
    let waiting: Vec<_> = survey.waiting.iter().map(|entry| &entry.candidate).collect();
    match order(&bench).await {
        Order::Queue => assert_eq!(waiting, [line[1].candidate()]),
        Order::Race => assert!(waiting.is_empty(), "who waits in a race has an entry"),
    }
}

/// A survey shows clean texts, whatever a candidate writes. Control characters are escaped, and texts
/// that are too long are cut.
pub async fn a_survey_shows_clean_texts_only(bench: Shared) {
    let hostile = |what: &str, length| {
        format!("{what}\0\n\r\u{1b}[2J\u{7f}\u{9b}\u{2028}\u{202e}=\"{}", "x".repeat(length))
    };
    let hostile = Candidate {
        id: hostile("id", NAME),
        host: hostile("host", NAME),
        pid: std::process::id(),
        command: hostile("command", WORDS),
        containment: hostile("containment", NAME),
        ..Candidate::foreign("")
    };
    let (store, onlooker) = (bench.connect().await, bench.connect().await);
    let mut seats = Vec::new();
    for _ in 0..2 {
        let mut seat = store.open(&election(), &hostile, bench.ttl()).await.expect("a seat");
        seat.refresh(bench.now()).await.expect("a refresh");
        seats.push(seat);
    }
    let survey = onlooker.survey(&election()).await.expect("a survey");
    let shown: Vec<_> = survey.entries().map(|entry| &entry.candidate).collect();
    assert_eq!(shown.len(), if order(&bench).await == Order::Queue { 2 } else { 1 });
    for shown in shown {
        assert_eq!(*shown, hostile.clone().cleaned());
        let names = [&shown.id, &shown.host, &shown.containment].map(|name| (name, NAME));
        for (text, most) in names.into_iter().chain([(&shown.command, WORDS)]) {
            assert_eq!((&escape(text), text.chars().count()), (text, most));
        }
    }
    for mut seat in seats {
        seat.resign(None).await.expect("a resign");
    }
}

/// A survey shows the leader's token, and times in their right order.
pub async fn a_survey_tells_token_and_times(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    line[0].resign().await;
    let token = line[1].lead().await;
    let survey = bench.connect().await.survey(&election()).await.expect("a survey");
    let leader = survey.leader.expect("a leader");
    assert_eq!(leader.token, token);
    if let (Some(since), Some(joined)) = (leader.since, leader.entry.joined) {
        assert!(since >= joined, "led before it joined");
    }
}

/// Where the store shows renewals, a survey shows each of them, and takes nothing else for one.
pub async fn a_survey_tells_how_long_ago_the_lease_was_renewed(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let onlooker = bench.connect().await;
    for _ in 0..3 {
        let before = bench.now();
        line[0].lead().await;
        let after = bench.now();
        for _ in 0..2 {
            bench.advance(bench.ttl() / 6).await;
            line[1].wait_behind(1).await;
            let asked = bench.now();
            let survey = onlooker.survey(&election()).await.expect("a survey");
            let answered = bench.now();
            let Some(renewed) = survey.leader.expect("a leader").renewed else { return };
            assert!(
                renewed.at_least <= answered.since(before),
                "{renewed:?}: a renewal is not seen"
            );
            assert!(renewed.at_most >= asked.since(after), "{renewed:?}: one that was none");
        }
    }
}

/// While a client surveys the store without a pause, every candidate wins that would win otherwise.
pub async fn surveys_disturb_no_candidate(bench: Shared) {
    let over = Arc::new(AtomicBool::new(false));
    let onlooker = apart({
        let (bench, over) = (Arc::clone(&bench), Arc::clone(&over));
        move || async move {
            let store = bench.connect().await;
            while !over.load(Ordering::Relaxed) {
                store.survey(&election()).await.expect("a survey");
                store.list(Scope::Entered).await.expect("a list");
            }
        }
    });
    // Where each look is paid for, a candidate sleeps for 2 s at the least.
    let is_billed = bench.connect().await.profile().price.is_some();
    for _ in 0..if is_billed { 10 } else { 50 } {
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let wake = line[1].sleep_behind(1).await;
        line[0].resign().await;
        wake.await;
        line[1].lead().await;
        line[1].resign().await;
    }
    over.store(true, Ordering::Relaxed);
    onlooker.join().expect("the onlooker");
}

/// The list has elections with entries, and those that had some before.
pub async fn elections_are_listed_by_name(bench: Shared) {
    let names: Vec<ElectionName> =
        ["a", "b-2", "c@d:e"].map(|name| name.parse().expect("a good name")).into();
    let mut contenders = Vec::new();
    for name in names.iter().rev() {
        let mut contender = Contender::in_election(&bench, name, "x").await;
        contender.lead().await;
        contenders.push(contender);
    }
    let mut listed = bench.connect().await.list(Scope::Entered).await.expect("a list");
    listed.sort();
    assert_eq!(listed, names);
}

/// To lead one election has no effect on another.
pub async fn elections_are_independent(bench: Shared) {
    let other: ElectionName = "other".parse().expect("a good name");
    let mut here = Contender::new(&bench, "here").await;
    let mut there = Contender::in_election(&bench, &other, "there").await;
    here.lead().await;
    there.lead().await;
    here.resign().await;
    there.lead().await;
    expect_empty(&bench).await;
    let survey = bench.connect().await.survey(&other).await.expect("a survey");
    assert_eq!(LineUp::from(survey), LineUp::led_by(&["there"]));
}
