//! Tests of the client under faults that only a simulated store has on demand.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Boottime, Candidate, ErrorKind, Removal, Seat, Standing, Validity};
use nix::sys::signal::Signal;

use super::{
    Cause, Clock, Controls, Effect, Kind, ManualClock, Op, Options, Rule, Sim, SimServer,
    TokioClock, boottime,
};
use crate::contender::in_words;
use crate::program::eventually;
use crate::switches::{Part, without};
use crate::{election, poll_n_eagerly, run};

const KINDS: [Kind; 3] = [Kind::Queue, Kind::Record, Kind::Race];
const TTL: Duration = Duration::from_secs(12);

fn candidate(id: &str) -> Candidate {
    Candidate { host: "h".into(), ..Candidate::foreign(id) }
}

/// A store in this process, whose time the test controls.
struct Ground {
    sim: Sim,
    clock: Arc<ManualClock>,
}

impl Ground {
    fn new(options: Options) -> Self {
        let clock = Arc::new(ManualClock::default());
        Self { sim: Sim::new(options, Arc::clone(&clock) as Arc<dyn Clock>), clock }
    }

    async fn seat(&self, id: &str) -> Box<dyn Seat> {
        self.sim.connect().open(&election(), &candidate(id), TTL).await.expect("a seat")
    }

    async fn refresh(&self, seat: &mut Box<dyn Seat>) -> Standing {
        seat.refresh(self.clock.now()).await.expect("a standing").standing
    }

    /// Refreshes, asserts that there is no answer, and drops the call.
    async fn refresh_in_vain(&self, seat: &mut Box<dyn Seat>) {
        let now = self.clock.now();
        assert!(poll_n_eagerly(20, seat.refresh(now)).await.is_none(), "it was answered");
    }

    fn controls(&self) -> Controls {
        self.sim.controls()
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    fn leader(&self) -> Option<String> {
        self.controls().leader(&election()).map(|tenure| tenure.candidate)
    }
}

#[track_caller]
fn token_of(standing: &Standing) -> u64 {
    match standing {
        Standing::Leading { token, .. } => token.get(),
        other => panic!("was to lead but {}", in_words(other)),
    }
}

#[test]
fn a_lost_reply_leaves_one_entry_that_is_found() {
    run("lost replies", async {
        for kind in KINDS {
            for effect in [Effect::LoseReply, Effect::Hold, Effect::LoseRequest] {
                let ground = Ground::new(Options::new(kind));
                let mut seat = ground.seat("a").await;
                let rule = ground.controls().add(Rule::new(effect).op(Op::Enter));
                ground.refresh_in_vain(&mut seat).await;
                ground.controls().lift(rule);
                let token = token_of(&ground.refresh(&mut seat).await);
                assert_eq!(token_of(&ground.refresh(&mut seat).await), token);
                assert_eq!(ground.controls().history().len(), 1, "{kind:?} {effect:?}");
                seat.resign(None).await.expect("a resign");
                assert_eq!(ground.leader(), None, "{kind:?} {effect:?}");
            }
        }
    });
}

#[test]
fn a_request_that_arrives_after_the_resign_makes_no_entry() {
    run("late requests", async {
        for kind in KINDS {
            let ground = Ground::new(Options::new(kind));
            let mut seat = ground.seat("a").await;
            let late = Rule::new(Effect::DelayRequest(Duration::from_secs(2))).op(Op::Enter);
            ground.controls().add(late);
            ground.refresh_in_vain(&mut seat).await;
            seat.resign(None).await.expect("a resign");
            ground.pass(3);
            assert_eq!(ground.leader(), None, "{kind:?}");
            // The ticket has the same effect from another process.
            ground.refresh_in_vain(&mut seat).await;
            let ticket = seat.ticket().expect("a ticket");
            ground
                .sim
                .connect()
                .remove(&election(), Removal::Crashed(&ticket))
                .await
                .expect("a redeemed ticket");
            ground.pass(3);
            assert_eq!(ground.leader(), None, "{kind:?}, redeemed");
        }
    });
}

/// A leader renews at a member that led the store, stood still and goes on. It has to ask again.
#[test]
fn a_leader_of_the_store_that_stood_still_keeps_no_lease_alive() {
    for part in [None, Some(Part::Term)] {
        without(part, || {
            run("a leader that stood still", async {
                let ground = Ground::new(Options::new(Kind::Queue).showing_terms());
                let mut seat = ground.seat("a").await;
                token_of(&ground.refresh(&mut seat).await);
                let still = ground.controls().add(Rule::new(Effect::Stand));
                ground.pass(2);
                ground.controls().change_leader(Some(Duration::ZERO));
                let chosen = ground.clock.now();
                ground.pass(3);
                let now = ground.clock.now();
                let mut renewal = seat.refresh(now);
                assert!(poll_n_eagerly(20, renewal.as_mut()).await.is_none(), "it was answered");
                ground.controls().lift(still);
                token_of(&renewal.await.expect("a standing").standing);
                let end = ground.controls().leader(&election()).expect("a leader").lease_end;
                assert_eq!(end, if part.is_none() { now + TTL } else { chosen + TTL });
            });
        });
    }
}

#[test]
fn requests_that_arrive_twice_change_nothing() {
    run("duplicates", async {
        for kind in KINDS {
            let ground = Ground::new(Options::new(kind));
            ground.controls().add(Rule::new(Effect::Duplicate(Duration::from_secs(3))));
            let mut first = ground.seat("a").await;
            let mut second = ground.seat("b").await;
            let token = token_of(&ground.refresh(&mut first).await);
            for _ in 0..4 {
                ground.pass(1);
                assert_eq!(token_of(&ground.refresh(&mut first).await), token);
                ground.refresh(&mut second).await;
            }
            first.resign(None).await.expect("a resign");
            ground.pass(1);
            let token = token_of(&ground.refresh(&mut second).await);
            ground.pass(5);
            assert_eq!(token_of(&ground.refresh(&mut second).await), token, "{kind:?}");
        }
    });
}

#[test]
fn failures_are_told_apart() {
    run("failures", async {
        for kind in KINDS {
            let ground = Ground::new(Options::new(kind));
            let mut seat = ground.seat("a").await;
            let token = token_of(&ground.refresh(&mut seat).await);
            for (effect, expected) in
                [(Effect::Refuse, ErrorKind::Unreachable), (Effect::Break, ErrorKind::Ambiguous)]
            {
                ground.controls().add(Rule::new(effect).client("a").times(1));
                let Err(error) = seat.refresh(ground.clock.now()).await else {
                    panic!("{effect:?} is no error")
                };
                assert_eq!(error.kind(), expected);
                assert_eq!(token_of(&ground.refresh(&mut seat).await), token, "{kind:?}");
            }
            // A client whose write was overtaken reads again.
            let answers = if kind == Kind::Queue { 1 } else { 2 };
            ground.controls().add(Rule::new(Effect::AnswerGone).times(answers));
            let standing = ground.refresh(&mut seat).await;
            assert!(matches!(standing, Standing::Gone(_)), "{kind:?}: {}", in_words(&standing));
        }
    });
}

#[test]
fn a_leader_that_is_cut_off_is_replaced_and_finds_out() {
    run("a partition", async {
        for kind in KINDS {
            let ground = Ground::new(Options::new(kind));
            let (mut cut, mut next) = (ground.seat("cut").await, ground.seat("next").await);
            let old = token_of(&ground.refresh(&mut cut).await);
            let rule = ground.controls().add(Rule::new(Effect::LoseRequest).client("cut"));
            let mut took = None;
            for second in 0..30 {
                if let Standing::Leading { token, .. } = ground.refresh(&mut next).await {
                    took.get_or_insert((second, token.get()));
                }
                ground.refresh_in_vain(&mut cut).await;
                ground.pass(1);
            }
            let (second, token) = took.expect("another leader");
            assert!((12..15).contains(&second) && token > old, "{kind:?} after {second} s");
            assert!(ground.controls().hits(rule) >= 29);
            ground.controls().lift_all();
            assert!(matches!(ground.refresh(&mut cut).await, Standing::Gone(_)), "{kind:?}");
            let cause = ground.controls().history()[0].over.expect("it is over").1;
            let expected = if kind == Kind::Queue { Cause::Expired } else { Cause::Replaced };
            assert_eq!(cause, expected);
        }
    });
}

/// The contender's first read takes long, and the holder renews in between. The time before that renewal
/// does not count as time without a change of the record.
#[test]
fn patience_is_counted_from_after_the_first_look() {
    run("patience", async {
        let ground = Ground::new(Options::new(Kind::Race));
        let (mut holder, mut contender) = (ground.seat("a").await, ground.seat("b").await);
        ground.refresh(&mut holder).await;
        let rule = ground.controls().add(Rule::new(Effect::Hold).client("b"));
        let began = ground.clock.now();
        let slow = async {
            ground.pass(10);
            ground.refresh(&mut holder).await;
            ground.controls().lift(rule);
        };
        let (standing, ()) = tokio::join!(contender.refresh(began), slow);
        assert!(matches!(standing.expect("an answer").standing, Standing::Waiting { .. }));
        // The first read began 12 s ago, and the renewal was 2 s ago. The contender leads only 12 s after its
        // second read, which comes now.
        ground.pass(2);
        for _ in 0..12 {
            ground.refresh(&mut contender).await;
            assert_eq!(ground.leader().as_deref(), Some("a"));
            ground.pass(1);
        }
        token_of(&ground.refresh(&mut contender).await);
    });
}

#[test]
fn a_fast_clock_of_the_store_ends_leases_early() {
    run("rates", async {
        for (per_mille, millis) in [(1200, 10_000), (1000, 12_000), (800, 15_000)] {
            let options = Options::new(Kind::Queue).rate_per_mille(per_mille);
            let ground = Ground::new(options);
            let mut seat = ground.seat("a").await;
            let before = ground.clock.now();
            let standing = ground.refresh(&mut seat).await;
            let Standing::Leading { validity, .. } = standing else { panic!("does not lead") };
            assert_eq!(validity, Validity::Window { anchor: before, window: TTL });
            let end = before + Duration::from_millis(millis);
            let tenure = ground.controls().leader(&election()).expect("a leader");
            assert_eq!((tenure.from, tenure.lease_end), (before, end));
            ground.clock.advance(Duration::from_millis(millis));
            assert_eq!(ground.leader(), None);
            assert_eq!(ground.controls().history()[0].over, Some((end, Cause::Expired)));
        }
    });
}

#[test]
fn it_runs_on_paused_time() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
        let sim = Sim::new(Options::new(Kind::Queue), Arc::clone(&clock));
        let open = async |id| sim.connect().open(&election(), &candidate(id), TTL).await;
        let mut first = open("a").await.expect("a seat");
        let mut second = open("b").await.expect("a seat");
        let began = clock.now();
        let late = Rule::new(Effect::DelayReply(Duration::from_secs(3600))).client("a").times(1);
        sim.controls().add(late);
        first.refresh(began).await.expect("a late answer");
        assert!(clock.now().since(began) >= Duration::from_secs(3600));
        token_of(&second.refresh(clock.now()).await.expect("a standing").standing);
        drop(second);
        clock.until(clock.now() + Duration::from_secs(1)).await;
        let mut third = open("c").await.expect("a seat");
        let found = third.refresh(clock.now()).await.expect("a standing");
        let Standing::Waiting { wake, .. } = found.standing else { panic!("was to wait") };
        let waits = clock.now();
        wake.await;
        assert!(clock.now().since(waits) <= TTL + Duration::from_millis(2));
        token_of(&third.refresh(clock.now()).await.expect("a standing").standing);
    });
}

async fn lead(server: &SimServer, id: &str, ttl: Duration) -> (Box<dyn Seat>, Boottime) {
    let store = server.connect();
    let mut seat = store.open(&election(), &candidate(id), ttl).await.expect("a seat");
    let before = boottime();
    token_of(&seat.refresh(before).await.expect("a standing").standing);
    (seat, before)
}

#[test]
fn a_stopped_server_answers_when_it_goes_on() {
    run("a stopped server", async {
        let server = SimServer::start(&Options::new(Kind::Queue));
        let ttl = Duration::from_millis(300);
        let (mut seat, _) = lead(&server, "a", ttl).await;
        server.signal(Signal::SIGSTOP);
        assert!(
            tokio::time::timeout(ttl * 2, seat.refresh(boottime())).await.is_err(),
            "a stopped server has answered"
        );
        server.signal(Signal::SIGCONT);
        // The renewal arrived before the end of the lease, but was read after it.
        let standing = seat.refresh(boottime()).await.expect("a standing").standing;
        assert!(matches!(standing, Standing::Gone(_)), "{}", in_words(&standing));
        let over = server.controls().history()[0].over.expect("it is over");
        assert_eq!(over.1, Cause::Expired);
    });
}

#[test]
fn a_server_keeps_leases_by_the_machines_clock() {
    run("a server's time", async {
        let options = Options::new(Kind::Queue).rate_per_mille(1500);
        let server = SimServer::start(&options);
        let ttl = Duration::from_millis(600);
        let (_seat, before) = lead(&server, "a", ttl).await;
        let after = boottime();
        let shown = server.controls().leader(&election()).expect("a leader");
        let real = Duration::from_millis(400);
        assert!((before + real..=after + real).contains(&shown.lease_end), "{shown:?}");
        eventually("the end of the lease", || {
            server.controls().leader(&election()).is_none().then_some(())
        });
        assert!(boottime() >= before + real);
        assert_eq!(server.controls().history()[0].over, Some((shown.lease_end, Cause::Expired)));
    });
}

#[test]
fn a_server_obeys_rules_from_outside_and_dies_with_its_owner() {
    run("rules from outside", async {
        let server = SimServer::start(&Options::new(Kind::Queue));
        let pid = server.pid();
        let (mut seat, _) = lead(&server, "a-1234", TTL).await;
        let rule = server.controls().add(Rule::new(Effect::LoseReply).op(Op::Renew).client("a-"));
        let lease_end = server.controls().leader(&election()).expect("a leader").lease_end;
        let in_vain = seat.refresh(boottime());
        assert!(tokio::time::timeout(Duration::from_millis(50), in_vain).await.is_err());
        assert_eq!(server.controls().hits(rule), 1);
        let renewed = server.controls().leader(&election()).expect("a leader").lease_end;
        assert!(renewed > lease_end, "a renewal whose reply was lost was not carried out");
        server.controls().lift(rule);
        token_of(&seat.refresh(boottime()).await.expect("a standing").standing);
        drop(server);
        assert!(!crate::program::is_alive(pid));
        let Err(error) = seat.refresh(boottime()).await else { panic!("a dead server answers") };
        assert_eq!(error.kind(), ErrorKind::Unreachable);
    });
}
