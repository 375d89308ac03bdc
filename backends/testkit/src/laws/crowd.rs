//! All laws at once: many contenders, each on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use elect_api::Token;

use crate::{Contender, Shared, apart, expect_empty, expect_led_by};

const CROWD: usize = 16;

/// Each leader writes its token here, in the order of leading.
#[derive(Default)]
struct LeaderLog {
    taken: AtomicBool,
    tokens: Mutex<Vec<Token>>,
}

impl LeaderLog {
    fn enter(&self, token: Token) {
        assert!(!self.taken.swap(true, Ordering::SeqCst), "two lead at once");
        self.tokens.lock().expect("no contender failed").push(token);
    }

    fn leave(&self) {
        self.taken.store(false, Ordering::SeqCst);
    }
}

/// Each candidate leads exactly once, alone, and with a greater token than all before.
pub async fn contenders_lead_one_at_a_time_with_rising_tokens(bench: Shared) {
    let stage = Arc::new(LeaderLog::default());
    let crowd: Vec<_> = (0..CROWD).map(|number| contend(&bench, &stage, number, false)).collect();
    conclude(crowd, &stage, CROWD);
    expect_empty(&bench).await;
}

/// Every third candidate dies as it leads. The others lead all the same.
pub async fn newcomers_and_crashes_in_a_crowd_stop_no_candidate(bench: Shared) {
    let stage = Arc::new(LeaderLog::default());
    let crowd: Vec<_> =
        (0..CROWD).map(|number| contend(&bench, &stage, number, number % 3 == 0)).collect();
    conclude(crowd, &stage, CROWD);
    let mut last = Contender::new(&bench, "last").await;
    last.lead().await;
    expect_led_by(&bench, &["last"]).await;
}

type Running = std::thread::JoinHandle<()>;

fn contend(bench: &Shared, stage: &Arc<LeaderLog>, number: usize, dies: bool) -> Running {
    let (bench, stage) = (Arc::clone(bench), Arc::clone(stage));
    apart(move || async move {
        let mut contender = Contender::new(&bench, &format!("c{number}")).await;
        let token = contender.wait_until_leading().await;
        stage.enter(token);
        assert_eq!(contender.lead().await, token);
        stage.leave();
        if dies {
            contender.crash().await;
        } else {
            contender.resign().await;
        }
    })
}

fn conclude(crowd: Vec<Running>, stage: &LeaderLog, expected: usize) {
    for contender in crowd {
        contender.join().expect("a contender");
    }
    let tokens = stage.tokens.lock().expect("no contender failed");
    assert_eq!(tokens.len(), expected, "a candidate did not lead");
    assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "tokens do not rise: {tokens:?}");
}
