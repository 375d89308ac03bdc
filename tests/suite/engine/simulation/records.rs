//! Two candidates on a store that keeps documents and knows no time: looks that take long, wins that come late, and
//! values of one who leads no more.

use elect_api::{
    Candidate, Cell, ElectionName, Error, If, Key, Refreshed, Seat, Standing, Store, Token,
};
use elect_testkit::sim::{Clock, Effect, Kind, ManualClock, Op, Options, Rule, Sim};
use elect_testkit::{poll_n, poll_n_eagerly};

use super::stage::Breach;
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(6);
const STEPS: u32 = 60;
/// More await points than the writing of a value has.
const CUTS: usize = 12;

struct Game {
    chance: fastrand::Rng,
    clock: Arc<ManualClock>,
    sim: Sim,
    election: ElectionName,
    store: Box<dyn Store>,
    key: Key,
    /// The seat of the first leader, until it is dead.
    holder: Option<Box<dyn Seat>>,
    token: Token,
    /// True if the rival has seen the holder.
    is_seen: bool,
    /// True if a visitor removes all entries of the election.
    is_wiped: bool,
    /// When it sent the renewal that was acknowledged last.
    renewed: Boottime,
}

/// Returns what is wrong with the adapter, if anything is.
pub(crate) fn play(seed: u64) -> Option<Breach> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async { Game::begin(seed).await.play().await })
}

fn leads(found: &Result<Refreshed, Error>) -> bool {
    matches!(found, Ok(Refreshed { standing: Standing::Leading { .. }, .. }))
}

impl Game {
    async fn begin(seed: u64) -> Self {
        fastrand::seed(seed);
        let mut chance = fastrand::Rng::with_seed(seed);
        let clock = Arc::new(ManualClock::default());
        let kind = if chance.bool() { Kind::Record } else { Kind::Race };
        let sim = Sim::new(Options::new(kind), Arc::clone(&clock) as Arc<dyn Clock>);
        let (store, renewed) = (sim.connect(), clock.now());
        let (election, key) = ("game".parse().expect("a name"), "key".parse().expect("a key"));
        let token = Token::new(0);
        let mut game = Self {
            chance,
            clock,
            sim,
            election,
            store,
            key,
            holder: None,
            token,
            is_seen: false,
            is_wiped: seed % 5 == 2,
            renewed,
        };
        let mut holder = game.seat("a").await;
        let found = holder.refresh(renewed).await.expect("an answer");
        let Standing::Leading { token, .. } = found.standing else {
            panic!("a lone candidate does not lead")
        };
        (game.holder, game.token) = (Some(holder), token);
        game.put("begun").await;
        game
    }

    async fn seat(&self, id: &str) -> Box<dyn Seat> {
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(id) };
        self.store.open(&self.election, &candidate, TTL).await.expect("a seat")
    }

    async fn put(&self, text: &str) {
        let (cell, leads) = (Cell::Value(&self.key), If::Leads(self.token));
        let _ = self.store.write(&self.election, cell, text.as_bytes(), leads).await;
    }

    async fn value(&self) -> Option<Vec<u8>> {
        let cell = Cell::Value(&self.key);
        self.store.read(&self.election, cell).await.expect("an answer").bytes
    }

    fn pass(&mut self, longest: u64) {
        self.clock.advance(Duration::from_millis(self.chance.u64(0..=longest)));
    }

    async fn renew(&mut self) {
        let (now, Some(holder)) = (self.clock.now(), &mut self.holder) else { return };
        if leads(&holder.refresh(now).await) {
            self.renewed = now;
        } else {
            self.holder = None;
        }
        if self.chance.u8(0..10) == 0 {
            self.holder = None;
        }
    }

    async fn play(mut self) -> Option<Breach> {
        let mut rival = self.seat("b").await;
        for _ in 0..STEPS {
            // A removal by hand. A waiter does not wait for a holder that it has not seen.
            if self.is_wiped && self.is_seen && self.chance.u8(0..8) == 0 {
                self.sim.controls().wipe(&self.election);
            }
            match self.chance.u8(0..8) {
                0..3 => self.pass(1500),
                3..5 => self.renew().await,
                5 => {
                    if let Some(breach) = self.give_up_a_late_win(&mut rival).await {
                        return Some(breach);
                    }
                }
                _ => {
                    let cut = self.chance.usize(0..CUTS);
                    let store = self.sim.connect();
                    let (election, key) = (self.election.clone(), self.key.clone());
                    let (cell, leads) = (Cell::Value(&key), If::Leads(self.token));
                    let mut late = store.write(&election, cell, b"late", leads);
                    let written = poll_n(cut, &mut late).await.is_some();
                    if self.look(&mut rival).await {
                        let over = self.renewed + TTL;
                        if self.clock.now() < over {
                            let how = format!("at {:?}, not {over:?}", self.clock.now());
                            return Some(Breach::new("a lease is taken before it is over", how));
                        }
                        let before = self.value().await;
                        if !written {
                            let _ = late.await;
                        }
                        if self.value().await != before {
                            let how = format!("it went on after {cut} steps");
                            return Some(Breach::new("a value is written under another", how));
                        }
                        return None;
                    }
                }
            }
        }
        None
    }

    /// One look of the rival, which may take long; whether it leads.
    async fn look(&mut self, rival: &mut Box<dyn Seat>) -> bool {
        let now = self.clock.now();
        self.is_seen = true;
        if self.chance.bool() {
            return leads(&rival.refresh(now).await);
        }
        let controls = self.sim.controls();
        let held = controls.add(Rule::new(Effect::Hold).op(Op::Poll).client("b"));
        let meanwhile = async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            self.pass(3000);
            self.renew().await;
            controls.lift(held);
        };
        let (found, ()) = tokio::join!(rival.refresh(now), meanwhile);
        leads(&found)
    }

    /// The rival gives up while what it has sent to win is under way; then that arrives.
    async fn give_up_a_late_win(&mut self, rival: &mut Box<dyn Seat>) -> Option<Breach> {
        let controls = self.sim.controls();
        let held = controls.add(Rule::new(Effect::Hold).op(Op::Enter).client("b"));
        drop(poll_n_eagerly(CUTS, rival.refresh(self.clock.now())).await);
        controls.add(Rule::new(Effect::Refuse).op(Op::Enter).client("b"));
        rival.resign(None).await.expect("a resign");
        controls.lift(held);
        controls.lift_all();
        let leader = controls.leader(&self.election)?.candidate;
        let how = format!("{leader} leads");
        (leader == "b").then(|| Breach::new("a candidate that has given up leads", how))
    }
}

#[test]
fn every_seed_keeps_the_promise_of_records() {
    for seed in 1..=3000 {
        let breach = play(seed);
        assert!(breach.is_none(), "seed {seed}: {breach:?}");
    }
}
