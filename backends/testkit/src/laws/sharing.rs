//! Law 16: the seats of one store share a session and nothing else.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use elect_api::{
    Candidate, Cell, ElectionName, Error, Removal, Seat, Standing, Store, Ticket, Token, Validity,
};

use crate::contender::in_words;
use crate::{Contender, LineUp, Shared, poll_n, poll_n_eagerly};

/// More await points than a call of any store has.
const CUTS: usize = 12;

/// One process with a seat in each of several elections of one store.
struct SharedSession {
    bench: Shared,
    store: Box<dyn Store>,
    seats: Vec<Member>,
}

struct Member {
    election: ElectionName,
    seat: Box<dyn Seat>,
}

impl SharedSession {
    async fn new(bench: &Shared, seats: usize) -> Self {
        let store = bench.connect().await;
        let mut session = Self { bench: bench.clone(), store, seats: Vec::new() };
        for number in 0..seats {
            session.open(number).await;
        }
        session
    }

    /// As [`Self::new`], and leads in each election.
    async fn leading(bench: &Shared, seats: usize) -> (Self, Vec<Token>) {
        let mut session = Self::new(bench, seats).await;
        let tokens = session.lead().await;
        (session, tokens)
    }

    async fn open(&mut self, number: usize) {
        let election: ElectionName = format!("shared:{number}").parse().expect("a good name");
        let candidate = Candidate::foreign("household");
        let seat = self.store.open(&election, &candidate, self.bench.ttl()).await;
        self.seats.push(Member { election, seat: seat.expect("a seat") });
    }

    /// Refreshes all seats at the same time, and asserts that each leads.
    async fn lead(&mut self) -> Vec<Token> {
        let bench = &self.bench;
        let refreshes = self.seats.iter_mut().map(|member| refresh(bench, member.seat.as_mut()));
        all(refreshes)
            .await
            .into_iter()
            .map(|standing| token_of(&standing.expect("it leads")))
            .collect()
    }

    /// Refreshes the seat with this number, and asserts that it leads.
    async fn lead_in(&mut self, number: usize) -> Token {
        let standing = refresh(&self.bench, self.seats[number].seat.as_mut()).await;
        token_of(&standing.expect("it leads"))
    }

    /// Returns a candidate of another process for the election with this number.
    async fn rival(&self, number: usize) -> Contender {
        Contender::in_election(&self.bench, &self.seats[number].election, "rival").await
    }

    /// Returns the line-up of the election with this number, as another client sees it.
    async fn line_up(&self, number: usize) -> LineUp {
        let survey = self.bench.connect().await.survey(&self.seats[number].election).await;
        survey.expect("a survey").into()
    }

    async fn resign(&mut self, number: usize) {
        self.seats[number].seat.resign(None).await.expect("a resign");
    }

    fn ticket(&self, number: usize) -> Option<Ticket> {
        self.seats[number].seat.ticket()
    }

    /// Asserts that a new candidate leads the election with this number at once, and that no entry is left after
    /// it.
    async fn expect_free(&self, number: usize) {
        let mut rival = self.rival(number).await;
        rival.lead().await;
        rival.resign().await;
        assert_eq!(self.line_up(number).await, LineUp::without_leader(&[]));
    }
}

async fn refresh(bench: &Shared, seat: &mut dyn Seat) -> Result<Standing, Error> {
    let now = bench.now();
    let standing = seat.refresh(now).await?.standing;
    if let Standing::Leading { validity: Validity::Window { anchor, .. }, .. } = standing {
        assert!(
            anchor <= now,
            "what another seat has proven counts from {anchor:?}, after {now:?}"
        );
    }
    Ok(standing)
}

fn token_of(standing: &Standing) -> Token {
    match standing {
        Standing::Leading { token, .. } => *token,
        other => panic!("it was to lead but {}", in_words(other)),
    }
}

/// Polls all futures together until all are ready, and returns their results.
async fn all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (future, value) in waiting.iter_mut().filter(|(_, value)| value.is_none()) {
            if let Poll::Ready(ready) = Pin::new(future).poll(context) {
                *value = Some(ready);
            }
        }
        let is_over = waiting.iter().all(|(_, value)| value.is_some());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    waiting.into_iter().filter_map(|(_, value)| value).collect()
}

/// Waits until the rival leads, while the other seats go on. The number of their refreshes does not matter.
async fn outlast(session: &mut SharedSession, rival: &mut Contender) {
    for _ in 0..24 {
        session.bench.advance(session.bench.ttl() / 6).await;
        session.lead().await;
        match rival.refresh().await {
            Standing::Leading { .. } => return,
            Standing::Waiting { .. } => {}
            other => panic!("a waiter {}", in_words(&other)),
        }
    }
    panic!("a place that no seat asks for is not free after four times the lease's length");
}

/// Each seat leads with its own token, and a rival waits behind that seat alone.
pub async fn seats_of_one_store_lead_apart(bench: Shared) {
    let (mut session, tokens) = SharedSession::leading(&bench, 5).await;
    for number in 0..5 {
        // Rivals take their time where the machine is busy.
        assert_eq!(session.lead().await, tokens);
        session.rival(number).await.wait_behind(1).await;
        let others = (0..number).filter_map(|other| session.ticket(other));
        assert!(others.into_iter().all(|other| Some(other) != session.ticket(number)));
    }
    for _ in 0..3 {
        assert_eq!(session.lead().await, tokens);
        bench.advance(bench.ttl() / 6).await;
    }
}

/// One seat resigns, with or without last words, and wherever an earlier resign was dropped. The others go on,
/// and it may come back.
pub async fn one_of_several_seats_resigns_alone(bench: Shared) {
    let (mut session, tokens) = SharedSession::leading(&bench, 3).await;
    for cut in 0..=CUTS {
        let (mut rival, ticket) = (session.rival(1).await, session.ticket(1));
        let old = session.lead_in(1).await;
        rival.wait_behind(1).await;
        let seat = &mut session.seats[1].seat;
        if cut % 2 == 0 {
            drop(poll_n(cut, seat.resign(Some((Cell::History, b"a word")))).await);
        } else {
            drop(poll_n(cut, seat.resign(None)).await);
        }
        session.resign(1).await;
        assert!(rival.lead().await > old, "cut after {cut} polls");
        assert!(ticket.is_none() || ticket != session.ticket(1), "two entries have one ticket");
        assert_eq!((session.lead_in(0).await, session.lead_in(2).await), (tokens[0], tokens[2]));
        rival.resign().await;
        assert!(session.lead_in(1).await > old);
    }
    for number in [1, 0, 2] {
        session.resign(number).await;
        session.expect_free(number).await;
    }
    assert!(session.lead().await.iter().zip(&tokens).all(|(new, old)| new > old));
}

/// A ticket frees only its own place. If it is redeemed late, the other seats and a later entry of the same seat
/// keep their places.
pub async fn a_ticket_of_one_of_several_seats_frees_that_one_alone(bench: Shared) {
    let (mut session, tokens) = SharedSession::leading(&bench, 3).await;
    // Without a ticket only the death of the whole process frees the place.
    let Some(ticket) = session.ticket(1) else { return };
    let election = session.seats[1].election.clone();
    let redeem = async || {
        bench.connect().await.remove(&election, Removal::Crashed(&ticket)).await.expect("redeemed");
    };
    let mut rival = session.rival(1).await;
    rival.wait_behind(1).await;
    redeem().await;
    rival.lead().await;
    let standing = refresh(&bench, session.seats[1].seat.as_mut()).await.expect("a standing");
    assert!(matches!(standing, Standing::Gone(_)), "it {}", in_words(&standing));
    assert_eq!((session.lead_in(0).await, session.lead_in(2).await), (tokens[0], tokens[2]));
    rival.resign().await;
    session.resign(1).await;
    let token = session.lead_in(1).await;
    redeem().await;
    assert_eq!(session.lead().await, [tokens[0], token, tokens[2]]);
}

/// Wherever the refresh of one seat was dropped, its resign or its ticket leaves nothing of it.
pub async fn a_dropped_refresh_of_one_of_several_seats_leaves_nothing(bench: Shared) {
    let (mut session, tokens) = SharedSession::leading(&bench, 1).await;
    for cut in 1..=CUTS {
        for redeems in [false, true] {
            session.open(1).await;
            let now = bench.now();
            drop(poll_n(cut, session.seats[1].seat.refresh(now)).await);
            match session.ticket(1).filter(|_| redeems) {
                Some(ticket) => {
                    let election = &session.seats[1].election;
                    bench
                        .connect()
                        .await
                        .remove(election, Removal::Crashed(&ticket))
                        .await
                        .expect("redeemed");
                }
                None => session.resign(1).await,
            }
            session.expect_free(1).await;
            session.seats.truncate(1);
            assert_eq!(session.lead().await, tokens, "cut after {cut} polls");
        }
    }
}

/// The store answers the requests later, when the seat has already given up.
pub async fn a_stalled_refresh_of_one_of_several_seats_leaves_nothing(bench: Shared) {
    for redeems in [false, true] {
        let (mut session, tokens) = SharedSession::leading(&bench, 1).await;
        session.open(1).await;
        let stall = bench.stall(&session.seats[1].election).await;
        let now = bench.now();
        drop(poll_n_eagerly(100, session.seats[1].seat.refresh(now)).await);
        drop(stall);
        let ticket = session.ticket(1).filter(|_| redeems);
        let mut member = session.seats.remove(1);
        if let Some(ticket) = ticket {
            bench
                .connect()
                .await
                .remove(&member.election, Removal::Crashed(&ticket))
                .await
                .expect("redeemed");
        } else {
            // The connection may have broken with the stall.
            while let Err(error) = member.seat.resign(None).await {
                assert!(!error.is_permanent(), "{error}");
                tokio::time::sleep(bench.ttl() / 100).await;
            }
        }
        while let Err(error) = refresh(&bench, session.seats[0].seat.as_mut()).await {
            assert!(!error.is_permanent(), "{error}");
            tokio::time::sleep(bench.ttl() / 100).await;
        }
        session.seats.push(member);
        session.expect_free(1).await;
        assert_eq!(session.lead_in(0).await, tokens[0]);
        session.resign(0).await;
    }
}

/// A seat that stops asking loses its place, although other seats renew the session that they share with it.
pub async fn a_seat_that_stops_asking_loses_its_place_while_others_go_on(bench: Shared) {
    let (mut session, tokens) = SharedSession::leading(&bench, 3).await;
    let mut rival = session.rival(1).await;
    rival.wait_behind(1).await;
    drop(session.seats.remove(1));
    outlast(&mut session, &mut rival).await;
    assert_eq!(session.lead().await, [tokens[0], tokens[2]]);
}

/// If the whole process crashes without a word, each place is free once the lease is over.
pub async fn several_seats_that_crash_together_are_followed(bench: Shared) {
    let (mut session, tokens) = SharedSession::leading(&bench, 3).await;
    let mut rivals = Vec::new();
    for number in 0..3 {
        assert_eq!(session.lead().await, tokens);
        let mut rival = session.rival(number).await;
        rival.wait_behind(1).await;
        rivals.push(rival);
    }
    let SharedSession { bench, store, seats } = session;
    drop((seats, store));
    let mut empty_session = SharedSession::new(&bench, 0).await;
    for (rival, old) in rivals.iter_mut().zip(tokens) {
        outlast(&mut empty_session, rival).await;
        assert!(rival.lead().await > old);
    }
}
