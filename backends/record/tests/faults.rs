//! Faults of documents, on a simulated store that produces each fault on demand.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Candidate, Cell, If, Removal, Seat, Standing, Written};
use elect_testkit::sim::{Clock, Effect, Kind, ManualClock, Op, Options, Rule, Sim};
use elect_testkit::{election, poll_n_eagerly, run};

const TTL: Duration = Duration::from_secs(12);

struct Ground {
    sim: Sim,
    clock: Arc<ManualClock>,
}

impl Ground {
    fn new(kind: Kind) -> Self {
        let clock = Arc::new(ManualClock::default());
        Self { sim: Sim::new(Options::new(kind), Arc::clone(&clock) as Arc<dyn Clock>), clock }
    }

    async fn seat(&self, id: &str) -> Box<dyn Seat> {
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(id) };
        self.sim.connect().open(&election(), &candidate, TTL).await.expect("a seat")
    }

    async fn refresh(&self, seat: &mut Box<dyn Seat>) -> Standing {
        seat.refresh(self.clock.now()).await.expect("a standing").standing
    }

    async fn leads(&self, seat: &mut Box<dyn Seat>) -> bool {
        matches!(self.refresh(seat).await, Standing::Leading { .. })
    }

    async fn is_behind(&self, seat: &mut Box<dyn Seat>, expected: usize) -> bool {
        matches!(self.refresh(seat).await, Standing::Waiting { ahead, .. } if ahead == expected)
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    fn leader(&self) -> Option<String> {
        self.sim.controls().leader(&election()).map(|tenure| tenure.candidate)
    }
}

/// Other programs write the control cell all the time. A dead lease still ends in time.
#[test]
fn writes_of_other_programs_prolong_no_dead_lease() {
    run("writes of others", async {
        for kind in [Kind::Record, Kind::Race] {
            let ground = Ground::new(kind);
            let (mut dead, mut next) = (ground.seat("dead").await, ground.seat("next").await);
            assert!(ground.leads(&mut dead).await);
            let store = ground.sim.connect();
            let mut seconds = 0;
            while !ground.leads(&mut next).await {
                let version =
                    store.read(&election(), Cell::Control).await.expect("an answer").version;
                let asks = If::Version(version);
                let written = store.write(&election(), Cell::Control, b"x", asks).await;
                assert!(matches!(written, Ok(Written::Yes(_))), "{written:?}");
                ground.pass(1);
                seconds += 1;
                assert!(seconds <= 14, "{kind:?}: it is prolonged");
            }
            assert!(seconds >= 12, "{kind:?}: taken after {seconds} s");
        }
    });
}

/// Three waiters died with their machine. Each delays the next leader by a sixth of a lease, and not by a whole one.
#[test]
fn dead_waiters_do_not_delay_the_next_leader_by_their_whole_lease() {
    run("dead waiters", async {
        let ground = Ground::new(Kind::Record);
        let mut leader = ground.seat("leader").await;
        assert!(ground.leads(&mut leader).await);
        for number in 0..3 {
            let mut doomed = ground.seat(&format!("doomed-{number}")).await;
            assert!(ground.is_behind(&mut doomed, number + 1).await);
        }
        let mut last = ground.seat("last").await;
        assert!(ground.is_behind(&mut last, 4).await);
        leader.resign(None).await.expect("a resign");
        for second in 0..=6 {
            assert_eq!(ground.leads(&mut last).await, second == 6, "after {second} s");
            ground.pass(1);
        }
    });
}

/// A waiter that only looked dead has its turn as soon as it refreshes. The waiter behind it has to wait that long.
#[test]
fn the_next_waiter_leads_first() {
    run("turns", async {
        let ground = Ground::new(Kind::Record);
        let mut seats = Vec::new();
        for (ahead, id) in ["a", "b", "c"].into_iter().enumerate() {
            let mut seat = ground.seat(id).await;
            assert!(ahead == 0 || ground.is_behind(&mut seat, ahead).await);
            assert!(ahead > 0 || ground.leads(&mut seat).await);
            seats.push(seat);
        }
        seats[0].resign(None).await.expect("a resign");
        assert!(ground.is_behind(&mut seats[2], 1).await);
        ground.pass(1);
        assert!(ground.is_behind(&mut seats[2], 1).await);
        assert!(ground.leads(&mut seats[1]).await);
        assert!(ground.is_behind(&mut seats[2], 1).await);
    });
}

/// A candidate loses the reply to its winning write, and another program writes the control cell since. The candidate
/// still finds that it leads, with the token of its write.
#[test]
fn a_win_whose_reply_was_lost_is_found_behind_other_writes() {
    run("a lost win", async {
        for kind in [Kind::Record, Kind::Race] {
            let ground = Ground::new(kind);
            let mut first = ground.seat("first").await;
            assert!(ground.leads(&mut first).await);
            first.resign(None).await.expect("a resign");
            let mut seat = ground.seat("a").await;
            let rule = Rule::new(Effect::LoseReply).op(Op::Enter).client("a");
            let rule = ground.sim.controls().add(rule);
            let now = ground.clock.now();
            assert!(poll_n_eagerly(20, seat.refresh(now)).await.is_none(), "it was answered");
            ground.sim.controls().lift(rule);
            assert_eq!(ground.leader().as_deref(), Some("a"));
            let store = ground.sim.connect();
            let asks = If::Version(0);
            store.write(&election(), Cell::Control, b"x", asks).await.expect("an answer");
            let found = seat.refresh(ground.clock.now()).await.expect("a standing");
            let Standing::Leading { token, .. } = found.standing else {
                panic!("{kind:?}: it does not know that it leads")
            };
            assert_eq!(ground.sim.controls().history()[1].token, token.get());
            assert_eq!(found.control.bytes.as_deref(), Some(&b"x"[..]));
        }
    });
}

/// A winning write is late: its candidate resigns, or its ticket is redeemed, while another candidate leads. The late
/// write fails and disturbs no candidate.
#[test]
fn a_win_that_comes_late_is_none() {
    run("a late win", async {
        for (kind, redeems) in
            [(Kind::Record, false), (Kind::Record, true), (Kind::Race, false), (Kind::Race, true)]
        {
            let ground = Ground::new(kind);
            let (mut dead, mut late) = (ground.seat("dead").await, ground.seat("late").await);
            assert!(ground.leads(&mut dead).await);
            for _ in 0..=12 {
                assert!(!ground.leads(&mut late).await);
                ground.pass(1);
            }
            // The late candidate takes the lease of a dead leader.
            let rule = Rule::new(Effect::DelayRequest(Duration::from_secs(5)));
            ground.sim.controls().add(rule.op(Op::Enter).client("late"));
            let ticket = late.ticket().expect("a ticket");
            let now = ground.clock.now();
            assert!(poll_n_eagerly(20, late.refresh(now)).await.is_none(), "it was answered");
            if redeems {
                let store = ground.sim.connect();
                let redeemed = store.remove(&election(), Removal::Crashed(&ticket)).await;
                redeemed.expect("a redeemed ticket");
            } else {
                late.resign(None).await.expect("a resign");
            }
            assert_eq!(ground.leader().as_deref(), Some("dead"));
            ground.pass(6);
            assert_eq!(ground.leader().as_deref(), Some("dead"), "{kind:?}, redeems: {redeems}");
        }
    });
}
