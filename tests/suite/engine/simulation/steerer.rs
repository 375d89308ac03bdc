//! A simulated user who pauses and resumes the election, asks its leaders to resign, in favour of any candidate or of
//! one by name, and sets priorities.

use std::sync::Arc;
use std::time::Duration;

use elect::election::control::{Control, Request};
use elect_api::{Cell, If, Store, Versioned, Written};
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
        let kinds = if game.plan.is_ranked() { 7 } else { 4 };
        let what = match chance.u8(0..kinds) {
            0 => {
                let is_sure = ask(&game, &*store, |control| control.paused(Some(request()))).await;
                // The last word is another's.
                if is_sure && !game.is_over() {
                    game.stage.pause(game.clock.now());
                }
                "paused"
            }
            1 => {
                let Ok(Ok(survey)) = bounded(&game, store.survey(&game.election)).await else {
                    continue;
                };
                let Some(leader) = survey.leader else { continue };
                let step_down = |control: Control| control.stepping_down(leader.token, request());
                ask(&game, &*store, step_down).await;
                "asked in the store to step down"
            }
            4 => {
                let Ok(Ok(survey)) = bounded(&game, store.survey(&game.election)).await else {
                    continue;
                };
                let Some((leader, to)) = survey.leader.zip(chance.choice(survey.waiting)) else {
                    continue;
                };
                let to = Some(to.candidate.id);
                let hand_over =
                    |control: Control| control.handing_over(leader.token, to, request());
                ask(&game, &*store, hand_over).await;
                "asked to hand over to a named candidate"
            }
            5 | 6 => {
                let who = format!("c{}", chance.usize(..game.plan.rates.len()));
                let priority = chance.choice([None, Some(0), Some(1), Some(90), Some(300)]);
                let set =
                    |control: Control| control.prioritizing(&who, priority.flatten(), request());
                ask(&game, &*store, set).await;
                "given another priority"
            }
            _ => {
                resume(&game, &*store).await;
                "resumed"
            }
        };
        game.count(what);
    }
}

/// Ends a pause, whatever has become of it, and has everybody have the priority that it was started with.
pub(super) async fn end(game: &Game) {
    let store = game.sim.connect();
    game.stage.resume();
    loop {
        if let Some(control) = read(game, &*store).await
            && write(game, &*store, control, |control| control.paused(None).without(|_| true)).await
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn resume(game: &Game, store: &dyn Store) -> bool {
    game.stage.resume();
    ask(game, store, |control| control.paused(None)).await
}

/// Returns true if the request surely counts from now on. After the end of the faults it changes nothing, as no request
/// may follow the last one.
async fn ask(game: &Game, store: &dyn Store, change: impl FnOnce(Control) -> Control) -> bool {
    match read(game, store).await {
        Some(control) if !game.is_over() => write(game, store, control, change).await,
        _ => false,
    }
}

async fn read(game: &Game, store: &dyn Store) -> Option<Versioned> {
    bounded(game, store.read(&game.election, Cell::Control)).await.ok()?.ok()
}

async fn write(
    game: &Game,
    store: &dyn Store,
    known: Versioned,
    change: impl FnOnce(Control) -> Control,
) -> bool {
    let control = Control::read(known.bytes.as_deref()).expect("what was written here");
    let text = change(control).to_bytes();
    let unchanged = If::Version(known.version);
    let write = store.write(&game.election, Cell::Control, &text, unchanged);
    matches!(bounded(game, write).await, Ok(Ok(Written::Yes(_))))
}

async fn bounded<F: Future>(
    game: &Game,
    request: F,
) -> Result<F::Output, tokio::time::error::Elapsed> {
    tokio::time::timeout(game.plan.ttl, request).await
}
