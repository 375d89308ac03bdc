//! Laws 4 and 9: `changed` reports changes, and disturbs no candidate.

use elect_api::{Order, Scope, Store, Survey, Wake};

use crate::{Contender, LineUp, Shared, election, expect_led_by, order, poll_n};

async fn look_out(store: &dyn Store) -> Wake {
    store.changed(&election()).await.expect("a look-out")
}

/// Surveys after each wake until the election has this line-up.
async fn see(store: &dyn Store, expected: &LineUp) {
    loop {
        let wake = look_out(store).await;
        let survey: Survey = store.survey(&election()).await.expect("a survey");
        if LineUp::from(survey) == *expected {
            return;
        }
        wake.await;
    }
}

/// A client that surveys after each wake sees every change. The changes are an arrival (the first, and
/// later ones), a leader that resigns or crashes (even the last candidate), and a waiter that crashes.
pub async fn each_change_wakes_a_watcher(bench: Shared) {
    let store = bench.connect().await;
    let store = store.as_ref();
    let queue = order(&bench).await == Order::Queue;
    let mut a = Contender::new(&bench, "a").await;
    let wake = look_out(store).await;
    a.lead().await;
    wake.await;
    see(store, &LineUp::led_by(&["a"])).await;
    let mut b = Contender::new(&bench, "b").await;
    let c = Contender::new(&bench, "c").await;
    if queue {
        let mut c = c;
        for (waiter, line) in [(&mut b, &["a", "b"][..]), (&mut c, &["a", "b", "c"])] {
            let wake = look_out(store).await;
            waiter.wait_behind(line.len() - 1).await;
            wake.await;
            see(store, &LineUp::led_by(line)).await;
        }
        let wake = look_out(store).await;
        c.crash().await;
        wake.await;
        see(store, &LineUp::led_by(&["a", "b"])).await;
    }
    let wake = look_out(store).await;
    a.crash().await;
    wake.await;
    b.wait_until_leading().await;
    see(store, &LineUp::led_by(&["b"])).await;
    let wake = look_out(store).await;
    b.resign().await;
    wake.await;
    see(store, &LineUp::without_leader(&[])).await;
    b.lead().await;
    see(store, &LineUp::led_by(&["b"])).await;
    let wake = look_out(store).await;
    b.crash().await;
    wake.await;
    see(store, &LineUp::without_leader(&[])).await;
}

/// Both the first write of a cell and the next one wake the client.
pub async fn a_leaders_cell_wakes_a_watcher(bench: Shared) {
    let store = bench.connect().await;
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    for text in ["one", "two"] {
        let wake = look_out(store.as_ref()).await;
        leader.write_cell(text).await.expect("it leads");
        wake.await;
    }
}

/// Waiting for changes creates nothing in the store. A change still wakes one waiter, however many clients
/// wait for changes or have done so.
pub async fn watching_for_changes_disturbs_no_candidate(bench: Shared) {
    let store = bench.connect().await;
    drop(look_out(store.as_ref()).await);
    let kept = look_out(store.as_ref()).await;
    assert_eq!(store.list(Scope::Entered).await.expect("a list"), []);
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    kept.await;
    let mut wakes = Vec::new();
    for _ in 0..5 {
        wakes.push(look_out(store.as_ref()).await);
        drop(look_out(store.as_ref()).await);
    }
    let first = line[1].sleep_behind(1).await;
    let mut second = line[2].sleep_behind(2).await;
    assert!(poll_n(1, &mut second).await.is_none(), "woke up though nothing happened");
    line[0].resign().await;
    first.await;
    if order(&bench).await == Order::Queue {
        assert!(poll_n(1, &mut second).await.is_none(), "one change woke two waiters");
    }
    for wake in wakes {
        wake.await;
    }
    line[1].lead().await;
    expect_led_by(&bench, &["b", "c"]).await;
}
