//! Somebody better than all others who gives its place up whenever it is its turn, and comes again: as the same
//! one, or as a newcomer each time.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Candidate, Standing};
use elect_testkit::sim::Clock as _;

use super::Game;
use super::plan::{Plan, Scene};

const PRIORITY: u32 = 400;
/// How long it looks on when it has come again.
const PAUSE: Duration = Duration::from_millis(200);
/// How long it takes until the next run is there, and for everybody to stand back for everybody else.
const NEXT_RUN: Duration = Duration::from_secs(3);

/// For whom others stand back again, as they have not done so for this one yet.
const fn is_always_new(plan: &Plan) -> bool {
    matches!(plan.scene, Scene::Shirker) && plan.seed.is_multiple_of(2)
}

/// For how long nobody leads at most: a slot, and with newcomers that never come forward as many more as it takes
/// until they count no more than the best of the others.
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
