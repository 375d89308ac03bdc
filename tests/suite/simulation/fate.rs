//! What befalls the candidates and the store: crashes, stops, losses, delays, partitions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_testkit::sim::{Clock, Effect, Rule};

use super::candidate::{self, Run};
use super::guardian::Order;
use super::{CANDIDATES, Game, PLAY};

/// How long anybody is stopped at most, in leases.
pub(crate) const LONGEST_STOP: u32 = 3;

/// What runs on each machine at present.
pub(crate) type Crew = Vec<Arc<Mutex<Option<Run>>>>;

/// The candidates' ids begin like this, so that rules can be about one of them.
fn label(machine: usize) -> String {
    format!("c{machine}-")
}

fn lock(berth: &Mutex<Option<Run>>) -> MutexGuard<'_, Option<Run>> {
    berth.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets up the machines: on each, one run follows another.
pub(crate) fn crew(game: &Arc<Game>, seed: u64) -> Crew {
    (0..CANDIDATES)
        .map(|machine| {
            let berth = Arc::new(Mutex::new(None));
            let chance =
                fastrand::Rng::with_seed(seed.wrapping_mul(31).wrapping_add(machine as u64));
            tokio::spawn(keep_running(Arc::clone(game), machine, chance, Arc::clone(&berth)));
            berth
        })
        .collect()
}

async fn keep_running(
    game: Arc<Game>,
    machine: usize,
    mut chance: fastrand::Rng,
    berth: Arc<Mutex<Option<Run>>>,
) {
    for count in 0_u32.. {
        let id = format!("{}{count}", label(machine));
        let (run, wrapper) = candidate::start(&game, id, chance.u64(..));
        *lock(&berth) = Some(run);
        // An abort is a crash, and comes out as an error.
        let _ = wrapper.await;
        tokio::time::sleep(Duration::from_millis(chance.u64(1..2_000))).await;
    }
}

/// Plays on until the time is over. Whoever is stopped then goes on in time.
pub(crate) async fn play(game: &Arc<Game>, crew: &Crew, seed: u64) {
    let mut chance = fastrand::Rng::with_seed(!seed);
    let end = game.clock.now() + PLAY;
    while game.clock.now() < end {
        tokio::time::sleep(Duration::from_millis(chance.u64(10..6_000))).await;
        if chance.bool() {
            let berth = &crew[chance.usize(..crew.len())];
            if let Some(run) = &*lock(berth) {
                befall_process(game, run, &mut chance);
            }
        } else {
            befall_store(game, &mut chance);
        }
    }
}

fn befall_process(game: &Game, run: &Run, chance: &mut fastrand::Rng) {
    let span = game.ttl.mul_f64(chance.f64() * f64::from(LONGEST_STOP));
    let tell_guardian = |order| {
        if let Some(guardian) = run.guardian.upgrade() {
            let _ = guardian.send(order);
        }
    };
    let what = chance.u8(0..6);
    if matches!(what, 0 | 1) {
        run.wrapper.abort();
    }
    if matches!(what, 1 | 2) {
        tell_guardian(Order::Die);
    }
    if matches!(what, 3 | 4) {
        let stopped = Arc::clone(&run.stopped);
        stopped.send_replace(true);
        tokio::spawn(async move {
            tokio::time::sleep(span).await;
            stopped.send_replace(false);
        });
    }
    if matches!(what, 4 | 5) {
        tell_guardian(Order::PauseUntil(game.clock.now() + span));
    }
}

fn befall_store(game: &Game, chance: &mut fastrand::Rng) {
    let delay = game.ttl.mul_f64(chance.f64() * 1.5);
    let effect = match chance.u8(0..9) {
        0 | 1 => Effect::LoseRequest,
        2 | 3 => Effect::LoseReply,
        4 => Effect::DelayRequest(delay),
        5 => Effect::DelayReply(delay),
        6 => Effect::Duplicate(delay),
        7 => Effect::Refuse,
        _ => Effect::Break,
    };
    let mut rule = Rule::new(effect).chance_per_mille(chance.u32(100..=1000));
    if chance.u8(0..4) > 0 {
        rule = rule.client(&label(chance.usize(..CANDIDATES)));
    }
    let controls = game.controls();
    let id = controls.add(rule);
    let span = game.ttl.mul_f64(chance.f64() * 2.0);
    tokio::spawn(async move {
        tokio::time::sleep(span).await;
        controls.lift(id);
    });
}
