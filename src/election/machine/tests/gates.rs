//! What a winner asks whom several gates concern, and when it looks after its place in between.

use elect_api::{Candidate, Entry, Leader, Lease, Survey, Token, Validity, Written};

use super::orders::paused;
use super::{ETCD, Transcript, after, at, leading, rules, waiting};
use crate::election::machine::{Event, Rules};
use crate::election::ranking::Field;
use crate::election::{Answer, Reply};

const LOCAL: Lease = Lease::Unlimited;

fn replied(reply: Reply) -> Event {
    Event::Replied(Ok(reply))
}

/// We are alone.
fn alone() -> Event {
    let candidate = Candidate { priority: 80, host: "web".into(), ..Candidate::foreign("us") };
    let (entry, token) = (Entry::new(candidate, None, 1), Token::new(7));
    let leader = Leader { entry, token, since: None, remaining: None, renewed: None };
    let survey = Survey { leader: Some(leader), waiting: vec![] };
    replied(Reply::Field(Box::new(Field { survey, last: None })))
}

/// A winner since 0.0, of whom all but the order of candidates and its division is asked.
fn won(lease: Lease) -> Transcript {
    let rules = Rules {
        once: true,
        priority: 80,
        keeps_history: true,
        lock_delay: Some(after(20.0)),
        ..rules()
    };
    let mut transcript = Transcript::new(lease, rules);
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, replied(Reply::Opened), &["recall"])
        .tell(0.0, replied(Reply::Done(false)), &["refresh"])
        .tell(0.0, leading(lease, 0.0), &["recall"]);
    transcript
}

/// The same once it has passed all gates, and is about to prove that it still is the first.
fn passed() -> Transcript {
    let mut transcript = won(ETCD);
    transcript
        .tell(0.1, replied(Reply::Done(false)), &["announce"])
        .tell(0.2, replied(Reply::Announced), &["compare"])
        .tell(0.3, alone(), &["read history"])
        .tell(0.4, replied(Reply::EndedWell(true)), &["begin history 7"])
        .tell(0.5, replied(Reply::Written(Written::Yes(1))), &["refresh"]);
    transcript
}

#[test]
fn all_is_asked_between_two_proofs() {
    passed().tell(0.6, leading(ETCD, 0.5), &["start 7"]);
}

#[test]
fn what_people_ask_meanwhile_counts() {
    passed().tell(0.6, paused(), &[]).tell(0.6, leading(ETCD, 0.5), &[]).pass(2.9, &[]);
}

#[test]
fn whoever_wins_anew_asks_anew() {
    let validity = Validity::Window { anchor: at(1.0), window: after(15.0) };
    let again = Reply::Standing(Answer::Leading { token: Token::new(8), validity });
    passed()
        .tell(0.6, waiting(1), &[])
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, replied(again), &["recall"])
        .tell(1.2, replied(Reply::Done(false)), &["announce"])
        .tell(1.3, replied(Reply::Announced), &["compare"])
        .tell(1.4, alone(), &["read history"])
        .tell(1.5, replied(Reply::EndedWell(true)), &["begin history 8"]);
}

#[test]
fn a_place_that_was_confirmed_a_renewal_ago_is_looked_after_first() {
    won(ETCD).tell(2.6, replied(Reply::Done(false)), &["refresh"]).tell(
        2.7,
        leading(ETCD, 2.6),
        &["announce"],
    );
    // Also where each answer takes so long: what is not asked then is never asked.
    won(LOCAL)
        .tell(6.0, replied(Reply::Done(false)), &["refresh"])
        .tell(12.0, leading(LOCAL, 6.0), &["announce"])
        .tell(18.0, replied(Reply::Announced), &["refresh"])
        .tell(24.0, leading(LOCAL, 18.0), &["compare"]);
}

#[test]
fn a_wake_has_it_look_after_its_place_first() {
    won(ETCD)
        .tell(0.1, Event::Woken, &[])
        .tell(0.2, replied(Reply::Done(false)), &["refresh"])
        .tell(0.3, leading(ETCD, 0.2), &["announce"]);
}

#[test]
fn what_may_be_done_since_it_was_asked_is_asked_again() {
    won(ETCD)
        .tell(0.1, replied(Reply::Done(false)), &["announce"])
        .tell(0.2, Event::Noted, &[])
        .tell(0.3, replied(Reply::Announced), &["refresh"])
        .tell(0.4, leading(ETCD, 0.3), &["recall"]);
}
