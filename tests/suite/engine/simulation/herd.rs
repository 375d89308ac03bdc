//! A crowd that begins in the same instant, with a store that refuses all of them for some time.

use std::sync::Arc;
use std::time::Duration;

use elect_testkit::sim::{Clock, Effect, Rule};

use super::{Game, fate};

/// By when their pauses have had time to differ.
const SETTLED: Duration = Duration::from_secs(2);
/// The length of one blow to a store.
const BLOW: Duration = Duration::from_millis(5);

/// Returns the most requests that a candidate may send: some ten at first, and then one per twelfth of the TTL. Pauses
/// between attempts grow to the renewal interval, and the shortest of those is half of it.
fn most_requests(game: &Game) -> u32 {
    let steady = game.plan.play.as_secs_f64() / (game.plan.ttl.as_secs_f64() / 12.0);
    // As many as that are never needed.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundreds")]
    let steady = steady as u32;
    steady + 12
}

pub(super) async fn play(game: &Arc<Game>) {
    let controls = game.controls();
    let rule = controls.add(Rule::new(Effect::Refuse));
    let crew = fate::crew(game);
    let (began, mut known, mut blow) = (game.clock.now(), 0, 0);
    while game.clock.now() < began + game.plan.play {
        game.clock.until(game.clock.now() + BLOW).await;
        let hits = controls.hits(rule);
        if game.clock.now() > began + SETTLED {
            blow = blow.max(hits - known);
        }
        known = hits;
    }
    let crowd = u32::try_from(crew.len()).unwrap_or(u32::MAX);
    if known > most_requests(game) * crowd {
        game.stage.blame("a store that is out of reach is asked without end", known.to_string());
    }
    if blow > crowd * 3 / 4 {
        game.stage.blame("a crowd comes back in the same instant", format!("{blow} of {crowd}"));
    }
}
