//! A candidate better than all others, which gives its place up at each turn and comes again: as the same candidate, or
//! as a newcomer each time.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Candidate, Standing};
use elect_testkit::sim::Clock as _;

use super::Game;
use super::plan::{Plan, Scene};

const PRIORITY: u32 = 400;
/// The time for which it only watches after it has come again.
const PAUSE: Duration = Duration::from_millis(200);
/// The time until the next run is there, and until all candidates have stood back for all others.
const NEXT_RUN: Duration = Duration::from_secs(3);

/// For whom others stand back again, as they have not done so for this one yet.
const fn is_always_new(plan: &Plan) -> bool {
    matches!(plan.scene, Scene::Shirker) && plan.seed.is_multiple_of(2)
}

/// Returns the longest time without a leader. It is one slot, and more with newcomers that never come forward: one for
/// each step until they count no more than the best of the others.
pub(super) fn patience(plan: &Plan) -> Duration {
    let best = plan.priorities.iter().copied().max().unwrap_or_default();
    let (mut slots, mut sunk) = (1, if is_always_new(plan) { PRIORITY } else { best });
    while sunk > best {
        (slots, sunk) = (slots + 1, sunk * 4 / 5);
    }
    // The slowest clock counts longer ones.
    plan.ttl.mul_f64(1.25) * slots + NEXT_RUN
}

pub(super) async fn shirk(game: Arc<Game>) {
    const WELL: &str = "nothing befalls the store";
    let _presence = game.presence();
    let store = game.sim.connect();
    let open = async |count: u32| {
        let candidate = Candidate {
            host: "sim".into(),
            priority: PRIORITY,
            ..Candidate::foreign(format!("shirker-{count}"))
        };
        store.open(&game.election, &candidate, game.plan.ttl).await.expect(WELL)
    };
    let (mut count, mut seat) = (0, open(0).await);
    while !game.is_over() {
        match seat.refresh(game.clock.now()).await.expect(WELL).standing {
            Standing::Waiting { wake, .. } => {
                let _ = tokio::time::timeout(game.plan.ttl / 6, wake).await;
                continue;
            }
            _ if is_always_new(&game.plan) => {
                count += 1;
                let mut next = open(count).await;
                next.refresh(game.clock.now()).await.expect(WELL);
                std::mem::replace(&mut seat, next).resign(None).await.expect(WELL);
            }
            _ => {
                seat.resign(None).await.expect(WELL);
                seat.refresh(game.clock.now()).await.expect(WELL);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    seat.resign(None).await.expect(WELL);
}
