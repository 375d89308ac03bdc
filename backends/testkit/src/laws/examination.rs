//! Law 11: an examination is a visit.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Clock, Examination, Store};

use crate::{Contender, Shared, expect_led_by, expect_nobody};

/// What the law allows.
const LONGEST: Duration = Duration::from_secs(30);

fn clock(bench: &Shared) -> Clock {
    let bench = Arc::clone(bench);
    Arc::new(move || bench.now())
}

async fn examine(bench: &Shared, store: &dyn Store) -> Examination {
    let examination = tokio::time::timeout(LONGEST, store.examine(clock(bench))).await;
    examination.expect("an examination in time").expect("an examination")
}

/// Who leads goes on leading, and who waits is not woken and keeps the place. Each endpoint answers.
pub async fn an_examination_disturbs_nobody(bench: Shared) {
    let store = bench.connect().await;
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    for _ in 0..2 {
        let examination = examine(&bench, &*store).await;
        for endpoint in &examination.endpoints {
            let answer = endpoint.answer.as_ref();
            assert!(answer.is_ok(), "{}: {answer:?}", endpoint.address);
        }
    }
    assert_eq!(line[0].lead().await, token);
    expect_led_by(&bench, &["a", "b"]).await;
    line[0].resign().await;
    line[1].wait_until_leading().await;
    line[1].resign().await;
}

/// Where nobody ever was there is nobody, and no election.
pub async fn an_examination_leaves_nothing(bench: Shared) {
    let store = bench.connect().await;
    for _ in 0..2 {
        examine(&bench, &*store).await;
        assert_eq!(store.elections().await.expect("a list"), []);
        expect_nobody(&bench).await;
    }
}

/// However long its servers take.
pub async fn an_examination_of_a_store_that_stalls_comes_back(bench: Shared) {
    let store = bench.connect().await;
    let stall = bench.stall(&crate::election()).await;
    examine(&bench, &*store).await;
    drop(stall);
    Contender::new(&bench, "a").await.wait_until_leading().await;
}
