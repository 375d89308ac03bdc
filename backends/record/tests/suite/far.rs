//! Waiters with many before them, and what they notice without a list.

use elect_api::{Cell, If, Seat, Standing, Store, Ticket, Versioned};
use elect_record::Name;
use elect_testkit::{election, run};

use crate::documents::{Fake, at};

/// The time between two refreshes of the engine, in seconds, and the number of refreshes in a lease.
const EVERY: u64 = 2;
const LOOKS: u64 = 6;

/// Candidates of which the first leads, and the time.
struct Line {
    fake: Fake,
    seats: Vec<Option<Box<dyn Seat>>>,
    /// The control cell as each candidate got it last.
    controls: Vec<Versioned>,
    second: u64,
}

impl Line {
    /// This many candidates, which have looked for some leases.
    async fn of(size: usize) -> Self {
        let fake = Fake::default();
        let mut seats = Vec::new();
        for number in 0..size {
            seats.push(Some(fake.seat(&format!("c{number}")).await));
        }
        let controls = vec![Versioned::default(); size];
        let mut line = Self { fake, seats, controls, second: 1 };
        line.look(3 * LOOKS).await;
        line
    }

    /// Makes all candidates look this many times.
    async fn look(&mut self, times: u64) {
        for _ in 0..times {
            for number in 0..self.seats.len() {
                self.look_of(number).await;
            }
            self.second += EVERY;
        }
    }

    /// Makes one candidate look once. Returns how many are before it, or `None` if it leads or is gone.
    async fn look_of(&mut self, number: usize) -> Option<usize> {
        let seat = self.seats[number].as_mut()?;
        let refreshed = seat.refresh(at(self.second)).await.expect("a standing");
        self.controls[number] = refreshed.control;
        match refreshed.standing {
            Standing::Waiting { ahead, .. } => Some(ahead),
            _ => None,
        }
    }

    /// The number of lists that its next look makes.
    async fn lists_at(&mut self, number: usize) -> u32 {
        let before = self.lists();
        self.look_of(number).await;
        self.lists() - before
    }

    /// Removes the candidate's waiter, as if by hand, and returns its ticket.
    fn remove_waiter_of(&self, number: usize) -> Ticket {
        let ticket = self.seats[number].as_ref().and_then(|seat| seat.ticket()).expect("a ticket");
        let nonce =
            ticket.as_str().rsplit('-').next().and_then(|it| u64::from_str_radix(it, 16).ok());
        let name = Name::Waiter(nonce.expect("a nonce"));
        self.fake.with(|inner| inner.remove(name));
        ticket
    }

    fn leader(&self) -> Option<String> {
        self.fake.leader()
    }

    fn lists(&self) -> u32 {
        self.fake.with(|inner| inner.counts.lists)
    }

    fn writes(&self) -> u32 {
        self.fake.with(|inner| inner.counts.writes)
    }
}

#[test]
fn the_control_cell_reaches_all_within_two_leases() {
    run("orders", async {
        let mut line = Line::of(8).await;
        let asks = If::Version(0);
        line.fake.store().write(&election(), Cell::Control, b"x", asks).await.expect("written");
        line.look(2 * LOOKS).await;
        for (number, control) in line.controls.iter().enumerate() {
            assert_eq!(control.bytes.as_deref(), Some(&b"x"[..]), "{number}");
        }
    });
}

#[test]
fn only_the_first_three_list_while_nothing_happens() {
    run("no lists", async {
        let mut line = Line::of(12).await;
        let before = line.lists();
        line.look(LOOKS).await;
        // Two lists at each look, and one list each by the next waiter and by the leader.
        assert_eq!(line.lists() - before, 2 * 6 + 2);
    });
}

/// A list takes longer the more candidates wait.
#[test]
fn the_next_waiter_takes_over_without_a_list() {
    run("the next one", async {
        let mut line = Line::of(8).await;
        // The next waiter makes its list of this lease.
        while line.lists_at(1).await == 0 {
            line.second += EVERY;
        }
        let mut gone = line.seats[0].take().expect("it leads");
        gone.resign(None).await.expect("a resign");
        assert_eq!(line.lists_at(1).await, 0);
        assert_eq!(line.leader().as_deref(), Some("c1"));
        // The former second waiter, which has not looked since, needs no list either.
        let mut gone = line.seats[1].take().expect("it leads");
        gone.resign(None).await.expect("a resign");
        assert_eq!(line.lists_at(2).await, 0);
        assert_eq!(line.leader().as_deref(), Some("c2"));
    });
}

/// Another candidate took it for dead, so it has lost its place.
#[test]
fn a_candidate_whose_waiter_is_gone_does_not_take_over() {
    run("the next one", async {
        let mut line = Line::of(8).await;
        line.remove_waiter_of(1);
        let mut gone = line.seats[0].take().expect("it leads");
        gone.resign(None).await.expect("a resign");
        assert!(line.look_of(1).await.is_some(), "it leads");
        line.look(1).await;
        assert_eq!(line.leader().as_deref(), Some("c2"));
        line.look(LOOKS).await;
        assert_eq!(line.look_of(1).await, Some(6), "it has no place behind all others");
    });
}

/// No watch reports anything. Each waiter still notices when the one before it goes.
#[test]
fn a_place_gets_better_though_no_watch_tells_it() {
    run("no watch", async {
        let mut line = Line::of(8).await;
        line.fake.with(|inner| inner.is_mute = true);
        let mut gone = line.seats[6].take().expect("it takes part");
        gone.resign(None).await.expect("a resign");
        line.look(2 * LOOKS).await;
        assert_eq!(line.look_of(7).await, Some(6));
    });
}

/// A refresh out of turn means that the engine knows of an event, so the answer is a current one.
#[test]
fn a_refresh_out_of_turn_gets_a_current_answer() {
    run("out of turn", async {
        let mut line = Line::of(8).await;
        assert_eq!(line.look_of(7).await, Some(7));
        let mut gone = line.seats[3].take().expect("it takes part");
        gone.resign(None).await.expect("a resign");
        line.second += EVERY;
        assert_eq!(line.look_of(7).await, Some(7), "it lists at each look");
        assert_eq!(line.look_of(7).await, Some(6));
    });
}

/// Each commit costs a server more than a read does.
#[test]
fn a_waiter_that_has_just_entered_looks_without_a_write() {
    run("an entry", async {
        let mut line = Line::of(2).await;
        line.seats.push(Some(line.fake.seat("newcomer").await));
        line.controls.push(Versioned::default());
        line.look_of(2).await;
        let before = line.writes();
        assert_eq!(line.look_of(2).await, Some(2));
        assert_eq!(line.writes(), before);
        line.second += EVERY;
        line.look_of(2).await;
        assert_eq!(line.writes(), before + 1, "it renews in its turn");
    });
}

#[test]
fn a_candidate_whose_waiter_is_removed_enters_anew() {
    run("removed", async {
        let mut line = Line::of(8).await;
        let ticket = line.remove_waiter_of(5);
        line.look(LOOKS + 2).await;
        assert_eq!(line.look_of(5).await, Some(7), "it has no place behind all others");
        assert_ne!(line.seats[5].as_ref().and_then(|seat| seat.ticket()), Some(ticket));
    });
}

/// A machine with the leader and nineteen waiters dies, and no watch reports it. Each waiter behind notices at another
/// time, and the first to notice leads.
#[test]
fn a_candidate_behind_many_that_died_together_leads() {
    run("a machine that died", async {
        let mut line = Line::of(25).await;
        line.fake.with(|inner| inner.is_mute = true);
        line.seats[..20].fill_with(|| None);
        let mut leases = 0;
        while line.leader().as_deref() == Some("c0") {
            line.look(LOOKS).await;
            leases += 1;
            assert!(leases <= 9, "no candidate follows");
        }
        println!("after {leases} leases {:?} leads", line.leader());
    });
}
