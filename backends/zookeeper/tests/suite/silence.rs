//! Tests where requests arrive but answers do not: a client without answers must not keep its session alive by its
//! requests.

use std::time::Duration;

use elect_api::Boottime;
use elect_testkit::fault::Mode;
use elect_testkit::{election, run};

use crate::common::{TTL, nodes, now};
use crate::stage::ProxiedSeat;
use crate::support::{attempt, end_of, lead, lead_in_time};

/// The tick of the servers in these tests.
const TICK: Duration = Duration::from_millis(500);
/// The time in which the client notices silence, at this TTL.
const PATIENCE: Duration = Duration::from_secs(1);
/// The extra time for a busy machine.
const ROOM: Duration = Duration::from_millis(800);

impl ProxiedSeat {
    /// Starts a thread that returns the end of the seat's node.
    async fn node(&self) -> std::thread::JoinHandle<Boottime> {
        let (path, _) = nodes(&self.onlooker, &election()).await.pop().expect("a node");
        end_of(path, vec![self.servers.address(0)])
    }
}

/// The seat goes on asking for all of that time.
#[test]
fn a_session_that_hears_nothing_ends_as_one_that_is_cut_off() {
    run("a silence", async {
        let mut stage = ProxiedSeat::new().await;
        lead(stage.seat.as_mut()).await;
        let end = stage.node().await;
        stage.proxy.replies(Mode::Swallow);
        let cut = now();
        while !end.is_finished() {
            let _ = attempt(stage.seat.as_mut(), TTL).await;
        }
        let lasted = end.join().expect("an end").since(cut);
        eprintln!("the node was there for {lasted:?}");
        assert!(lasted < PATIENCE + TTL + TICK + ROOM, "it was kept alive for {lasted:?}");
        stage.heal();
        while stage.seat.resign(None).await.is_err() {}
        lead_in_time(stage.seat.as_mut(), TTL).await;
    });
}

/// The library stands still meanwhile, and works again as soon as a server answers.
#[test]
fn a_session_outlives_a_silence_that_is_shorter_than_it() {
    run("a short silence", async {
        let mut stage = ProxiedSeat::new().await;
        let token = lead(stage.seat.as_mut()).await.token;
        stage.proxy.replies(Mode::Swallow);
        let cut = now();
        while now().since(cut) < PATIENCE * 5 / 2 {
            let _ = attempt(stage.seat.as_mut(), TTL).await;
        }
        stage.heal();
        assert_eq!(
            lead_in_time(stage.seat.as_mut(), TTL).await.token,
            token,
            "it has lost its entry"
        );
    });
}

/// A balancer has no server for a moment. A leader has little of its lease left by then.
#[test]
fn a_server_that_hangs_up_is_asked_again_before_long() {
    run("a balancer", async {
        let mut stage = ProxiedSeat::new().await;
        let token = lead(stage.seat.as_mut()).await.token;
        for _ in 0..3 {
            stage.proxy.hang_up(true);
            let cut = now();
            while now().since(cut) < PATIENCE * 19 / 10 {
                let _ = attempt(stage.seat.as_mut(), TTL).await;
            }
            stage.proxy.hang_up(false);
            let healed = now();
            assert_eq!(lead_in_time(stage.seat.as_mut(), TTL).await.token, token);
            let lasted = now().since(healed);
            eprintln!("it leads again after {lasted:?}");
            assert!(lasted < ROOM, "it took {lasted:?}");
        }
    });
}

/// Once answers arrive again, the resign does not wait for the end of the session.
#[test]
fn a_resign_after_a_silence_needs_no_more_than_an_answer() {
    run("a resign", async {
        let mut stage = ProxiedSeat::new().await;
        lead(stage.seat.as_mut()).await;
        stage.proxy.replies(Mode::Swallow);
        let cut = now();
        // Until then the client sends requests without knowing of the silence, and the server carries them out.
        while now().since(cut) < PATIENCE * 3 / 2 {
            let _ = attempt(stage.seat.as_mut(), TTL).await;
        }
        while now().since(cut) < PATIENCE * 5 / 2 {
            let resigned = tokio::time::timeout(TTL / 4, stage.seat.resign(None)).await;
            assert!(!matches!(resigned, Ok(Ok(()))), "no server can have said so");
        }
        assert_eq!(nodes(&stage.onlooker, &election()).await.len(), 1, "it was removed unheard");
        stage.heal();
        let healed = now();
        while stage.seat.resign(None).await.is_err() {}
        assert!(now().since(healed) < PATIENCE * 5 / 2, "it took {:?}", now().since(healed));
        assert!(nodes(&stage.onlooker, &election()).await.is_empty());
    });
}
