//! Law 12: an examination changes nothing in the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use elect_api::{Clock, Examination, Scope, Store};

use crate::{Contender, Shared, apart, expect_empty};

/// The longest examination that the law allows.
const LONGEST: Duration = Duration::from_secs(30);

fn clock(bench: &Shared) -> Clock {
    let bench = Arc::clone(bench);
    Arc::new(move || bench.now())
}

pub(super) async fn examine(bench: &Shared, store: &dyn Store) -> Examination {
    let examination = tokio::time::timeout(LONGEST, store.examine(clock(bench))).await;
    examination.expect("an examination in time").expect("an examination")
}

/// While a client examines the store without a pause, every candidate wins that would win otherwise. Each
/// endpoint answers.
pub async fn an_examination_disturbs_no_candidate(bench: Shared) {
    let (over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let visitor = apart({
        let (bench, over, made) = (Arc::clone(&bench), Arc::clone(&over), Arc::clone(&made));
        move || async move {
            let store = bench.connect().await;
            while !over.load(Ordering::Relaxed) {
                for endpoint in examine(&bench, &*store).await.endpoints {
                    assert!(endpoint.answer.is_ok(), "{endpoint:?}");
                }
                made.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    while made.load(Ordering::Relaxed) < 2 && !visitor.is_finished() {
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let wake = line[1].sleep_behind(1).await;
        line[0].resign().await;
        wake.await;
        line[1].lead().await;
        line[1].resign().await;
    }
    over.store(true, Ordering::Relaxed);
    visitor.join().expect("the visitor");
}

/// An examination of an empty store leaves neither candidate nor election.
pub async fn an_examination_leaves_nothing(bench: Shared) {
    let store = bench.connect().await;
    for _ in 0..2 {
        examine(&bench, &*store).await;
        assert_eq!(store.list(Scope::Entered).await.expect("a list"), []);
        expect_empty(&bench).await;
    }
}

/// An examination returns in time, however long the servers take.
pub async fn an_examination_of_a_store_that_stalls_comes_back(bench: Shared) {
    let store = bench.connect().await;
    let stall = bench.stall(&crate::election()).await;
    examine(&bench, &*store).await;
    drop(stall);
    let mut contender = Contender::new(&bench, "a").await;
    contender.wait_until_answered().await;
    contender.wait_until_leading().await;
}
