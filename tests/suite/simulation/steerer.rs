//! Somebody who pauses and resumes the election, and asks its leaders to give leadership up.

use std::sync::Arc;
use std::time::Duration;

use elect::election::orders::{Orders, Request};
use elect_api::{Ordered, Store};
use elect_testkit::sim::Clock as _;

use super::Game;

/// Steers until nothing befalls anybody any more.
pub(super) async fn steer(game: Arc<Game>) {
    let mut chance = fastrand::Rng::with_seed(game.plan.seed ^ 0x57ee);
    let store = game.sim.connect();
    loop {
        tokio::time::sleep(game.plan.ttl.mul_f64(chance.f64() * 2.0)).await;
        if game.is_over() {
            return;
        }
        let request = || Request::new("somebody".into(), None);
        let what = match chance.u8(0..4) {
            0 => {
                if ask(&game, &*store, |orders| orders.paused(Some(request()))).await {
                    game.stage.pause(game.clock.now());
                }
                "paused"
            }
            1 => {
                let Ok(Ok(survey)) = bounded(&game, store.survey(&game.election)).await else {
                    continue;
                };
                let Some(leader) = survey.leader else { continue };
                let step_down = |orders: Orders| orders.stepping_down(leader.token, request());
                ask(&game, &*store, step_down).await;
                "asked in the store to step down"
            }
            _ => {
                resume(&game, &*store).await;
                "resumed"
            }
        };
        game.count(what);
    }
}

/// Ends a pause, whatever has become of it.
pub(super) async fn end(game: &Game) {
    let store = game.sim.connect();
    while !resume(game, &*store).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn resume(game: &Game, store: &dyn Store) -> bool {
    game.stage.resume();
    ask(game, store, |orders| orders.paused(None)).await
}

/// Whether it is surely asked from now on.
async fn ask(game: &Game, store: &dyn Store, change: impl FnOnce(Orders) -> Orders) -> bool {
    let Ok(Ok(kept)) = bounded(game, store.orders(&game.election)).await else { return false };
    let orders = Orders::read(kept.text.as_deref()).expect("what was written here");
    let text = change(orders).to_bytes();
    let written = bounded(game, store.order(&game.election, &text, kept.version)).await;
    matches!(written, Ok(Ok(Ordered::Written(_))))
}

async fn bounded<F: Future>(
    game: &Game,
    request: F,
) -> Result<F::Output, tokio::time::error::Elapsed> {
    tokio::time::timeout(game.plan.ttl, request).await
}
