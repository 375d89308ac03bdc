//! Tests of ranking: the calls that the head of a queue makes, and when it gives its place up.

use elect_api::{Candidate, Entry, Leader, Lease, Survey, Token, Validity};

use super::{
    Answer, ETCD, TERM, Transcript, after, at, gone, leading, rules, unreachable, waiting,
};
use crate::election::Reply;
use crate::election::control::{Control, Request};
use crate::election::machine::{Event, Rules, Wait};
use crate::election::ranking::Field;
use crate::guard::Ended;

fn request() -> Request {
    Request::new("me".into(), None)
}

fn ranked() -> Event {
    Event::ControlRead(Control::default().ranked())
}

fn set(who: &str, priority: u32) -> Event {
    Event::ControlRead(Control::default().prioritizing(who, Some(priority), request()))
}

fn of_priority(priority: u32) -> Rules {
    Rules { priority, ..rules() }
}

fn entry(id: &str, priority: u32, arrival: u64) -> Entry {
    let host = "web".to_owned();
    Entry::new(Candidate { host, priority, ..Candidate::foreign(id) }, None, arrival)
}

fn foreign(id: &str) -> Entry {
    Entry::new(Candidate::foreign(id), None, 9)
}

/// Returns a survey in which this candidate is the head, arrived as the fifth, and `waiting` are behind it. The leader
/// with the token `last` led before.
fn sees(last: Option<u64>, us: u32, waiting: Vec<Entry>) -> Event {
    let token = Token::new(7);
    let entry = entry("us", us, 5);
    let leader = Leader::new(entry, token);
    let survey = Survey { leader: Some(leader), waiting };
    Event::Replied(Ok(Reply::Field(Box::new(Field { survey, last: last.map(Token::new) }))))
}

fn sees_one(id: &str, priority: u32, arrival: u64) -> Event {
    sees(Some(6), 100, vec![entry(id, priority, arrival)])
}

/// Returns a survey in which another candidate is the head.
fn sees_led_by(id: &str, priority: u32) -> Event {
    let (entry, token) = (entry(id, priority, 6), Token::new(7));
    let leader = Leader::new(entry, token);
    let survey = Survey { leader: Some(leader), waiting: vec![self::entry("us", 100, 8)] };
    Event::Replied(Ok(Reply::Field(Box::new(Field { survey, last: None }))))
}

fn leading_as(token: u64, anchor: f64) -> Event {
    let validity = Validity::Window { anchor: at(anchor), window: after(15.0) };
    Event::Replied(Ok(Reply::Standing(Answer::Leading { token: Token::new(token), validity })))
}

/// Returns a head that asks which candidates take part.
fn comparing(rules: Rules) -> Transcript {
    let mut transcript = Transcript::joined(ETCD, rules);
    transcript.tell(0.1, ranked(), &[]).tell(0.1, leading(ETCD, 0.0), &["compare"]);
    transcript
}

/// Returns a candidate that has given its place up for `b`, and is behind.
fn stood_back() -> Transcript {
    let mut transcript = comparing(rules());
    transcript
        .tell(0.2, sees_one("b", 200, 6), &["resign"])
        .tell(0.3, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
        .tell(0.4, ranked(), &[])
        .tell(0.4, waiting(1), &[]);
    transcript
}

#[test]
fn without_priorities_no_candidate_asks_for_any() {
    for lease in [ETCD, Lease::Unlimited] {
        Transcript::joined(lease, rules())
            .tell(0.1, Event::ControlRead(Control::default()), &[])
            .tell(0.1, leading(lease, 0.0), &["start 7"]);
    }
}

#[test]
fn an_unusual_priority_is_announced_once_and_at_once() {
    let mut transcript = Transcript::joined(ETCD, of_priority(80));
    transcript
        .tell(0.1, waiting(1), &["announce"])
        .tell(0.2, Event::Replied(Ok(Reply::Announced)), &["refresh"])
        .tell(0.3, ranked(), &[])
        .tell(0.3, waiting(1), &[])
        .pass(2.7, &["refresh"])
        .tell(2.8, waiting(2), &[]);
    // A winner announces before it compares.
    Transcript::joined(ETCD, of_priority(80)).tell(0.1, leading(ETCD, 0.0), &["announce"]).tell(
        0.2,
        Event::Replied(Ok(Reply::Announced)),
        &["compare"],
    );
    Transcript::joined(ETCD, of_priority(80)).tell(0.1, ranked(), &[]).tell(0.1, waiting(1), &[]);
}

#[test]
fn an_announcement_that_failed_is_repeated_once_the_place_is_looked_after() {
    let mut transcript = Transcript::joined(ETCD, of_priority(80));
    transcript
        .tell(0.1, waiting(1), &["announce"])
        .tell(0.2, Event::Replied(Err(unreachable())), &[])
        .pass(0.3, &["refresh"])
        .tell(0.3, waiting(1), &["announce"]);
    // That call had no answer either.
    transcript.pass(3.0, &["abandon", "refresh"]).tell(3.0, waiting(1), &["announce"]).tell(
        3.1,
        Event::Replied(Ok(Reply::Announced)),
        &["refresh"],
    );
}

#[test]
fn a_head_leads_after_it_saw_no_better_candidate() {
    for others in [vec![], vec![entry("b", 99, 1)], vec![entry("b", 0, 1)], vec![foreign("b")]] {
        comparing(rules()).tell(0.2, sees(None, 100, others), &["refresh"]).tell(
            0.3,
            leading(ETCD, 0.2),
            &["start 7"],
        );
    }
}

#[test]
fn a_head_stands_back_for_a_better_candidate() {
    stood_back().tell(0.5, Event::Woken, &["refresh"]).tell(0.6, waiting(1), &[]);
}

#[test]
fn of_equals_the_one_that_arrived_first_leads_and_then_the_smaller_id() {
    let decided =
        [("b", 4, "resign"), ("b", 6, "refresh"), ("a", 5, "resign"), ("z", 5, "refresh")];
    for (id, arrival, expected) in decided {
        comparing(rules()).tell(0.2, sees_one(id, 100, arrival), &[expected]);
    }
}

#[test]
fn a_head_stands_back_for_one_candidate_once_until_there_is_a_leader() {
    stood_back()
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, leading_as(9, 1.0), &["compare"])
        .tell(1.2, sees_one("b", 200, 6), &["refresh"])
        .tell(1.3, leading_as(9, 1.2), &["start 9"]);
    // There is another better candidate.
    stood_back()
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, leading_as(9, 1.0), &["compare"])
        .tell(1.2, sees_one("c", 200, 8), &["resign"]);
}

#[test]
fn in_the_next_vacancy_it_stands_back_again() {
    stood_back()
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, leading_as(9, 1.0), &["compare"])
        .tell(1.2, sees(Some(8), 100, vec![entry("b", 200, 6)]), &["resign"]);
}

/// A priority of 200 sinks to 160, 128, 102 and 81, lease by lease.
#[test]
fn a_better_priority_sinks_with_each_lease_without_a_leader() {
    for (slots, expected) in [(1.0, "resign"), (3.0, "resign"), (4.0, "refresh")] {
        let second = slots * 15.0 + 0.2;
        stood_back()
            .tell(second, Event::Woken, &["refresh"])
            .tell(second, leading_as(9, second), &["compare"])
            .tell(second, sees_one("c", 200, 8), &[expected]);
    }
    // Another leader has led since, so the priorities have not sunk yet, and 101 is enough.
    let mut transcript = stood_back();
    transcript.tell(15.2, Event::Woken, &["refresh"]).tell(15.2, leading_as(9, 15.2), &["compare"]);
    transcript.tell(15.2, sees(Some(8), 100, vec![entry("c", 101, 8)]), &["resign"]);
}

#[test]
fn a_named_successor_leads_rather_than_a_better_candidate() {
    let handed_over =
        || Control::default().handing_over(Token::new(6), Some("b".into()), request()).ranked();
    for (last, expected) in [(Some(6), "resign"), (None, "resign"), (Some(7), "refresh")] {
        Transcript::joined(ETCD, rules())
            .tell(0.1, Event::ControlRead(handed_over()), &[])
            .tell(0.1, leading(ETCD, 0.0), &["compare"])
            .tell(0.2, sees(last, 100, vec![entry("b", 50, 6), entry("c", 70, 8)]), &[expected]);
    }
}

#[test]
fn an_observer_keeps_an_unwanted_place_and_starts_nothing() {
    let alone = || sees(None, 0, vec![entry("b", 0, 1)]);
    let mut transcript = comparing(of_priority(0));
    transcript.tell(0.2, alone(), &["watch"]).pass(2.7, &["refresh"]);
    transcript.tell(2.8, leading(ETCD, 2.7), &["compare"]).tell(2.9, alone(), &["watch"]);
    transcript
        .tell(4.0, Event::Woken, &["refresh"])
        .tell(4.1, leading(ETCD, 4.0), &["compare"])
        .tell(4.2, sees(None, 0, vec![entry("b", 1, 1)]), &["resign"])
        .tell(4.3, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
        .tell(4.4, waiting(1), &[]);
    comparing(of_priority(0)).tell(0.2, sees(None, 0, vec![foreign("b")]), &["resign"]);
}

#[test]
fn an_observer_stands_back_as_often_as_it_is_the_head() {
    let mut transcript = comparing(of_priority(0));
    for second in [1.0, 2.0, 3.0] {
        transcript
            .tell(second, sees(None, 0, vec![entry("b", 1, 6)]), &["resign"])
            .tell(second, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
            .tell(second, leading(ETCD, second), &["compare"]);
    }
}

#[test]
fn a_leader_that_becomes_an_observer_resigns() {
    for who in ["us", "us-0123456789"] {
        let rules = Rules { id: who.into(), ..rules() };
        Transcript::running(ETCD, rules)
            .tell(1.0, set("us", 0), &["signal 15"])
            .tell(2.0, Event::Ended(Ended::Signaled(15)), &[])
            .tell(2.1, Event::Empty, &["resign"])
            .tell(2.2, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
    }
    Transcript::running(ETCD, rules()).tell(1.0, set("us", 1), &[]).tell(1.1, set("b", 0), &[]);
}

#[test]
fn a_former_observer_leads() {
    let mut transcript = comparing(of_priority(0));
    transcript
        .tell(0.2, sees(None, 0, vec![]), &["watch"])
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, set("us", 1), &[])
        .tell(1.1, leading(ETCD, 1.0), &["compare"])
        .tell(1.2, sees(None, 0, vec![]), &["refresh"])
        .tell(1.3, leading(ETCD, 1.2), &["start 7"]);
}

#[test]
fn a_comparison_that_fails_keeps_the_place_and_is_repeated() {
    let mut transcript = comparing(rules());
    transcript.tell(0.2, Event::Replied(Err(unreachable())), &[]).pass(0.3, &["refresh"]).tell(
        0.3,
        leading(ETCD, 0.3),
        &["compare"],
    );
    // That call had no answer either.
    transcript.pass(2.9, &["abandon", "refresh"]).tell(2.9, leading(ETCD, 2.9), &["compare"]);
    transcript.tell(3.0, sees(None, 100, vec![]), &["refresh"]);
}

#[test]
fn a_head_that_is_missing_in_the_survey_checks_its_place() {
    let no_candidate = Field { survey: Survey::default(), last: None };
    let mut transcript = comparing(rules());
    transcript
        .tell(0.2, Event::Replied(Ok(Reply::Field(Box::new(no_candidate)))), &[])
        .pass(0.3, &["refresh"]);
    transcript.tell(0.3, gone(), &[]).pass(0.5, &["resign"]);
}

#[test]
fn a_place_that_is_lost_after_a_comparison_is_compared_anew() {
    comparing(rules()).tell(0.2, sees(None, 100, vec![]), &["refresh"]).tell(
        0.3,
        leading_as(8, 0.2),
        &["compare"],
    );
}

#[test]
fn a_candidate_told_to_end_leaves_during_any_request() {
    let expect_left = |mut transcript: Transcript| {
        transcript.tell(1.0, Event::Signal(TERM), &["abandon", "resign"]).tell(
            1.1,
            Event::Replied(Ok(Reply::Resigned)),
            &["finish: interrupted 15"],
        );
    };
    expect_left(comparing(rules()));
    let mut standing_back = comparing(rules());
    standing_back.tell(0.2, sees_one("b", 200, 6), &["resign"]);
    expect_left(standing_back);
    let mut announcing = Transcript::joined(ETCD, of_priority(80));
    announcing.tell(0.1, waiting(1), &["announce"]);
    expect_left(announcing);
}

#[test]
fn a_candidate_without_wait_leaves_once_a_better_one_is_there() {
    comparing(Rules { wait: Wait::No, ..rules() })
        .tell(0.2, sees_one("b", 200, 6), &["resign"])
        .tell(0.3, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
        .tell(0.4, waiting(1), &["compare"])
        .tell(0.5, sees_led_by("b", 200), &["resign"])
        .tell(0.6, Event::Replied(Ok(Reply::Resigned)), &["finish: not acquired"]);
    comparing(Rules { wait: Wait::No, ..of_priority(0) })
        .tell(0.2, sees(None, 0, vec![]), &["watch", "resign"])
        .tell(0.3, Event::Replied(Ok(Reply::Resigned)), &["finish: unwanted"]);
}

#[test]
fn a_candidate_without_wait_waits_for_a_head_that_gives_way() {
    let ahead = || {
        let mut transcript = Transcript::joined(ETCD, Rules { wait: Wait::No, ..rules() });
        transcript.tell(0.1, ranked(), &[]).tell(0.1, waiting(1), &["compare"]);
        transcript
    };
    // The head is an observer, or is about to give way to this candidate.
    for priority in [0, 50] {
        let mut transcript = ahead();
        transcript.tell(0.2, sees_led_by("b", priority), &[]);
        transcript.tell(1.0, Event::Woken, &["refresh"]);
        transcript.tell(1.1, leading(ETCD, 1.0), &["compare"]);
    }
    ahead().tell(0.2, sees_led_by("b", 100), &["resign"]);
    // They went before the look.
    ahead().tell(0.2, sees(None, 100, vec![]), &[]).tell(1.0, Event::Woken, &["refresh"]);
    // No candidate gives way in a pause.
    let rules = Rules { wait: Wait::No, ..rules() };
    let mut transcript = Transcript::joined(ETCD, rules);
    let paused = Control::default().ranked().paused(Some(Request::new("me".into(), None)));
    transcript.tell(0.1, Event::ControlRead(paused), &[]).tell(0.1, waiting(1), &["resign"]);
}

#[test]
fn a_candidate_whose_wait_ends_leaves_during_a_comparison() {
    let short = || Rules { wait: Wait::For(after(2.0)), ..rules() };
    comparing(short()).pass(2.0, &["abandon", "resign"]).tell(
        2.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: not acquired"],
    );
    let mut observer = comparing(Rules { priority: 0, ..short() });
    observer.tell(0.2, sees(None, 0, vec![]), &["watch"]).pass(2.0, &["resign"]);
}

#[test]
fn a_control_cell_that_changes_after_a_comparison_has_it_repeated() {
    let cleared = || {
        let mut transcript = comparing(rules());
        transcript.tell(0.2, sees_one("b", 80, 6), &["refresh"]);
        transcript
    };
    cleared().tell(0.3, set("b", 200), &[]).tell(0.3, leading(ETCD, 0.2), &["compare"]).tell(
        0.4,
        sees_one("b", 80, 6),
        &["resign"],
    );
    cleared().tell(0.3, set("us", 0), &[]).tell(0.3, leading(ETCD, 0.2), &["compare"]).tell(
        0.4,
        sees_one("b", 80, 6),
        &["resign"],
    );
}

#[test]
fn while_the_election_is_paused_a_head_neither_compares_nor_stands_back() {
    let paused = || Event::ControlRead(Control::default().ranked().paused(Some(request())));
    let mut transcript = comparing(rules());
    transcript
        .tell(0.2, sees(None, 100, vec![]), &["refresh"])
        .tell(0.3, paused(), &[])
        .tell(0.3, leading(ETCD, 0.2), &[])
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, ranked(), &[])
        .tell(1.1, leading(ETCD, 1.0), &["compare"])
        .tell(1.2, sees_one("b", 200, 6), &["resign"]);
    Transcript::joined(ETCD, of_priority(0)).tell(0.1, paused(), &[]).tell(
        0.1,
        leading(ETCD, 0.0),
        &[],
    );
}
